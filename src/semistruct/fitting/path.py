"""Methods that follow a path of models, which begins at the supervised one, and take the best model on it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from semistruct.chain.inference import ChainWeights
from semistruct.corpus import complete
from semistruct.errors import ParameterError, RuleWarning, quoted, some_of
from semistruct.features import FeatureSet
from semistruct.features.encoder import form_of
from semistruct.fitting.calibrating import Asked, Uncalibrated, learned_without, nobody, parts_of, paths_without
from semistruct.fitting.choice import choose_C
from semistruct.fitting.data import (
    DevData,
    Pairs,
    all_labels,
    check_data,
    checked_dev,
    is_known,
    origin,
    refuse_rules_about_words,
    sequences,
)
from semistruct.fitting.explanation import explain
from semistruct.fitting.labeller import SequenceLabeller
from semistruct.fitting.learners import Learner
from semistruct.fitting.measure import Measure
from semistruct.fitting.own_rules import LEAST, own_rules
from semistruct.fitting.points import Judge, Point
from semistruct.fitting.ranked import FEW_PARTS, NO_RANKING, Ranking, can_rank, is_ruled, learn_ranking
from semistruct.fitting.runs import Kept, Run
from semistruct.fitting.sampling import sample_of
from semistruct.fitting.state import State
from semistruct.fitting.task import Task
from semistruct.fitting.trust import Trust, strength_by_labels
from semistruct.fitting.unlabelled import implied_labels
from semistruct.model import Model
from semistruct.params import check_params, seed_from
from semistruct.progress import Watch
from semistruct.rules import Rules


@dataclass(eq=False, repr=False, kw_only=True)
class PathMethod(SequenceLabeller):
    """Base of the semi-supervised methods.

    A method says where it starts (`_start`: the supervised model; `_other_start`: where else a path may begin), which
    stages there are (`_stages`) and how it goes through them (`_walk`: yields the state at the end of each stage).
    Everything else is here: encoding, dev data, checkpoints, interruption, the choice among the points, the
    explanation.  Where the attribute `keep_models` is set to True, `fit` leaves the models of all points in `models_`;
    where `tell` is set to a function, it is called with a sentence that says from where a fit is resumed.

    Parameters
    ----------
    rules : the rules; by default some of those that the labelled sequences suggest (see `semistruct.suggest`), if there
        are 10 such sequences or dev data, on which they must help; `Rules([])` for none
    select : which point of the path becomes the model: "dev": the best on dev data; "labels-free": the one with the
        fewest known mistakes (see `semistruct.fitting.points`), the supervised start if there are no rules; "last";
        "auto": "dev" if there is dev data, else "labels-free".  The supervised start is a point too, so that a pool
        that hurts is ignored.
    metric : what the point, C and the weights of rules are chosen by where labels are held out: "token" or "sequence"
        accuracy, or F1 of a "span"; token accuracy decides among equals
    n_jobs : threads, None for all; does not change the result
    random_state : seed of what is left to chance: the order in which examples are visited, the folds of
        cross-validation

    Attributes
    ----------
    model_ : labels, features and weights of the chosen point
    labels_ : the labels of the sequences without labels at the chosen point, those of X (y is None) first
    rules_ : the rules, given or suggested; None if there are none
    C_, search_ : as for `SupervisedMethod`
    history_ : list of dicts, one per half-step; `seconds` since the path began, `spent` on the half-step
    path_ : list of dicts, one per point: where it is, dev_score (the metric), dev_accuracy, mistakes, chosen
    start_ : where the path begins: "labels", the supervised model, or "rules" (see `AnnealedSSVM`)
    explanation_ : the rules that the supervised model broke, those still broken, and which labels changed
    stop_ : "finished" or "interrupted"
    skipped_ : what an interruption left out, in words
    """

    axis: ClassVar[str]  # what the stages differ in: its name in rows of the history and of the path, and in words
    axis_text: ClassVar[str]
    keep_models = False
    tell: ClassVar[Any] = None
    part_of_path = slice(None)  # of the stages
    rough_start = False
    begins = ""  # at "labels" or at "rules"; "" for what is better
    few = 0  # labelled sequences with which the path is also followed from what the rules say
    samples = False  # whether the path is followed with a sample of a large pool
    rules: Rules | None = None
    select: str = "auto"
    metric: str = "token"
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = 0

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        pool: Sequence[Any] | None = None,
        dev: Pairs | None = None,
        sample_weight: Sequence[float] | None = None,
        watch: Watch | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from sequences X with labels y (None where unknown) and from a pool of sequences without labels.

        If there is no label at all, the rules, which must list all labels, say what can be learned from the pool.

        dev            (X, y) to choose parameters and the point of the path on
        sample_weight  one factor of the loss per sequence of X
        watch          called with a `Progress` for every row of the history and every point as it is made
        checkpoint     folder in which to save the state after every round; with resume=True, continue from there
        """
        check_params(self)
        X, y = check_data(X, y)
        dev, pool = checked_dev(dev), None if pool is None else sequences(pool, "pool", like=form_of(X) if X else None)
        n_labelled = sum(map(is_known, y))
        if not n_labelled and (X or pool) and self.rules is not None:
            (X, y, sample_weight), pool = implied_labels(self.rules, [*X, *(pool or ())]), None
        self._note_tokens(X)
        if resume and checkpoint is None:
            raise ParameterError("resume=True needs checkpoint, the folder to continue from")
        select = ("labels-free" if dev is None else "dev") if self.select == "auto" else self.select
        if select == "dev" and dev is None:
            raise ParameterError(f"{type(self).__name__}(select='dev'): there is no dev data")
        labels = all_labels(y, self.rules)
        refuse_rules_about_words(self.rules, X, labels)
        task = Task.of(X, y, pool, features=self._templates(), rules=None, labels=labels, sample_weight=sample_weight)
        self.data_ = origin(X, y, dev, pool)
        held_out = DevData.of(dev, task.encoder, task.labels)
        measure = Measure(self.metric, task.labels)
        _warn_of_overlap(X, y, dev)
        kept = Kept(checkpoint, resume, self, held_out, self.tell)
        start = kept.started(task, partial(self._start, task, held_out))
        assert start is not None
        self.rules_ = self.rules
        if self.rules is None:
            self.rules_ = own_rules((X, y), task, start.chain, guarded=select == "dev", n_jobs=self.n_jobs)
        sample = sample_of(task, self.rules_, seed_from(self.random_state)) if self.samples else task
        trust = Trust.of(self.rules_, [(X, y), dev], labels).doubted(sample, start.chain, self.n_jobs)
        trust.warn()
        strength = strength_by_labels(n_labelled)
        matched = self._matched_rules(self._trusted(trust.believed(), strength), labels)
        sample = sample.under(matched)
        task = task.under(matched) if sample.n_open < task.n_open else sample
        self._check_task(task)
        judge = Judge.of(sample, held_out, select, measure, trust.weighted(strength), self.n_jobs)
        stages = self._stages(task)[self.part_of_path]
        run, supervised = Run(start, self.axis, stages, watch), start.chain
        few = self.rules is not None and 0 < n_labelled <= self.few
        compares = self.begins or (few and select != "last")
        other = partial(self._other_start, sample, judge, trust.believed(), strength) if compares else None
        run, points = self._better_path(run, sample, judge, kept, other)
        if self.rules is None and self.rules_ and select == "dev":
            with self._interruptible():
                plain = Judge.of(sample.under(Rules([])), held_out, select, measure, Rules([]), self.n_jobs)
                alone = [plain.point(supervised, None, None)]
                if not judge.prefers(points, alone):  # what the labels suggest does not help
                    self.rules_, trust, task = None, Trust.of(None, [], labels), task.under(Rules([]))
                    judge, points = plain, alone
        run, points = self._with_all(run, points, task, judge, kept)
        run.state.extra = {}  # the dual variables of a large pool take much room
        self._conclude(task, points, judge, run.state, supervised)
        weigh = partial(self._weighed, self.model_, trust, n_labelled)
        self.model_ = self._or_else("the weights of rules", partial(weigh, dev), partial(weigh, None))
        self._rank(task, (X, y) if n_labelled else ([], []), pool or [], dev)
        if self.keep_models:
            rules, ranker = self.model_.rules, self.model_.ranker
            self.models_ = [replace(self._model(task, p.chain), rules=rules, ranker=ranker) for p in points]
        return self

    def _rank(self, task: Task, labelled: Pairs, pool: list[Any], dev: Pairs | None) -> None:
        """Give the model a ranker, and keep what it takes to know how right it is."""
        ranking = NO_RANKING
        if self.ranks and can_rank(*labelled, self.rules):
            ranking = self._or_else("the ranker", partial(self._ranking, task, labelled), long=True) or NO_RANKING
        self.model_ = replace(self.model_, ranker=ranking.ranker)
        finished = partial(paths_without, self, labelled, pool, ranking.apart)
        without = self._or_else("calibration", finished, lambda: nobody, long=dev is None)
        without = without if self.stop_ == "finished" else nobody
        self._uncalibrated = Uncalibrated(self.model_, dev, without, self.probabilistic, self.n_jobs)

    def _or_else(
        self, what: str, step: Callable[[], Any], instead: Callable[[], Any] = lambda: None, *, long: bool = False
    ) -> Any:
        """What a step after the path gives; an interruption ends only the step, and something short is done instead.

        long  do not even begin after an interruption
        """
        try:
            if long and self.stop_ == "interrupted":
                raise KeyboardInterrupt
            return step()
        except KeyboardInterrupt:
            self.stop_ = "interrupted"
            self.skipped_.append(what)
            warnings.warn(f"interrupted; left out: {what}", stacklevel=4)
            return instead()

    def _better_path(
        self, run: Run, sample: Task, judge: Judge, kept: Kept, other: Callable[[], ChainWeights | None] | None
    ) -> tuple[Run, list[Point]]:
        """The path from the supervised model or from another start, whichever ends better."""
        self.stop_, self.start_, self.skipped_ = "finished", "labels", list[str]()
        points = [] if self.begins == "rules" else self._along(run, sample, judge, kept)
        if other is None or self.begins == "labels" or self.stop_ == "interrupted" or (points and not run.stages):
            return run, points
        with self._interruptible():
            near = kept.started(sample, other, "rules") if sample.has_rules and len(sample.free) else None
            if near is not None:
                again = replace(run, state=near)
                found = self._along(again, sample, judge, kept, "rules")
                if not points or judge.prefers(found, points):
                    self.start_, run, points = "rules", again, found
        if not points:  # there was no other start
            run = replace(run, stages=[]) if self.stop_ == "interrupted" else run
            points = self._along(run, sample, judge, kept)
        return run, points

    def _along(self, run: Run, sample: Task, judge: Judge, kept: Kept, part: str = "") -> list[Point]:
        """The points of a path, followed with the sample."""
        points: list[Point] = []
        kept.attach(run, sample, points, part)
        if not points:
            points.append(judge.point(run.state.chain, None, None))
        run.pass_over()
        with self._interruptible():
            for now in self._walk(sample, run) if run.stages and self._has_a_path(sample, judge.select) else ():
                points.append(judge.point(now.chain, run.stages[now.stage], now.labels))
                run.note_point(points[-1], len(points))
        return points

    def _with_all(self, run: Run, points: list[Point], task: Task, judge: Judge, kept: Kept) -> tuple[Run, list[Point]]:
        """The best point learned with all of the task, if the path was followed with a sample of it."""
        if judge.task is task:
            return run, points
        points = [replace(point, labels=None) for point in points]
        best = judge.best(points)
        if best == 0 or self.stop_ == "interrupted":
            return run, points
        run = run.on_all(points[best].chain, best)
        with self._interruptible():
            kept.attach(run, task, points, "all")
            for now in self._walk(task, run):
                points[:] = judge.improved(points, best, judge.point(now.chain, points[best].place, now.labels))
                run.note_point(points[best], len(points))
        return run, points

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """What an interruption ends; the points found so far remain."""
        try:
            yield
        except KeyboardInterrupt:
            self.stop_ = "interrupted"
            warnings.warn("interrupted: the model is the best point so far", stacklevel=3)

    def walked(self, task: Task, judge: Judge, believed: Trust, strength: float) -> ChainWeights | None:
        """The best model of the path on a task, for another method to start from; None if no rule can be used."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuleWarning)
            task = task.under(self._matched_rules(self._trusted(believed, strength), task.labels))
            if not task.has_rules:
                return None
            run = Run(State(self._start(task, judge.dev and judge.dev[0])), self.axis, self._stages(task))
            points = [judge.point(now.chain, None, None) for now in self._walk(task, run)]
        return points[judge.best(points)].chain

    def _other_start(self, sample: Task, judge: Judge, believed: Trust, strength: float) -> ChainWeights | None:
        """Where else a path may begin if there are few labels."""
        return None

    def _has_a_path(self, task: Task, select: str) -> bool:
        """Whether there is something to learn from the pool, and a way to tell whether it helps."""
        if select == "labels-free" and len(task.free) and not task.has_rules:
            problem = "without rules or dev data, nothing tells whether the pool helps: the supervised model is taken"
            hint = f"; with {LEAST} fully labelled sequences or more, rules may be found in them"
            hint = hint if self.rules is None and task.n_fixed < LEAST else ""
            warnings.warn(problem + hint, RuleWarning, stacklevel=3)
            return False
        return task.n_fixed < len(task.batch)

    def _trusted(self, trust: Trust, strength: float) -> Rules:
        """Rules that are believed, with their weights in matching; those without a weight may have none yet."""
        return trust.rules

    def _matched_rules(self, rules: Rules, labels: Sequence[str]) -> Rules:
        """The rules to which the pool is matched: those that the method can use, as it can use them."""
        found = [(rule, self.usable(rule, labels)) for rule in rules]
        aside = [quoted(rule.text) for rule, usable in found if usable is None]
        if aside:
            problem = f"{type(self).__name__} cannot learn from {len(aside)} of {len(found)} rules"
            warnings.warn(f"{problem}, and obeys them only in prediction: {some_of(aside)}", RuleWarning, stacklevel=3)
        return Rules([usable for _, usable in found if usable is not None], rules.labels)

    def _templates(self) -> FeatureSet:
        """The features to use."""
        return self.features

    def _check_task(self, task: Task) -> None:
        """Refuse data or rules that the method cannot learn from."""

    def learner(self, n_labels: int) -> Learner:
        """The learner of the supervised model, and perhaps of the others."""
        raise NotImplementedError

    def _start_learner(self, n_labels: int) -> Learner:
        """The learner of the supervised model, if that is another one."""
        return self.learner(n_labels)

    def _start(self, task: Task, dev: DevData | None) -> ChainWeights:
        """The supervised model, with the best C if C is to be chosen."""
        learner = self._start_learner(len(task.labels))
        batch, known, weight = task.labelled
        seed, measure = seed_from(self.random_state), Measure(self.metric, task.labels)
        choice = choose_C(self.C, learner, measure, (batch, known), dev, weight, seed, self.n_jobs)
        self.C_, self.search_ = choice.C, choice.rows
        return learner.learn(batch, known, self.C_ * weight, rough=self.rough_start).chain

    def _ranking(self, task: Task, data: Pairs) -> Ranking:
        """A ranker for the model."""
        whole = complete(data[1])
        learner, (batch, known, weight) = self._start_learner(len(task.labels)), task.labelled
        parts = parts_of(len(whole), seed_from(self.random_state), FEW_PARTS)
        found = learned_without(learner, batch, known, self.C_ * weight, parts)
        models = ((Model(task.labels, task.encoder, chain), part) for part, chain in found)
        asked = [Asked.of(model, data, [whole[i] for i in part]) for model, part in models]
        return learn_ranking(self.model_, asked, is_ruled(self.rules), self.n_jobs)

    def _stages(self, task: Task) -> list[float]:
        """Where the points of the path are, on the axis."""
        raise NotImplementedError

    def _walk(self, task: Task, run: Run) -> Iterator[State]:
        """Go through run.stages from run.state.stage on; yields the state at the end of each."""
        raise NotImplementedError

    def _model(self, task: Task, chain: ChainWeights) -> Model:
        return Model(task.labels, task.encoder, chain).compact()

    def _conclude(self, task: Task, points: list[Point], judge: Judge, state: State, supervised: ChainWeights) -> None:
        """Take the best point, label the pool with it, and say what changed on the way to it."""
        point = self._take_best(task, points, judge, state)
        labels = self._or_else("the labels of the pool", partial(self._label_pool, task, point))
        if self.reports:
            self._or_else("the report on rules", partial(self._report, task, points, point))
        self.explanation_: dict[str, Any] = {"rules": [], "moved": [], "causes": []}
        if labels is None:
            self.skipped_.append("the explanation")
        else:
            explained = partial(explain, task, supervised, labels, self.n_jobs)
            self.explanation_ = self._or_else("the explanation", explained, lambda: self.explanation_)

    def _take_best(self, task: Task, points: list[Point], judge: Judge, state: State) -> Point:
        """Take the best point, which is quick; what takes longer is left empty for now."""
        best = judge.best(points)
        self.leave_uncalibrated().model_ = self._model(task, points[best].chain)
        self.history_ = state.history
        self.path_ = [{**point.row(self.axis), "chosen": i == best} for i, point in enumerate(points)]
        self.labels_ = [None] * len(task.free)
        for part in self.reports:
            setattr(self, part.attribute, [])
        return points[best]

    def _report(self, task: Task, points: list[Point], point: Point) -> None:
        """Fill the tables of `reports`; `point` is the best of the points."""
        raise NotImplementedError

    def _label_pool(self, task: Task, point: Point) -> np.ndarray:
        """The labels of the open sequences at a point."""
        labels, names = point.labels, np.array(task.labels, object)
        if labels is None:
            labels = task.decoded(point.chain, self.n_jobs)
        rows = [row.tolist() for row in task.opened.split(names[labels])] if len(task.opened) else []
        self.labels_ = [rows[i] for i in task.free]
        return labels


def _warn_of_overlap(X: Sequence[Any], y: Sequence[Any], dev: Pairs | None) -> None:
    if dev is None:
        return
    seen = {repr(list(x)) for x, row in zip(X, y, strict=True) if is_known(row)}
    n = sum(repr(list(x)) in seen for x in dev[0])
    if n:
        warnings.warn(f"{n} of {len(dev[0])} dev sequences are also in the training data", stacklevel=3)
