"""Methods that follow a path of models, which begins at the supervised one, and take the best model on it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np

from semistruct.base.errors import ParameterError, RuleWarning, quoted, some_of
from semistruct.base.parameters import seed_from
from semistruct.base.progress import Watch
from semistruct.core.chain.inference import ChainWeights
from semistruct.features import FeatureSet
from semistruct.learning import settings
from semistruct.learning.checkpoints import Folder, parameters_of
from semistruct.learning.choice import Judge, Measure, Point, Start
from semistruct.learning.data import Data, Pairs
from semistruct.learning.declarations import check_params
from semistruct.learning.effects import explain
from semistruct.learning.fitting import FULL, Effort, Fit, Method
from semistruct.learning.held_out import HeldOutModels, models_without, parts_of
from semistruct.learning.learners import MarginLearner
from semistruct.learning.rounds import Round, Run, State, walk
from semistruct.learning.task import Task
from semistruct.learning.trust import Trust, strength_by_labels, suggested_rules
from semistruct.model.model import Model
from semistruct.rules import Rules


@dataclass(frozen=True)
class Setting:
    """The rules of a path, and what they decide.

    trust     how far each is trusted
    strength  of rules that are trusted, by the number of labels
    task      all sequences, under the rules to which the pool is matched
    sample    the sequences with which the path is followed; the task itself, unless the pool is large
    judge     of the points
    """

    trust: Trust
    strength: float
    task: Task
    sample: Task
    judge: Judge


@dataclass(eq=False, repr=False, kw_only=True)
class PathMethod(Method):
    """Base of the semi-supervised methods.

    A method says what its learner is (`learner`), which stages there are (`_stages`), and what is done in a round at
    one of them (`_round`).  Everything else is here: encoding, dev data, checkpoints, interruption, the choice among
    the points, the explanation.

    Parameters
    ----------
    rules : the rules; by default some of those that the labelled sequences suggest (see `semistruct.suggest`), if there
        are 10 such sequences or dev data, on which they must help; `Rules([])` for none
    select : which point of the path becomes the model: "dev": the best on dev data; "labels-free": the one with the
        fewest known mistakes (see `semistruct.learning.choice`), the supervised start if there are no rules; "last";
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
    settles_all: ClassVar[bool] = False  # the path ends, not only a stage, when a round changes nothing
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
        given: dict[str, Any] = {"pool": pool, "dev": dev, "sample_weight": sample_weight}
        return self.fit_with(FULL, X, y, **given, watch=watch, checkpoint=checkpoint, resume=resume)

    def fit_with(
        self,
        effort: Effort,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        watch: Watch | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        **given: Any,
    ) -> Self:
        check_params(self)
        data = Data.of(X, y, **given, rules=self.rules, may_imply=True)
        if resume and checkpoint is None:
            raise ParameterError("resume=True needs checkpoint, the folder to continue from")
        if self.select == "dev" and data.dev is None:
            raise ParameterError(f"{type(self).__name__}(select='dev'): there is no dev data")
        data.warn_of_overlap()
        return self._learn(data, effort, watch, Folder(checkpoint, resume, parameters_of(self)))

    # ---- what methods say of themselves

    def _stages(self, task: Task) -> list[float]:
        """Where the points of the path are, on the axis."""
        raise NotImplementedError

    def _rounds(self) -> int:
        """The largest number of rounds at a stage."""
        return 1

    def _round(self, task: Task, run: Run) -> Round:
        """What does a round at a stage: it changes run.state, and notes its half-steps."""
        raise NotImplementedError

    def _check_task(self, task: Task) -> None:
        """Refuse data or rules that the method cannot learn from."""

    def _trusted(self, trust: Trust, strength: float) -> Rules:
        """Rules that are believed, with their weights in matching; those without a weight may have none yet."""
        return trust.rules

    def _sample(self, task: Task, rules: Rules | None, seed: int) -> Task:
        """The sequences with which the path is followed."""
        return task

    def _second_start(self, fit: Fit, setting: Setting) -> Callable[[], Start | None] | None:
        """What learns another model at which a path may begin; None if one path is enough."""
        return None

    def _report(self, task: Task, points: list[Point], point: Point) -> None:
        """Fill the tables of `reports`; `point` is the best of the points."""

    def _start(self, fit: Fit) -> Start:
        learn = partial(self._supervised, fit.task, fit.dev, rough=fit.effort.rough)
        start = fit.folder.start(fit.task, learn)
        assert start is not None
        return start

    def _follow_path(self, fit: Fit, start: Start) -> tuple[Trust, list[ChainWeights]]:
        setting = self._decide_rules(fit, start)
        stages = self._stages(setting.task)[slice(*fit.effort.stages)]
        run = Run(State(start.chain), self.axis, stages, fit.watch)
        run, points = self._better_path(fit, setting, run)
        if self.rules is None and self.rules_ and setting.judge.select == "dev":
            with self._interruptible():
                setting, points = self._unless_rules_hurt(fit, setting, points, start)
        run, points = self._with_all(run, points, setting, fit.folder)
        run.state.extra = {}  # the dual variables of a large pool take much room
        self._conclude(setting.task, points, setting.judge, run.state, start.chain)
        return setting.trust, [point.chain for point in points]

    def _decide_rules(self, fit: Fit, start: Start) -> Setting:
        """The rules, given or suggested; how far they are trusted; those to which the pool is matched."""
        data, dev = fit.data, fit.dev
        select = ("labels-free" if dev is None else "dev") if self.select == "auto" else self.select
        self.rules_ = self.rules
        if self.rules is None:
            guarded = select == "dev"
            self.rules_ = suggested_rules(data, fit.task, start.chain, guarded=guarded, n_jobs=self.n_jobs)
        sample = self._sample(fit.task, self.rules_, fit.seed)
        trust = Trust.of(self.rules_, [(data.X, data.y), data.dev], data.labels)
        trust = trust.doubted(sample, start.chain, self.n_jobs)
        trust.warn()
        strength = strength_by_labels(data.n_labelled)
        matched = self._matched_rules(trust.believed(), strength, data.labels)
        task, sample = fit.task, sample.under(matched)
        task = task.under(matched) if sample.n_open < task.n_open else sample
        self._check_task(task)
        measure = Measure(self.metric, data.labels)
        judge = Judge.of(sample, dev, select, measure, trust.weighted(strength), self.n_jobs)
        return Setting(trust, strength, task, sample, judge)

    def _matched_rules(self, believed: Trust, strength: float, labels: Sequence[str]) -> Rules:
        """The rules to which the pool is matched: those that the method can use, as it can use them."""
        rules = self._trusted(believed, strength)
        found = [(rule, self.usable(rule, labels)) for rule in rules]
        aside = [quoted(rule.text) for rule, usable in found if usable is None]
        if aside:
            problem = f"{type(self).__name__} cannot learn from {len(aside)} of {len(found)} rules"
            warnings.warn(f"{problem}, and obeys them only in prediction: {some_of(aside)}", RuleWarning, stacklevel=6)
        return Rules([usable for _, usable in found if usable is not None], rules.labels)

    def _unless_rules_hurt(
        self, fit: Fit, setting: Setting, points: list[Point], start: Start
    ) -> tuple[Setting, list[Point]]:
        """The same; or the supervised model without rules, if those that the labels suggest do not help."""
        bare, judge = Rules([]), setting.judge
        plain = Judge.of(setting.sample.under(bare), fit.dev, judge.select, judge.measure, bare, self.n_jobs)
        alone = [plain.point(start.chain)]
        if judge.prefers(points, alone):
            return setting, points
        self.rules_, trust = None, Trust.of(None, [], fit.data.labels)
        return replace(setting, trust=trust, task=setting.task.under(bare), judge=plain), alone

    def _better_path(self, fit: Fit, setting: Setting, run: Run) -> tuple[Run, list[Point]]:
        """The path from the supervised model or from another start, whichever ends better."""
        self.start_: Literal["labels", "rules"] = "labels"
        sample, judge, second = setting.sample, setting.judge, self._second_start(fit, setting)
        points = [] if second and fit.effort.start == "rules" else self._along(run, sample, judge, fit.folder)
        if second is None or self.stop_ == "interrupted" or (points and not run.stages):
            return run, points
        with self._interruptible():
            near = fit.folder.start(sample, second, "rules") if sample.has_rules and len(sample.free) else None
            if near is not None:
                again = replace(run, state=State(near.chain))
                found = self._along(again, sample, judge, fit.folder, "rules")
                if not points or judge.prefers(found, points):
                    self.start_, run, points = "rules", again, found
        if not points:  # there was no other start
            run = replace(run, stages=[]) if self.stop_ == "interrupted" else run
            points = self._along(run, sample, judge, fit.folder)
        return run, points

    def _along(self, run: Run, sample: Task, judge: Judge, folder: Folder, part: str = "") -> list[Point]:
        """The points of a path, followed with the sample."""
        points: list[Point] = []
        folder.attach(run, sample, points, part)
        if not points:
            points.append(judge.point(run.state.chain))
        run.pass_over()
        with self._interruptible():
            for now in self._walk(sample, run) if run.stages and self._has_a_path(sample, judge.select) else ():
                points.append(judge.point(now.chain, run.stages[now.stage], now.labels))
                run.note_point(points[-1], len(points))
        return points

    def _walk(self, task: Task, run: Run) -> Iterator[State]:
        """Go through run.stages from run.state.stage on; yields the state at the end of each."""
        return walk(run, self._round(task, run), self._rounds(), settles_all=self.settles_all)

    def _has_a_path(self, task: Task, select: str) -> bool:
        """Whether there is something to learn from the pool, and a way to tell whether it helps."""
        if select == "labels-free" and len(task.free) and not task.has_rules:
            problem = "without rules or dev data, nothing tells whether the pool helps: the supervised model is taken"
            n = settings.SUGGEST_FROM
            if self.rules is None and task.n_fixed < n:
                problem += f"; with {n} fully labelled sequences or more, rules may be found in them"
            warnings.warn(problem, RuleWarning, stacklevel=7)
            return False
        return task.n_fixed < len(task.batch)

    def _with_all(self, run: Run, points: list[Point], setting: Setting, folder: Folder) -> tuple[Run, list[Point]]:
        """The best point learned with the whole pool, in one round, if the path was followed with a sample of it."""
        judge, task = setting.judge, setting.task
        if judge.task is task:
            return run, points
        points = [replace(point, labels=None) for point in points]
        best = judge.best(points)
        if best == 0 or self.stop_ == "interrupted":
            return run, points
        run = run.again(points[best].chain, best, rounds=1)
        with self._interruptible():
            folder.attach(run, task, points, "all")
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

    def _conclude(self, task: Task, points: list[Point], judge: Judge, state: State, supervised: ChainWeights) -> None:
        """Take the best point, label the pool with it, and say what changed on the way to it."""
        best = judge.best(points)
        self.leave_uncalibrated().model_ = self._model(task, points[best].chain)
        self.history_ = state.history
        self.path_ = [{**point.row(self.axis), "chosen": i == best} for i, point in enumerate(points)]
        self.labels_ = [None] * len(task.free)
        self.explanation_: dict[str, Any] = {"rules": [], "moved": [], "causes": []}
        for part in self.reports:
            setattr(self, part.attribute, [])
        labels = None
        with self._sparing("the labels of the pool"):
            labels = self._label_pool(task, points[best])
        with self._sparing("the report on rules"):
            self._report(task, points, points[best])
        if labels is None:
            self.skipped_.append("the explanation")
        else:
            with self._sparing("the explanation"):
                self.explanation_ = explain(task, supervised, labels, self.n_jobs)

    def _label_pool(self, task: Task, point: Point) -> np.ndarray:
        """The labels of the open sequences at a point."""
        labels = task.decoded(point.chain, self.n_jobs) if point.labels is None else point.labels
        self.labels_ = task.rows_of_free(labels)
        return labels

    def _as_chosen(self) -> tuple[Self, Effort]:
        again, effort = super()._as_chosen()
        again.set_params(select="last", rules=Rules([]) if self.rules_ is None else self.rules_)
        return again, replace(effort, start=self.start_, stages=(0, self._chosen))

    @property
    def _chosen(self) -> int:
        """The number of the point that was chosen; 0 is the start."""
        return next(k for k, point in enumerate(self.path_) if point["chosen"])

    def _without_parts(self, fit: Fit, start: Start) -> HeldOutModels:
        parts = parts_of(fit.data.n_whole, fit.seed, settings.FEW_PARTS)
        return self._learned_without(fit, self._start_learner(len(fit.task.labels)), parts)

    def _for_calibration(self, fit: Fit, supervised: HeldOutModels) -> HeldOutModels:
        """Models of the stage that was chosen, after one round and with a part of the pool."""
        pool, chosen = fit.data.pool, self._chosen
        size = min(max(len(pool) // settings.POOL_SHARE, settings.FEW), settings.MANY)
        some = np.random.default_rng(fit.seed).permutation(len(pool))[:size]
        few = [pool[i] for i in some] if chosen or self.start_ == "rules" else None
        short, effort = self._as_chosen()
        rules = Rules(list(self.rules_ or ()), self.model_.labels)  # a part may have labels that no other has
        short.set_params(rules=rules, **({"rounds": 1} if "rounds" in self.get_params() else {}))
        effort = replace(effort, rough=True, stages=(max(chosen - 1, 0), chosen))
        parts = [part.tolist() for part in parts_of(fit.data.n_whole, fit.seed)[: settings.PATHS]]
        return partial(models_without, partial(_short_fit, short, few, effort), fit.data.given, parts)


def _short_fit(short: PathMethod, pool: list[Any] | None, effort: Effort, X: list[Any], y: list[Any]) -> Model:
    """The model of a fit that is only asked about what it has not seen."""
    fitted = short.unfitted().fit_with(effort, X, y, pool=pool)
    if fitted.stop_ == "interrupted":
        raise KeyboardInterrupt
    return fitted.model_


@dataclass(eq=False, repr=False)
class MarginPath(PathMethod):
    """A path of structural SVMs.

    Parameters
    ----------
    C : weight of the losses of labelled sequences, or "auto": the best of a grid on dev data, else by cross-validation
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    tol : the relative duality gap to reach in learning
    others : those of `PathMethod`
    """

    ranks: ClassVar[bool] = True
    C: float | str = settings.MARGIN_C
    features: FeatureSet = "default"
    tol: float = 0.05

    def learner(self, n_labels: int, watch: Watch | None = None) -> MarginLearner:
        return MarginLearner(n_labels, self.tol, settings.MAX_ITERATIONS, seed_from(self.random_state), self.n_jobs)

    def _start_learner(self, n_labels: int, watch: Watch | None = None) -> MarginLearner:
        return replace(self.learner(n_labels), tol=min(self.tol, settings.MARGIN_GAP))

    def _relative_stages(self, task: Task, ratios: Sequence[float]) -> list[float]:
        """C_u per sequence, where the whole pool has these weights relative to all labelled data."""
        labelled = self.C_ * float(task.labelled[2].sum())
        return [task.share_of_free(float(ratio) * labelled) for ratio in ratios]
