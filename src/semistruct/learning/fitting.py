"""The one way to fit, and the supervised methods, whose path has a single point.

`Method.fit` of all methods goes the same way (`Method._learn`): data, checked and as numbers; C and the supervised
model; the rules, and how far they are trusted; the path of models, and the point of it that is taken; the weights of
rules in prediction; a ranker; and what calibration will need.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np

from semistruct.base.errors import DataError, ParameterError
from semistruct.base.parameters import check_is_fitted, seed_from
from semistruct.base.progress import Watch
from semistruct.core.chain.inference import ChainWeights
from semistruct.features import FeatureSet
from semistruct.learning import settings
from semistruct.learning.checkpoints import Folder
from semistruct.learning.choice import Measure, Start, best_strength, choose_C
from semistruct.learning.data import Data, Pairs, check_data, checked_dev
from semistruct.learning.declarations import check_params
from semistruct.learning.held_out import (
    HeldOutModels,
    Uncalibrated,
    chains_without,
    learned_without,
    no_models,
    parts_of,
)
from semistruct.learning.labeller import SequenceLabeller
from semistruct.learning.learners import Learner
from semistruct.learning.ranking import NO_RANKING, Ranking, can_rank, is_ruled, learn_ranking
from semistruct.learning.task import DevData, Task
from semistruct.learning.trust import Trust, strength_by_labels
from semistruct.model.model import Model
from semistruct.rules import Rules


@dataclass(frozen=True)
class Effort:
    """How much a fit does; one that serves another one does less.

    ranker       learn a ranker, if the method has one
    keep_models  leave the models of all points of a path in `models_`
    start        where a path begins: with the supervised model ("labels"), with one that the rules have taught
                 ("rules"), or with the better one, if labels are few
    stages       the first one that a path goes through, and the end of them
    rough        the supervised model is only as exact as needed to compare parameters
    """

    ranker: bool = True
    keep_models: bool = False
    start: Literal["labels", "rules", "better"] = "better"
    stages: tuple[int, int | None] = (0, None)
    rough: bool = False


FULL = Effort()


@dataclass(frozen=True)
class Fit:
    """What the steps of a fit share.

    task    the data as numbers, without rules
    folder  where checkpoints are kept, if anywhere
    """

    data: Data
    task: Task
    dev: DevData | None
    seed: int
    effort: Effort
    watch: Watch | None
    folder: Folder


class Method(SequenceLabeller):
    """Base of all methods: how they are fitted."""

    rules_: Rules | None
    C_: float
    search_: list[dict[str, Any]]
    history_: list[dict[str, Any]]

    def fit_with(self, effort: Effort, X: Sequence[Any], y: Sequence[Any], **given: Any) -> Self:
        """`fit` with another effort; `given` is what `fit` takes besides."""
        raise NotImplementedError

    def _learn(self, data: Data, effort: Effort, watch: Watch | None, folder: Folder) -> Self:
        """The one way to fit."""
        task = Task.of(data, self.features)
        dev = DevData.of(data.dev, task.encoder, task.labels)
        fit = Fit(data, task, dev, seed_from(self.random_state), effort, watch, replace(folder, dev=dev))
        self.data_, self.tokens_, self.look_ = data.origin, data.cut, data.look
        self.stop_, self.skipped_ = "finished", []
        start = self._start(fit)
        self.C_, self.search_ = start.choice.C, start.choice.rows
        trust, chains = self._follow_path(fit, start)  # leaves the model that is chosen in model_
        self._weigh_rules(trust, strength_by_labels(data.n_labelled))
        if data.dev is not None:
            with self._sparing("the weights of rules"):
                best = best_strength(trust, self.model_, data.dev, self.metric, self.n_jobs)
                self._weigh_rules(trust, best)
        self._rank_and_keep(fit, start)
        if effort.keep_models:
            rules, ranker = self.model_.rules, self.model_.ranker
            self.models_ = [replace(self._model(task, chain), rules=rules, ranker=ranker) for chain in chains]
        return self

    def learner(self, n_labels: int, watch: Watch | None = None) -> Learner:
        """The learner of the method."""
        raise NotImplementedError

    def _start_learner(self, n_labels: int, watch: Watch | None = None) -> Learner:
        """The learner of the supervised model, if that is another one."""
        return self.learner(n_labels, watch)

    # ---- the steps

    def _start(self, fit: Fit) -> Start:
        """The supervised model, with the best C if C is to be chosen."""
        return self._supervised(fit.task, fit.dev, fit.watch, rough=fit.effort.rough)

    def _supervised(self, task: Task, dev: DevData | None, watch: Watch | None = None, *, rough: bool = False) -> Start:
        learner, measure = self._start_learner(len(task.labels), watch), Measure(self.metric, task.labels)
        seed, (batch, known, weight) = seed_from(self.random_state), task.labelled
        choice = choose_C(self.C, learner, measure, task.labelled, dev, seed, self.n_jobs)
        learned = learner.learn(batch, known, choice.C * weight, rough=rough)
        return Start(learned.chain, choice, learned)

    def _follow_path(self, fit: Fit, start: Start) -> tuple[Trust, list[ChainWeights]]:
        """Set model_ to the best model of the path; returns how far rules are trusted, and all models."""
        assert start.learned is not None
        self.history_, self.stop_ = [record.row() for record in start.learned.history], start.learned.stop
        self.leave_uncalibrated().model_ = self._model(fit.task, start.chain)
        trust = Trust.of(self.rules, [(fit.data.X, fit.data.y), fit.data.dev], fit.data.labels)
        trust.warn()
        return trust, [start.chain]

    def _weigh_rules(self, trust: Trust, strength: float) -> None:
        """Give the model its rules, which weigh in prediction as far as they are trusted."""
        self.trust_ = trust.rows(strength)
        if self.rules is not None or len(trust.rules):
            self.model_ = replace(self.model_, rules=trust.weighted(strength))

    def _rank_and_keep(self, fit: Fit, start: Start) -> None:
        """Give the model a ranker, and keep what it takes to know how right it is."""
        data, ranking, models = fit.data, NO_RANKING, self._without_parts(fit, start)
        if self.ranks and fit.effort.ranker and can_rank(data, self.rules):
            if self.stop_ == "interrupted":
                self._skip("the ranker")
            else:
                with self._sparing("the ranker"):
                    ranking, models = self._ranking(models)
        self.model_ = replace(self.model_, ranker=ranking.ranker)
        models = self._for_calibration(fit, models)
        if self.stop_ == "interrupted":
            models = no_models
            if data.dev is None:
                self._skip("calibration")
        kept = partial(ranking.apart, models)
        self._uncalibrated = Uncalibrated(self.model_, data.dev, kept, self.probabilistic, self.n_jobs)

    def _ranking(self, models: HeldOutModels) -> tuple[Ranking, HeldOutModels]:
        """A ranker for the model, and the held-out models from which it has learned."""
        held_out = list(models())
        return learn_ranking(self.model_, held_out, is_ruled(self.rules), self.n_jobs), partial(iter, held_out)

    def _without_parts(self, fit: Fit, start: Start) -> HeldOutModels:
        """Supervised models without parts of the labelled sequences, of which there may be some already."""
        if start.choice.without:
            return self._held_out(fit, partial(iter, start.choice.without))
        assert start.learned is not None
        n_labels, n_parts = len(fit.task.labels), settings.PARTS if fit.dev is None else settings.FEW_PARTS
        parts = parts_of(fit.data.n_whole, fit.seed, n_parts)
        # a single part, of a large corpus, speaks for all, so its model is learned as well as that of the method
        learner = self.learner(n_labels) if len(parts) == 1 else self._brief_learner(n_labels)
        return self._learned_without(fit, learner, parts, start.learned.start)

    def _learned_without(self, fit: Fit, learner: Learner, parts: list[np.ndarray], start: Any = None) -> HeldOutModels:
        batch, known, weight = fit.task.labelled
        return self._held_out(fit, partial(learned_without, learner, batch, known, self.C_ * weight, parts, start))

    def _held_out(self, fit: Fit, found: Callable[[], Iterator[tuple[np.ndarray, ChainWeights]]]) -> HeldOutModels:
        """As models, what gives parts and weights."""
        return partial(chains_without, fit.task.labels, fit.task.encoder, fit.data.given, found)

    def _brief_learner(self, n_labels: int) -> Learner:
        """For models without a part of the sequences, which start from one that has learned from it."""
        return self.learner(n_labels)

    def _for_calibration(self, fit: Fit, supervised: HeldOutModels) -> HeldOutModels:
        """Models like the one that was fitted, but without parts of the labelled sequences."""
        return supervised

    def _model(self, task: Task, chain: ChainWeights) -> Model:
        return Model(task.labels, task.encoder, chain).compact()

    # ---- interruptions

    @contextmanager
    def _sparing(self, what: str) -> Iterator[None]:
        """A step after the path, which is all that an interruption ends."""
        try:
            yield
        except KeyboardInterrupt:
            self._skip(what)

    def _skip(self, what: str) -> None:
        """Note that something is left out."""
        self.stop_ = "interrupted"
        self.skipped_.append(what)
        warnings.warn(f"interrupted; left out: {what}", stacklevel=5)

    # ---- fitting again

    def refit(self, X: Sequence[Any], y: Sequence[Any], *, dev: Pairs, **further: Any) -> Self:
        """Learn again from X and the dev data together, after `fit` with the same data has chosen by the dev data.

        C, the point of the path, the weights of rules, ranker and calibration stay as they were chosen and learned.

        further  what `fit` takes besides: pool, watch

        If a path is interrupted, the model stays as it was.
        """
        check_is_fitted(self)
        X, y = check_data(X, y)
        held_out = checked_dev(dev)
        if held_out is None or not held_out[0]:
            raise DataError("dev data: there is none, so there is nothing to learn again from")
        both, effort = self._as_chosen()
        both.fit_with(effort, [*X, *held_out[0]], [*y, *held_out[1]], **further)
        if both.stop_ == "interrupted":
            self.stop_ = "interrupted"
            return self
        chosen = self.model_
        self.model_ = replace(both.model_, rules=chosen.rules, calibration=chosen.calibration, ranker=chosen.ranker)
        if hasattr(both, "labels_"):
            self.labels_ = both.labels_
        self.tokens_, self.look_ = both.tokens_, both.look_
        self.data_ = {**getattr(self, "data_", {}), "refit": True}
        return self

    def _as_chosen(self) -> tuple[Self, Effort]:
        """An estimator that is not fitted, and the effort, with which a fit needs to choose nothing any more."""
        given = self.get_params()
        C = {name: self.C_ for name in ("C", "base__C") if name in given}
        return self.unfitted().set_params(**C), Effort(ranker=False)


@dataclass(eq=False, repr=False, kw_only=True)
class SupervisedMethod(Method):
    """Base of the supervised methods: a method says what its learner is (`learner`).

    Unlabelled sequences teach it nothing.

    Parameters
    ----------
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    rules : Rules; they do not change what is learned, but `predict` obeys them, hard
        ones always and others as far as `semistruct.learning.trust` makes them weigh
    metric : what C and the weights of rules are chosen by, on dev data or by cross-validation: "token" or "sequence"
        accuracy, or F1 of a "span"; token accuracy decides among equals
    n_jobs : threads, None for all; does not change the result

    Attributes
    ----------
    model_ : labels, features and weights
    C_ : the C that was used
    search_ : with C="auto", the token accuracy, and the metric, seen for each C
    history_ : list of dicts, one per record of the learner
    stop_ : why the learner stopped: "converged" or the limit it reached; "interrupted" if something was left out then
    skipped_ : what an interruption left out, in words
    """

    features: FeatureSet = "default"
    rules: Rules | None = None
    metric: str = "token"
    n_jobs: int | None = None

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        dev: Pairs | None = None,
        sample_weight: Sequence[float] | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Learn from sequences X with labels y.

        dev            (X, y) to choose C on
        sample_weight  one factor of C per sequence
        watch          called with every record of the learner as it is made, also during the search for C
        """
        return self.fit_with(FULL, X, y, dev=dev, sample_weight=sample_weight, watch=watch)

    def fit_with(
        self, effort: Effort, X: Sequence[Any], y: Sequence[Any], *, watch: Watch | None = None, **given: Any
    ) -> Self:
        check_params(self)
        data = Data.of(X, y, **given, rules=self.rules)
        return self._learn(data.labelled(), effort, watch, Folder())

    def refit(self, X: Sequence[Any], y: Sequence[Any], *, dev: Pairs, **further: Any) -> Self:
        if "pool" in further:
            raise ParameterError(f"{type(self).__name__} does not use a pool")
        return super().refit(X, y, dev=dev, **further)
