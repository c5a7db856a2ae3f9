"""Supervised learning from labels of which some may be unknown: learners, and the estimators that are no more than one.

A learner finds the weights of a chain model; it is what semi-supervised methods build on, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from semistruct.batch import UNKNOWN, SequenceBatch, ranges
from semistruct.chain.inference import ChainWeights, decode
from semistruct.corpus import refuse_corpus
from semistruct.errors import DataError
from semistruct.features import Encoder
from semistruct.fitting.choice import Known, choose_C
from semistruct.fitting.labeller import Pairs, SequenceLabeller, all_labels, check_data, is_known, label_codes
from semistruct.fitting.trust import trusted
from semistruct.model import Model
from semistruct.params import check_params
from semistruct.rules import Rules
from semistruct.solvers.sdm import DualState, Problem, Solution, solve

DEFAULT_C = 0.5
ROUGH_TOL = 0.05  # the relative gap at which accuracies are compared when C is chosen
FILL_TOL = 0.1  # and at which unknown labels are filled in for a start
COMPLETIONS = 10  # rounds of filling in unknown labels and learning again


@dataclass(frozen=True)
class Learned:
    """The weights; `start` lets the same learner go on from there."""

    chain: ChainWeights
    start: Any
    history: list[dict[str, Any]]
    stop: str


class Learner(Protocol):
    """Finds weights for n_labels labels; grid and default_C are for the search for C."""

    grid: ClassVar[tuple[float, ...]]
    default_C: ClassVar[float]

    @property
    def n_labels(self) -> int: ...

    def learn(
        self, batch: SequenceBatch, known: np.ndarray, weight: np.ndarray, *, rough: bool = False, start: Any = None
    ) -> Learned:
        """Learn labels `known` (n_tokens,), some of which may be UNKNOWN; weight (n,) multiplies the losses.

        rough  no more exact than is needed to compare parameters
        """
        ...


@runtime_checkable
class MixtureLearner(Protocol):
    """A learner that can learn several labellings of a sequence at once, without copies of it."""

    def learn_mixture(
        self, batch: SequenceBatch, labellings: np.ndarray, share: np.ndarray, weight: np.ndarray
    ) -> Learned: ...


def learn_mixture(
    learner: Learner, batch: SequenceBatch, labellings: np.ndarray, share: np.ndarray, weight: np.ndarray
) -> Learned:
    """Learn several labellings (K, n_tokens) of each sequence; share (n, K) says how much each of them counts.

    A learner that cannot do that gets copies of the sequences, which disagree with each other and are learned roughly.
    """
    if isinstance(learner, MixtureLearner):
        return learner.learn_mixture(batch, labellings, share, weight)
    which, row = np.nonzero(share)
    tokens = ranges(batch.offsets[which], batch.lengths[which])
    labels = labellings[np.repeat(row, batch.lengths[which]), tokens]
    return learner.learn(batch.take(which), labels, share[which, row] * weight[which], rough=True)


@dataclass(frozen=True)
class MarginLearner:
    """The structural SVM, by the sequential dual method."""

    grid: ClassVar[tuple[float, ...]] = (0.03, 0.1, 0.3, 1.0)
    default_C: ClassVar[float] = DEFAULT_C

    n_labels: int
    tol: float
    max_passes: int
    seed: int
    n_jobs: int | None = None
    watch: Callable[[Any], None] | None = None

    def solve(self, problem: Problem, *, tol: float | None = None, start: DualState | None = None) -> Solution:
        """Train on complete labels."""
        return solve(
            problem,
            tol=tol or self.tol,
            max_passes=self.max_passes,
            start=start,
            seed=self.seed,
            n_jobs=self.n_jobs,
            watch=self.watch,
        )

    def learn(
        self, batch: SequenceBatch, known: np.ndarray, weight: np.ndarray, *, rough: bool = False, start: Any = None
    ) -> Learned:
        """Unknown labels are filled in, so as to agree with the known ones, and learned in turns."""
        cost, tol = (known != UNKNOWN).astype(float), max(self.tol, ROUGH_TOL) if rough else self.tol
        target, complete = filled(batch, known), bool(cost.all())
        for level in (tol,) if complete else (max(tol, FILL_TOL), tol):
            for _ in range(COMPLETIONS):
                solution = self.solve(Problem(batch, self.n_labels, target, weight, cost), tol=level, start=start)
                start = solution.state
                better = target if complete else decode(batch, start.chain, known=known, n_jobs=self.n_jobs)[0]
                if np.array_equal(better, target):
                    break
                target = better
        history = [asdict(record) for record in solution.history]
        return Learned(solution.state.chain, solution.state, history, solution.stop)


class SupervisedMethod(SequenceLabeller):
    """Base of the supervised methods: a method says what its learner is (`learner`).

    Attributes
    ----------
    model_ : labels, features and weights
    C_ : the C that was used
    search_ : with C="auto", the token accuracy seen for each C
    history_ : list of dicts, one per record of the learner
    stop_ : why the learner stopped: "converged" or the limit it came to
    """

    C: float | str
    features: str | Sequence[str]
    rules: Rules | None
    random_state: Any

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        dev: Pairs | None = None,
        sample_weight: Sequence[float] | None = None,
        watch: Callable[[Any], None] | None = None,
    ) -> Self:
        """Learn from sequences X with labels y.

        dev            (X, y) to choose C on
        sample_weight  one factor of C per sequence
        watch          called with every record of the learner as it is made, those of the search for C included
        """
        check_params(self)
        check_data(X, y)
        weight = checked_weights(sample_weight, len(X))
        keep = [i for i, labels in enumerate(y) if is_known(labels) and weight[i] > 0]
        if not keep:
            raise DataError("training data: no sequence has a label" + " and a sample_weight > 0" * (not weight.all()))
        weight = weight[keep]
        X, y = [X[i] for i in keep], [y[i] for i in keep]
        labels = all_labels(y, self.rules)
        encoder = Encoder.for_data(X, self.features)
        batch = encoder.fit(X)
        known = label_codes(y, batch.lengths.tolist(), labels)
        learner = self.learner(len(labels), watch)
        self.C_, self.search_ = choose_C(
            self.C, learner, (batch, known), encoded(dev, encoder, labels), weight, seed_from(self.random_state),
            self.n_jobs,
        )  # fmt: skip
        learned = learner.learn(batch, known, self.C_ * weight)
        self.history_, self.stop_ = learned.history, learned.stop
        model = Model(labels, encoder, learned.chain, self.rules).compact()
        self.model_ = replace(model, rules=trusted(model, len(y), dev, self.n_jobs))
        return self

    def learner(self, n_labels: int, watch: Callable[[Any], None] | None = None) -> Learner:
        raise NotImplementedError


def filled(batch: SequenceBatch, known: np.ndarray) -> np.ndarray:
    """Unknown labels replaced by the nearest known one of the sequence, the left one if two are equally near."""
    out = known.copy()
    for i in range(len(batch)):
        row = out[batch.offsets[i] : batch.offsets[i + 1]]
        places = np.flatnonzero(row != UNKNOWN)
        if len(places) < len(row):
            distance = np.abs(np.arange(len(row))[:, None] - places[None, :])
            row[:] = row[places[np.argmin(distance, axis=1)]]
    return out


def encoded(dev: Pairs | None, encoder: Encoder, labels: Sequence[str]) -> Known | None:
    """Dev data as the learners see it."""
    if dev is None:
        return None
    refuse_corpus(dev, name="dev")
    check_data(*dev, name="dev")
    batch = encoder.transform(dev[0])
    return batch, label_codes(dev[1], batch.lengths.tolist(), labels)


def checked_weights(sample_weight: Sequence[float] | None, n: int) -> np.ndarray:
    """One factor of C per sequence."""
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
    if weight.shape != (n,):
        raise DataError(f"sample_weight has shape {weight.shape}, expected one number for each of {n} sequences")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise DataError("sample_weight must hold finite numbers >= 0")
    return weight


def seed_from(random_state: Any) -> int:
    """The seed that a `random_state` stands for."""
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31))
