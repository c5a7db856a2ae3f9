"""Transductive structural SVM by continuous optimisation: the labels of unlabelled data are eliminated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from semistruct import params
from semistruct.batch import UNKNOWN, SequenceBatch
from semistruct.chain.inference import ChainWeights, decode, decode_k
from semistruct.constraints import Constraints
from semistruct.constraints.events import TokenEvent
from semistruct.constraints.rules import Proportion
from semistruct.methods.path import SELECT, PathMethod, Run, Watch
from semistruct.methods.state import State
from semistruct.methods.supervised import Learned, filled
from semistruct.methods.task import Task
from semistruct.solvers.working_sets import Shares, SmoothObjective, WorkingSets, flat, unflat

DEFAULT_C = 10.0
RELATIVE = (0.1, 0.3, 1.0)
START_ROUNDS = 10  # of growing the working sets, for the supervised model
MEMORY = 10  # of L-BFGS


def minimised(objective: SmoothObjective, w: np.ndarray, tol: float, max_steps: int) -> tuple[np.ndarray, float]:
    """(w, J(w)) by L-BFGS."""
    options = {"maxiter": max_steps, "ftol": tol, "gtol": 0.0, "maxcor": MEMORY}
    found = minimize(objective, w, jac=True, method="L-BFGS-B", options=options)
    return found.x, float(found.fun)


def grow(sets: WorkingSets, chain: ChainWeights, n_jobs: int | None) -> int:
    """Add the two best labellings of every sequence; returns how many were new."""
    labels, scores = decode_k(sets.batch, chain, 2, n_jobs=n_jobs)
    return sets.add(labels[0]) + (sets.add(labels[1]) if np.isfinite(scores[:, 1]).all() else 0)


@dataclass(frozen=True)
class SmoothLearner:
    """Huber's hinge of the true labelling against the best other one, for labelled sequences."""

    grid: ClassVar[tuple[float, ...]] = (0.3, 1.0, 3.0, 10.0, 30.0)
    default_C: ClassVar[float] = DEFAULT_C

    n_labels: int
    tol: float
    max_steps: int
    n_jobs: int | None = None

    def learn(
        self, batch: SequenceBatch, known: np.ndarray, weight: np.ndarray, *, rough: bool = False, start: Any = None
    ) -> Learned:
        """Unknown labels are filled in once, by a first model."""
        target, history = filled(batch, known), list[dict[str, Any]]()
        w = np.zeros(batch.n_features * self.n_labels + batch.n_kinds * self.n_labels**2) if start is None else start
        for _ in range(1 if (known != UNKNOWN).all() else 2):
            sets = WorkingSets(batch, self.n_labels)
            sets.put(target, np.ones(len(batch), bool))
            stop = "max_rounds"
            for _ in range(START_ROUNDS):
                if not grow(sets, unflat(w, batch, self.n_labels), self.n_jobs):
                    stop = "converged"
                    break
                objective = SmoothObjective(sets, np.ones(len(batch), bool), weight, None)
                w, value = minimised(objective, w, self.tol, self.max_steps)
                history.append({"round": len(history), "objective": value, "labellings": int(objective.there.sum())})
            target = decode(batch, unflat(w, batch, self.n_labels), known=known, n_jobs=self.n_jobs)[0]
        return Learned(unflat(w, batch, self.n_labels), w, history, stop)


class ContinuousTransductiveSSVM(PathMethod):
    """Large-margin chain model in which unlabelled sequences should be labelled one way or another, but clearly:

        min_w  1/2 ||w||^2 + C sum_i loss(m_i) + C_u { sum_j loss_u(m_j) + balance sum_y (share_y - target_y)^2 }

    m_i is the margin of the true labelling over the best other one, m_j that of the best labelling over the runner-up.
    Both losses are smooth (`semistruct.solvers.working_sets`), so that a gradient method finds w; the labels of
    unlabelled data are no variables (after Zien, Brefeld and Scheffer, ICML 2007).  The labellings that compete are
    those of working sets, which grow by the two best ones of each sequence.  C_u grows along a schedule.

    Shares of labels are held near those of the labelled data, or where corpus-level `proportion` rules want them.  No
    other rule has a part in learning; as with `SSVM`, they serve in prediction.
    Partly labelled sequences count as labelled ones, their unknown labels filled in at the start of each stage.

    Parameters
    ----------
    C : weight of the losses of labelled sequences, or "auto": the best of a grid on dev data, else by cross-validation
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    constraints : the rules
    schedule : growing weights of all unlabelled data together, relative to that of all labelled data
    balance : weight of the shares of labels, per unlabelled sequence
    rounds : of growing the working sets and learning for each weight; fewer if no labelling is new
    max_steps : of the gradient method in each round
    select : as for `AnnealedSSVM`
    tol : the relative decrease of the objective at which the gradient method ends
    n_jobs : threads, None for all; does not change the result
    random_state : seed of the folds in which C is chosen

    Attributes
    ----------
    model_, labels_, C_, search_, path_, explanation_, stop_ : as for `AnnealedSSVM`
    history_ : list of dicts, one per round: C_u, round, objective (on the working sets), broken, switched, labellings
    """

    axis: ClassVar = "C_u"
    axis_text: ClassVar = "weight of each unlabelled sequence"
    rules: ClassVar = {
        "C": params.positive | params.the_word("auto"),
        "features": params.features,
        "constraints": params.none | params.constraints,
        "schedule": params.growing,
        "balance": params.positive,
        "rounds": params.at_least_one,
        "max_steps": params.at_least_one,
        "select": SELECT,
        "tol": params.positive,
        "n_jobs": params.none | params.at_least_one,
        "random_state": params.seed,
    }

    def __init__(
        self,
        C: float | str = DEFAULT_C,
        features: str | Sequence[str] = "default",
        constraints: Constraints | None = None,
        schedule: Sequence[float] = RELATIVE,
        balance: float = 100.0,
        rounds: int = 5,
        max_steps: int = 100,
        select: str = "auto",
        tol: float = 1e-5,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.C = C
        self.features = features
        self.constraints = constraints
        self.schedule = schedule
        self.balance = balance
        self.rounds = rounds
        self.max_steps = max_steps
        self.select = select
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def learner(self, n_labels: int, watch: Watch | None = None) -> SmoothLearner:
        return SmoothLearner(n_labels, self.tol, self.max_steps, self.n_jobs)

    def _stages(self, task: Task) -> list[float]:
        """The C_u per sequence."""
        labelled = self.C_ * float(task.labelled[2].sum())
        return [float(ratio) * labelled / max(len(task.free), 1) for ratio in self.schedule]

    def _walk(self, task: Task, run: Run) -> Iterator[State]:
        state, batch, Y = run.state, task.batch, len(task.labels)
        while state.stage < len(run.stages):
            C_u = run.stages[state.stage]
            weight = task.weights_at(self.C_, C_u)
            shares = wanted_shares(task, self.balance * C_u * max(len(task.free), 1))
            sets = _kept_sets(task, state)
            while state.round < self.rounds and not state.settled:
                if not sets.labels:
                    target = decode(batch, state.chain, known=task.known, n_jobs=self.n_jobs)[0]
                    sets.put(target, np.ones(len(batch), bool))
                new = grow(sets, state.chain, self.n_jobs)
                objective = SmoothObjective(sets, task.has_labels, weight, shares)
                w, value = minimised(objective, flat(state.chain), self.tol, self.max_steps)
                state.chain = unflat(w, batch, Y)
                old, state.labels = state.labels, decode(task.opened, state.chain, known=task.open_known)[0]
                run.note(
                    "learn",
                    self.rounds,
                    objective=value,
                    broken=int(np.sum(task.tables.broken(state.labels, self.n_jobs).any(axis=1))),
                    switched=0 if old is None else int(np.sum(state.labels != old)),
                    labellings=int(objective.there.sum()),
                )
                state.extra = {"labels": np.array(sets.labels), "present": np.array(sets.present)}
                state.round, state.settled = state.round + 1, new == 0
                run.save()
            yield state
            state.extra = {}
            state.next_stage()


def _kept_sets(task: Task, state: State) -> WorkingSets:
    """The working sets of the state, empty ones at the start of a stage."""
    sets = WorkingSets(task.batch, len(task.labels))
    for labels, present in zip(state.extra.get("labels", ()), state.extra.get("present", ()), strict=True):
        sets.put(labels, present)
    return sets


def wanted_shares(task: Task, balance: float) -> Shares:
    """Those of corpus-level `proportion` rules, else those of the labelled data."""
    low, high = np.full(len(task.labels), -np.inf), np.full(len(task.labels), np.inf)
    for rule in task.tables.rules:
        if isinstance(rule, Proportion) and rule.level == "corpus":
            for term in rule.terms(task.labels):
                assert isinstance(term.event, TokenEvent)
                y = task.labels.index(next(iter(term.event.labels)))
                low[y], high[y] = term.low, term.high
    if np.isneginf(low).all() and np.isposinf(high).all():
        known = task.known[task.known != UNKNOWN]
        low = high = np.bincount(known, minlength=len(task.labels)) / len(known)
    return Shares(low, high, balance)
