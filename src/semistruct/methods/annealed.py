"""The annealed structural SVM: labels, unlabelled data and rules together."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np

from semistruct import params
from semistruct.chain.inference import decode
from semistruct.constraints import Constraints
from semistruct.errors import DataError, ParameterError
from semistruct.features import Encoder
from semistruct.matching.switching import Moves
from semistruct.methods.annealing import MatchByScore, MatchBySlack, Row, State, Task, anneal
from semistruct.methods.base import Pairs, SequenceLabeller, all_labels, check_data, is_known, label_codes
from semistruct.methods.checkpoints import Checkpoint
from semistruct.methods.explanation import explain
from semistruct.methods.points import Judge, Point
from semistruct.methods.supervised import DEFAULT_C, Learner, checked_weights, encoded, seed_from
from semistruct.methods.trust import trusted
from semistruct.model import Model
from semistruct.params import check_params

RELATIVE = (1.0, 10.0, 30.0)
PRINTED = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
START_TOL = 0.01  # the relative gap of the supervised start


class AnnealedSSVM(SequenceLabeller):
    """Large-margin chain model from labelled and unlabelled sequences and rules:

        min_{w, y}  1/2 ||w||^2 + C sum_i H_i(w) + C_u sum_j H_j(w; y_j) + penalty(y)

    over the weights w and the labels y of the unlabelled sequences, H being the structured hinge loss of `SSVM`.  It
    starts from the supervised solution and alternates between matching labels to model and rules and learning, while
    C_u grows along a schedule.

    Parameters
    ----------
    C : weight of the losses of labelled sequences, or "auto": the best of a grid on dev data, else by cross-validation
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    constraints : the rules
    schedule : growing weights of all unlabelled data together: a list, relative to that of all labelled data;
        "relative" for a good one; "printed" for the absolute 0.0001, 0.0003, ..., 1 of the paper
    rounds : of matching and learning for each weight; fewer if the labels settle
    moves : "spans", or the single-label switching of the paper: "tokens" (fast), "printed" (literally)
    match_by : "slack" lowers the objective; "score" follows the scores of the model, where that does not raise it
    select : which point of the path becomes the model: "dev": the best on dev data; "labels-free": the one with the
        fewest known mistakes (see `semistruct.methods.points`); "last"; "auto": "dev" if there is dev data, else
        "labels-free".  The supervised start is a point too, so that unlabelled data that hurts is left alone.
    tol : the relative duality gap to reach in learning
    n_jobs : threads, None for all; does not change the result
    random_state : seed of the order in which examples are visited

    Attributes
    ----------
    model_ : labels, features and weights of the chosen point
    labels_ : the labels of the unlabelled sequences at the chosen point, those of X (y is None) first
    C_, search_ : as for `SSVM`
    history_ : list of dicts, one per half-step: C_u, round, step, objective, penalty, broken, switched, ...
    path_ : list of dicts, one per point: C_u, dev_accuracy, mistakes, chosen
    explanation_ : the rules the supervised model broke and those still broken, and which labels moved
    stop_ : "finished" or "interrupted"
    """

    rules: ClassVar = {
        "C": params.positive | params.the_word("auto"),
        "features": params.features,
        "constraints": params.none | params.constraints,
        "schedule": params.the_word("relative") | params.the_word("printed") | params.growing,
        "rounds": params.at_least_one,
        "moves": params.the_word("spans") | params.the_word("tokens") | params.the_word("printed"),
        "match_by": params.the_word("score") | params.the_word("slack"),
        "select": params.the_word("auto")
        | params.the_word("dev")
        | params.the_word("labels-free")
        | params.the_word("last"),
        "tol": params.positive,
        "n_jobs": params.none | params.at_least_one,
        "random_state": params.seed,
    }

    def __init__(
        self,
        C: float | str = DEFAULT_C,
        features: str | Sequence[str] = "default",
        constraints: Constraints | None = None,
        schedule: str | Sequence[float] = "relative",
        rounds: int = 3,
        moves: str = "spans",
        match_by: str = "score",
        select: str = "auto",
        tol: float = 0.05,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.C = C
        self.features = features
        self.constraints = constraints
        self.schedule = schedule
        self.rounds = rounds
        self.moves = moves
        self.match_by = match_by
        self.select = select
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        unlabeled: Sequence[Any] | None = None,
        dev: Pairs | None = None,
        sample_weight: Sequence[float] | None = None,
        watch: Callable[[Row], None] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        keep_models: bool = False,
    ) -> AnnealedSSVM:
        """Learn from sequences X with labels y (None where unknown) and further sequences without labels.

        dev            (X, y) to choose C and the point of the path on
        sample_weight  one factor of C, or of C_u, per sequence of X
        watch          called with every row of the history and every point as it is made
        checkpoint     a folder to keep the state in after every round; with resume=True go on from there
        keep_models    keep the models of all points of the path, in `models_`
        """
        check_params(self)
        if resume and checkpoint is None:
            raise ParameterError("resume=True needs the folder of the checkpoint")
        data = _Data.of(self, X, y, unlabeled, sample_weight)
        select = ("labels-free" if dev is None else "dev") if self.select == "auto" else self.select
        if select == "dev" and dev is None:
            raise ParameterError("AnnealedSSVM(select='dev'): there is no dev data")
        learner = Learner(len(data.labels), self.tol, 1000, seed_from(self.random_state), self.n_jobs)
        task, dev_known = data.task, encoded(dev, data.encoder, data.labels)
        _warn_of_overlap(X, y, dev)
        judge = Judge.of(data, task, dev, select, self.n_jobs, self.constraints or Constraints([]))
        state = self._start(data, learner, dev_known)
        schedule = self._schedule(task)
        keeper = None if checkpoint is None else Checkpoint.of(checkpoint, self, data, schedule, dev_known)
        points: list[Point] = []
        if keeper is not None and resume:
            state, points = keeper.load(state, task)
        if not points:
            points.append(judge.point(state, 0.0, None))
        self.stop_ = "finished"
        matcher = MatchByScore if self.match_by == "score" else MatchBySlack
        matched = matcher(cast(Moves, self.moves), learner.seed, self.n_jobs)

        def save(now: State) -> None:
            if keeper is not None:
                keeper.save(now, points)

        try:
            steps = anneal(task, learner, state, schedule, self.rounds, matched=matched, save=save, watch=watch)
            for now in steps if task.n_fixed < len(task.batch) else ():
                points.append(judge.point(now, schedule[now.temperature], now.labels))
                if watch:
                    watch(points[-1].row())
        except KeyboardInterrupt:
            self.stop_ = "interrupted"
            warnings.warn("interrupted: the model is the best point so far", stacklevel=2)
        self._finish(data, points, judge, state, dev)
        if keep_models:
            self.models_ = [replace(self._model(data, point), constraints=self.model_.constraints) for point in points]
        return self

    def _model(self, data: _Data, point: Point) -> Model:
        return Model(data.labels, data.encoder, point.chain, self.constraints).compact()

    def _start(self, data: _Data, learner: Learner, dev: Any) -> State:
        """The supervised solution; from here on the weights of labelled sequences include C."""
        which = np.flatnonzero(data.has_labels)
        batch, weight = data.task.batch.take(which), data.task.weight[which]
        rows = data.task.batch.split(data.task.known)
        known = np.concatenate([rows[i] for i in which])
        start = replace(learner, tol=min(self.tol, START_TOL))
        self.C_, self.search_ = start.choose_C(self.C, batch, known, weight, dev)
        data.task.weight[data.has_labels] *= self.C_
        solution = start.learn(batch, known, self.C_ * weight)
        return State(solution.state.chain)

    def _schedule(self, task: Task) -> list[float]:
        """The C_u per sequence."""
        n_free = max(len(task.free), 1)
        if isinstance(self.schedule, str) and self.schedule == "printed":
            return [total / n_free for total in PRINTED]
        ratios = RELATIVE if isinstance(self.schedule, str) else self.schedule
        labelled = float(np.delete(task.weight, task.n_fixed + task.free).sum())
        return [float(ratio) * labelled / n_free for ratio in ratios]

    def _finish(self, data: _Data, points: list[Point], judge: Judge, state: State, dev: Pairs | None) -> None:
        best = judge.best(points)
        model = self._model(data, points[best])
        self.model_ = replace(model, constraints=trusted(model, int(data.has_labels.sum()), dev, self.n_jobs))
        self.history_ = state.history
        self.path_ = [{**point.row(), "chosen": i == best} for i, point in enumerate(points)]
        labels = points[best].labels
        names = np.array(data.labels, object)
        if labels is None:
            labels = decode(data.open_batch, points[best].chain, known=data.task.open_known, n_jobs=self.n_jobs)[0]
        rows = [row.tolist() for row in data.open_batch.split(names[labels])] if len(data.open_batch) else []
        self.labels_ = [rows[i] for i in data.task.free]
        self.explanation_ = explain(data, points[0].chain, labels, self.n_jobs)


class _Data:
    """The sequences in the order of `Task`, encoded, and what they came from."""

    def __init__(
        self, labels: tuple[str, ...], encoder: Encoder, task: Task, open_X: list[Any], has_labels: np.ndarray
    ) -> None:
        self.labels, self.encoder, self.task, self.open_X, self.has_labels = labels, encoder, task, open_X, has_labels
        self.open_batch = task.batch.take(np.arange(task.n_fixed, len(task.batch)))

    @classmethod
    def of(
        cls,
        estimator: AnnealedSSVM,
        X: Sequence[Any],
        y: Sequence[Any],
        unlabeled: Sequence[Any] | None,
        sample_weight: Sequence[float] | None,
    ) -> _Data:
        check_data(X, y)
        weight = checked_weights(sample_weight, len(X))
        pool = [] if unlabeled is None else list(unlabeled)
        check_data(pool, [None] * len(pool), name="unlabelled")
        if not any(is_known(row) and w > 0 for row, w in zip(y, weight, strict=True)):
            raise DataError("training data: no sequence has a label" + " and a sample_weight > 0" * (not weight.all()))
        rules = Constraints([]) if estimator.constraints is None else estimator.constraints
        labels = all_labels(y, rules)
        complete = [i for i, row in enumerate(y) if row is not None and None not in row]
        others = np.setdiff1d(np.arange(len(X)), complete).tolist()
        ordered = [X[i] for i in complete + others] + pool
        encoder = Encoder.for_data(ordered, estimator.features)
        batch = encoder.fit(ordered)
        rows = [y[i] for i in complete + others] + [None] * len(pool)
        known = label_codes(rows, batch.lengths.tolist(), labels)
        has_labels = np.array([is_known(row) for row in rows])
        open_X = ordered[len(complete) :]
        task = Task(
            batch=batch,
            n_fixed=len(complete),
            known=known,
            weight=np.concatenate([weight[complete + others], np.ones(len(pool))]),
            free=np.flatnonzero(~has_labels[len(complete) :]),
            tables=(rules if open_X else Constraints([])).compile(open_X, labels),
        )
        return cls(labels, encoder, task, open_X, has_labels)


def _warn_of_overlap(X: Sequence[Any], y: Sequence[Any], dev: Pairs | None) -> None:
    if dev is None:
        return
    seen = {repr(list(x)) for x, row in zip(X, y, strict=True) if is_known(row)}
    n = sum(repr(list(x)) in seen for x in dev[0])
    if n:
        warnings.warn(f"{n} of {len(dev[0])} dev sequences are in the training data too", stacklevel=3)
