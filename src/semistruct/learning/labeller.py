"""What all sequence labellers share: prediction, scoring, saving, and the check of the data."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np

from semistruct.base import parameters as params
from semistruct.base.errors import DataError, ModelError, ParameterError, all_of, quoted
from semistruct.base.parameters import Estimator, check_is_fitted
from semistruct.data import metrics
from semistruct.data.corpus import Example, listed
from semistruct.data.labels import scheme_of
from semistruct.data.tokens import checked_tokens, tokenize
from semistruct.features import FeatureSet
from semistruct.features.templates import as_texts
from semistruct.features.text_style import Look
from semistruct.learning.data import check_data, sequences
from semistruct.learning.declarations import Line, RuleReport
from semistruct.learning.declarations import rules as rules_check
from semistruct.learning.held_out import Uncalibrated
from semistruct.model import store
from semistruct.model.answers import LEVELS, Scores, blocks_of
from semistruct.model.calibration import LOG_ODDS, Calibration, Standing
from semistruct.model.model import Model
from semistruct.model.parse import Parse, Parses
from semistruct.model.promises import Accepted, Promise
from semistruct.rules import Rule, Rules

N_BEST = params.whole(1, 10_000)
PARSED_AT_ONCE = 2000  # texts
METHODS: dict[str, type[SequenceLabeller]] = {}
"""The methods by the names that the command line and model files use."""


class SequenceLabeller(Estimator):
    """Base of the learning methods.

    A method sets `model_` in `fit`; X is a list of sequences of tokens (or of feature lists or dictionaries, see
    `semistruct.features`) and y a list of label lists, with None for an unknown label or a sequence without labels.

    name     of the method on the command line and in model files; a class that has one of its own is listed in METHODS
    lines    in the tables of experiments
    checks   of parameters that are its own
    reports  tables in the report of a fit

    tokens_  how running text has to be cut for the model, as far as the tokens of X tell: what `semistruct.read`
             takes as `tokens`.  It may be set; model files hold it
    look_    how the tokens of X look, None if X holds features
    trust_   list of dicts, one per rule: rule, weight in prediction, applies, obeys, why

    How right the model is (`calibration_`) is learned when `confidence` or the like is first asked for, or at `save`.
    """

    name: ClassVar[str]
    lines: ClassVar[tuple[Line, ...]] = ()
    checks: ClassVar[params.Checks] = {}
    reports: ClassVar[tuple[RuleReport, ...]] = ()
    probabilistic: ClassVar[bool] = False  # whether scores are logarithms of probabilities
    ranks: ClassVar[bool] = False  # whether a ranker is learned (`semistruct.learning.ranking`)
    _uncalibrated: Uncalibrated | None = None
    C: float | str
    features: FeatureSet
    rules: Rules | None
    metric: str
    n_jobs: int | None
    random_state: Any
    model_: Model
    data_: dict[str, Any]
    labels_: list[Any]
    stop_: str
    skipped_: list[str]
    card_: dict[str, Any]
    tokens_: str
    look_: Look | None
    trust_: list[dict[str, Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in vars(cls):
            METHODS[cls.name] = cls

    @classmethod
    def usable(cls, rule: Rule, labels: Sequence[str]) -> Rule | None:
        """The rule in a form that the method can use, None if there is none; `labels` are all labels."""
        return rule

    @property
    def classes_(self) -> list[str]:
        """The labels, sorted."""
        check_is_fitted(self)
        return list(self.model_.labels)

    @property
    def calibration_(self) -> Calibration:
        """How right the model is: learned now, if it has not been yet."""
        check_is_fitted(self)
        if self.model_.calibration is None and (kept := self._uncalibrated) is not None:
            self.model_ = replace(self.model_, calibration=kept.calibration())
            self._uncalibrated = None
        return self.model_.calibration or Calibration.unlearned(self.probabilistic)

    def calibrate(self) -> Self:
        """Learn how right the model is; an interruption ends only that, and `stop_` and `skipped_` tell of it."""
        try:
            _ = self.calibration_
        except KeyboardInterrupt:
            self.stop_, self.skipped_ = "interrupted", [*getattr(self, "skipped_", ()), "calibration"]
            self.leave_uncalibrated()
            warnings.warn("interrupted; left out: calibration", stacklevel=2)
        return self

    def leave_uncalibrated(self) -> Self:
        """Have `confidence` go by what models of other data told, which takes no time, and promise nothing."""
        self._uncalibrated = None
        return self

    def predict(
        self, X: Sequence[Any], *, rules: bool | Rules = True, corpus: bool = False, n_best: int | None = None
    ) -> list[Any]:
        """The labels of each sequence; with n_best=k a list of (labels, score) pairs for each, best first.

        rules   True: the instance rules of the model are obeyed, if it has any; Rules: these instead; False: none
        corpus  obey the corpus rules too, where X is the corpus
        """
        obeyed, X = self._to_obey(rules), sequences(X)
        if not isinstance(corpus, bool):
            raise ParameterError(f"corpus={quoted(corpus)}: must be {params.yes_or_no.words}")
        if corpus and (obeyed is None or n_best is not None):
            raise ParameterError("corpus=True needs rules, and cannot be combined with n_best")
        if n_best is None:
            return self.model_.predict(X, self.n_jobs, obeyed, corpus)
        if not N_BEST.test(n_best):
            raise ParameterError(f"n_best={quoted(n_best)}: n_best must be {N_BEST.words}")
        return self.model_.predict_k(X, n_best, self.n_jobs, obeyed)

    def parse(self, text: Any, *, rules: bool | Rules = True, alternatives: int = 0) -> Any:
        """The fields of a text as a `Parse`, of a list of texts as a list of them, of an iterator as an iterator.

        rules         as in `predict`
        alternatives  how many of the next best answers each `Parse` has as well

        An empty text has no fields.  Text is cut into tokens as in training (`tokens_`).
        """
        check_is_fitted(self)
        if not isinstance(alternatives, int) or not 0 <= alternatives < 10_000:
            raise ParameterError(f"alternatives={quoted(alternatives)}: must be a whole number from 0 to 9999")
        if isinstance(text, str):
            return self._parsed([text], rules, alternatives)[0]
        if isinstance(text, Iterator):
            return self._parsed_in_parts(text, rules, alternatives)
        return Parses(self._parsed(listed(text), rules, alternatives))

    def _parsed_in_parts(self, texts: Iterator[str], rules: bool | Rules, alternatives: int) -> Iterator[Parse]:
        while part := list(islice(texts, PARSED_AT_ONCE)):
            yield from self._parsed(part, rules, alternatives)

    def _parsed(self, texts: list[str], rules: bool | Rules, alternatives: int) -> list[Parse]:
        obeyed = self._to_obey(rules)
        standing, scheme, model = self._standing(obeyed), scheme_of(self.classes_), self.model_
        cut = [tokenize(text, self.tokens_) for text in texts]
        X = [tokens for tokens, _ in cut if tokens]
        labels, scores, broken = model.answers(X, self.n_jobs, obeyed, exact=standing.kind == LOG_ODDS)
        further = model.predict_k(X, alternatives + 1, self.n_jobs, obeyed) if alternatives else [[]] * len(X)
        answers = zip(labels, scores, broken, further, strict=True)
        found = []
        for text, (tokens, offsets) in zip(texts, cut, strict=True):
            if not tokens:
                found.append(Parse(text))
                continue
            best, score, breaks, others = next(answers)
            example = Example([*tokens], [*best], text, offsets, cut_by=self.tokens_)
            sure = standing.probabilities(score, blocks_of(best, scheme))
            rest = [Parse.of(replace(example, labels=[*other]), scheme) for other, _ in others if other != best]
            found.append(Parse.of(example, scheme, sure=sure, broken=breaks, alternatives=rest))
        return found

    def decision_function(self, X: Sequence[Any], *, rules: bool | Rules = True) -> np.ndarray:
        """(n, 2): the score of the predicted labelling and its margin over the runner-up."""
        obeyed = self._to_obey(rules)
        return self.model_.margins(sequences(X), self.n_jobs, obeyed)

    def confidence(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[str]] | None = None,
        *,
        rules: bool | Rules = True,
        by: str = "token",
    ) -> list[Any]:
        """How likely labels are right, between 0 and 1: those of y, by default the labels it predicts.

        rules  as in `predict`
        by     "token": for each sequence an array, with a probability for each label; "block": with one for each block,
               in the order of `semistruct.data.labels.spans`; "sequence": for each sequence, that all labels are right

        The probabilities are learned from labels that were held out, see `semistruct.model.calibration`.  A sequence is
        never more likely right than one of its blocks, nor a block than one of its tokens.
        """
        if by not in LEVELS:
            raise ParameterError(f"by={quoted(by)}: must be one of {', '.join(map(quoted, LEVELS))}")
        return [getattr(one, by) for one in self.sureness(X, y, rules=rules)]

    def sureness(
        self, X: Sequence[Any], y: Sequence[Sequence[str]] | None = None, *, rules: bool | Rules = True
    ) -> list[Scores]:
        """`confidence` at all three levels, for each sequence an object with `token`, `block` and `sequence`."""
        obeyed = self._to_obey(rules)
        standing = self._standing(obeyed)
        X, y = self._labelled(X, y, rules)
        found = self.model_.sureness(X, y, self.n_jobs, obeyed, exact=standing.kind == LOG_ODDS)
        scheme = scheme_of(self.classes_)
        return [standing.probabilities(one, blocks_of(row, scheme)) for one, row in zip(found, y, strict=True)]

    def promise(self, level: float, *, by: str = "sequence", rules: bool | Rules = True) -> Promise:
        """What it takes to accept answers of which at least the share `level` is right.

        by     "sequence": whole sequences, or "field": blocks
        rules  True: those of the model, if it has any; False: none

        A ParameterError tells why if the labels that were held out do not support such a promise.
        """
        obeyed = self._to_obey(rules)
        if obeyed is not None and obeyed is not self.model_.rules:
            raise ParameterError("promises hold under the rules of the model, or without rules, not under other rules")
        return Promise.of(self._standing(obeyed).records, level, by)

    def accept(
        self, X: Sequence[Any], promise: Promise | float, *, by: str = "sequence", rules: bool | Rules = True
    ) -> Accepted:
        """The labels of each sequence, and which of them are sure; see `promise`, of which a level is enough."""
        made = promise if isinstance(promise, Promise) else self.promise(promise, by=by, rules=rules)
        obeyed = self._to_obey(rules)
        exact = self._standing(obeyed).kind == LOG_ODDS
        labels, scores, _ = self.model_.answers(sequences(X), self.n_jobs, obeyed, exact=exact)
        return Accepted(labels, [made.keeps(one) for one in scores], made)

    def _standing(self, obeyed: Rules | None) -> Standing:
        """How right the model is under these rules."""
        return self.calibration_.of(obeyed is not None)

    def _labelled(self, X: Any, y: Any, rules: bool | Rules) -> tuple[list[Any], list[Any]]:
        """X and y as lists, where the model knows all labels of y; None for y stands for what it predicts."""
        if y is None:
            X = sequences(X)
            return X, self.predict(X, rules=rules)
        X, y = check_data(X, y, "input")
        for i, row in enumerate(y):
            if row is None or None in row:
                raise DataError(f"input data: sequence {i} has an unknown label, expected all labels")
        for label in sorted({label for row in y for label in row} - set(self.classes_)):
            known = all_of(self.classes_)
            raise DataError(f"the model does not know the label {quoted(label)}; it has {known}")
        return X, y

    def score(self, X: Sequence[Any], y: Sequence[Any], *, rules: bool | Rules = True) -> float:
        """Token accuracy of what `predict` finds, which is what `semistruct evaluate` reports."""
        check_is_fitted(self)
        X, y = check_data(X, y, "input")
        return metrics.token_accuracy(y, self.predict(X, rules=rules))

    def _to_obey(self, rules: bool | Rules) -> Rules | None:
        check_is_fitted(self)
        if not isinstance(rules, bool | Rules):
            raise ParameterError(f"rules={quoted(rules)}: must be True, False or {rules_check.words}")
        return self.model_.rules_to_obey(rules)

    def save(self, path: str | os.PathLike[str], *, card: dict[str, Any] | None = None) -> None:
        """Write the fitted estimator to one file, with a `card` for its users (scores, the origin of the data, ...).

        The card also tells the version, the time, and the size and digest of the data: what `card` says goes first.
        """
        check_is_fitted(self)
        if not isinstance(card, Mapping | None):
            raise ParameterError(f"card={quoted(card)}: the card of a model is a dictionary")
        self.calibrate()
        given, data = dict(card or {}), getattr(self, "data_", {})
        if data and isinstance(given.get("data", {}), dict):
            given["data"] = {**data, **given.get("data", {})}
        if trust := getattr(self, "trust_", None):
            given.setdefault("trust", trust)
        if self.model_.calibration is not None:
            given.setdefault("calibration", self.model_.calibration.card)
        if self.model_.ranker is not None:
            given.setdefault("ranking", self.model_.ranker.text)
        tokens = {"cut": checked_tokens(self.tokens_), "look": self.look_ and self.look_.to_dict()}
        store.write_model(path, self.model_, {**self.description(), "tokens": tokens}, given)

    def description(self) -> dict[str, Any]:
        """The method and its parameters as plain data; a parameter that is an estimator is described likewise."""
        name = vars(type(self)).get("name")
        if name is None:
            raise ModelError(f"a {type(self).__name__} cannot be saved; there are {', '.join(METHODS)}")
        values: dict[str, Any] = {}
        for key, value in self.get_params(deep=False).items():
            if isinstance(value, Rules):
                values[key] = value.to_dict()
            elif key == "features" and not isinstance(value, str):
                values[key] = as_texts(value)
            elif isinstance(value, SequenceLabeller):
                values[key] = value.description()
            elif not isinstance(value, np.random.RandomState):
                values[key] = value
        return {"method": name, "params": values}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


class Probabilities(SequenceLabeller):
    """A labeller whose scores are logarithms of probabilities, up to a constant for each sequence."""

    probabilistic = True

    def predict_marginals(self, X: Sequence[Any]) -> list[np.ndarray]:
        """For each sequence an array (tokens, labels): the probability of each label of `classes_` at each token."""
        check_is_fitted(self)
        return self.model_.marginals(sequences(X), self.n_jobs)
