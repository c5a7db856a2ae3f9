"""What is asked of a model, in a module that imports little: processes that help to label start with it."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from math import nan
from typing import Any, NamedTuple

from semistruct.corpus import Confidence, Labelling
from semistruct.errors import RuleWarning
from semistruct.rules import Rules


@dataclass(frozen=True)
class Wanted:
    """What is asked of labels.

    corpus      obey corpus rules too, for the whole input
    confidence  add how sure the model is of each label
    n_best      give this many labellings of each sequence
    """

    corpus: bool = False
    confidence: bool = False
    n_best: int | None = None

    def options(self) -> dict[str, Any]:
        """As options of a command, which labels depend on."""
        return {"--corpus-rules": self.corpus, "--confidence": self.confidence, "--n-best": self.n_best}


class Answers(NamedTuple):
    """What was found for some sequences, and what was warned of meanwhile.

    found  for each sequence its best labellings; with a promise, its labels and what of them is sure
    """

    found: list[Any]
    warnings: list[Warning]


@dataclass(frozen=True)
class Alone:
    """The model of an estimator, on one core, without what learning needs."""

    model: Any

    def predict(self, X: list[Any], *, rules: Any, corpus: bool = False, n_best: int | None = None) -> list[Any]:
        obeyed = self.model.rules_to_obey(rules)
        if n_best is None:
            return self.model.predict(X, 1, obeyed, corpus)
        return self.model.predict_k(X, n_best, 1, obeyed)


@dataclass(frozen=True)
class Answering:
    """A model with all that is asked of it.

    obeyed   the rules that labels obey
    promise  accept answers by it
    """

    estimator: Any
    obeyed: Rules | None
    wanted: Wanted
    promise: Any = None

    def __call__(self, X: list[Any]) -> Answers:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuleWarning)
            found = self._best(X) if self.promise is None else self._accepted(X)
        return Answers(found, [one.message for one in caught if isinstance(one.message, Warning)])

    def on_one_core(self) -> Answering:
        """The same for one of several processes; it imports less if no more than labels are wanted."""
        estimator = copy.copy(self.estimator)
        estimator.n_jobs = 1
        plain = self.promise is None and not self.wanted.confidence
        return replace(self, estimator=Alone(estimator.model_) if plain else estimator)

    @property
    def _rules(self) -> Any:
        return False if self.obeyed is None else self.obeyed

    def _accepted(self, X: list[Any]) -> list[Any]:
        found = self.estimator.accept(X, self.promise, rules=self._rules)
        return list(zip(found.labels, found.sure, strict=True))

    def _best(self, X: list[Any]) -> list[list[Labelling]]:
        """The best labellings of each sequence, one unless more are wanted; a single one has no score."""
        estimator, wanted = self.estimator, self.wanted
        if wanted.n_best is None:
            found = [[(labels, nan)] for labels in estimator.predict(X, rules=self._rules, corpus=wanted.corpus)]
        else:
            found = estimator.predict(X, rules=self._rules, n_best=wanted.n_best)
        if not wanted.confidence:
            return [[Labelling(*one) for one in best] for best in found]
        pairs = [(x, labels) for x, best in zip(X, found, strict=True) for labels, _ in best]
        sure = iter(estimator.sureness([x for x, _ in pairs], [labels for _, labels in pairs], rules=self._rules))
        return [[Labelling(*one, _confidence(next(sure))) for one in best] for best in found]


def _confidence(sure: Any) -> Confidence:
    return Confidence(sure.token.tolist(), sure.block.tolist(), sure.sequence)
