"""The annealed structural SVM: labels, a pool and rules together.

    J(w, y) = 1/2 ||w||^2 + sum_i C_i H_i(w) + C_u sum_j slack_j(w, y_j) + penalty(y)

is lowered in turns over the labels y of the pool (`PoolMatcher`) and the weights w (`OneModel`), while C_u grows.  With
one model no half-step raises J; only the moves that the paper prints may raise it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple, cast

import numpy as np

from semistruct.base import parameters as params
from semistruct.core.batch import UNKNOWN
from semistruct.core.chain.inference import ChainWeights, decode
from semistruct.learning import settings
from semistruct.learning.choice import Choice, Start
from semistruct.learning.declarations import Line
from semistruct.learning.fitting import Fit
from semistruct.learning.learners import MarginLearner
from semistruct.learning.path import MarginPath, Setting
from semistruct.learning.rounds import Round, Run, State
from semistruct.learning.solvers.sdm import DualState, Problem
from semistruct.learning.task import Task
from semistruct.learning.trust import Trust
from semistruct.methods.projected import PosteriorRegularization
from semistruct.rules import Rules
from semistruct.rules.search import Aim, find_best
from semistruct.rules.switching import Matcher, Matching, Moves, better_of

RELATIVE = (1.0, 10.0, 30.0)
PRINTED = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
NO_PART = -1  # of partly labelled sequences, from which all models learn, and of those that weigh nothing
QUICK = {"schedule": [1.0, 10.0], "rounds": 2}


@dataclass(eq=False, repr=False)
class AnnealedSSVM(MarginPath):
    """Annealed structural SVM, a large-margin chain model from labelled sequences, a pool and rules:

        min_{w, y}  1/2 ||w||^2 + C sum_i H_i(w) + C_u sum_j H_j(w; y_j) + penalty(y)

    over the weights w and the labels y of the pool, H being the structured hinge loss of `SSVM` (Balamurugan, Shevade
    and Sundararajan 2013).  It starts from the supervised solution and alternates between matching labels to model and
    rules and learning, while C_u grows along a schedule.  With up to 10 labelled sequences it does so a second time,
    from a model that posterior regularisation has learned from a part of the pool (see `PosteriorRegularization`), and
    takes what is better: on dev data if there is some, else by known mistakes.

    Parameters
    ----------
    schedule : growing weights of the whole pool: a list, relative to the weight of all labelled data;
        "relative" for a good one; "printed" for the absolute 0.0001, 0.0003, ..., 1 of the paper
    rounds : of matching and learning for each weight; stops early when the labels no longer change
    match_by : "crossed" learns two models, each from one half of the pool, and takes the best labels of each half by
        the other's model and the rules; the model is the mean of both.  "score" takes the best labels by the one
        model and the rules, where that does not raise the objective, and "slack" lowers the objective by switching
        labels, starting from the best ones by the model.  With a single round, functions, rules about the corpus,
        moves other than "spans" or a pool of fewer than 60, "crossed" is "score"
    moves : of switching: "spans", or single labels: "tokens" until nothing gets better, "printed" in one pass over a
        thousand positions, as the paper prints it.  With match_by="slack", what "printed" finds is kept even if it
        raises the objective
    others : those of `MarginPath`

    Attributes
    ----------
    those of `PathMethod`, and
    history_ : list of dicts, one per half-step: C_u, round, step, objective, penalty, broken, switched, ...
    """

    name = "annealed"
    lines = (
        Line("annealed SSVM", 40, quick=QUICK),
        Line("annealed SSVM, our rules", 41, "-ours", rules="ours", quick=QUICK),
    )
    axis = "C_u"
    axis_text = "weight of each sequence of the pool"
    checks: ClassVar[params.Checks] = {
        "schedule": params.the_word("relative") | params.the_word("printed") | params.growing,
        "moves": params.the_word("spans") | params.the_word("tokens") | params.the_word("printed"),
        "match_by": params.the_word("crossed") | params.the_word("score") | params.the_word("slack"),
    }

    schedule: str | Sequence[float] = "relative"
    rounds: int = 3
    moves: str = "spans"
    match_by: str = "crossed"

    def _trusted(self, trust: Trust, strength: float) -> Rules:
        return trust.weighted(strength)

    def _stages(self, task: Task) -> list[float]:
        """The C_u per sequence."""
        if isinstance(self.schedule, str) and self.schedule == "printed":
            return [task.share_of_free(total) for total in PRINTED]
        ratios = RELATIVE if isinstance(self.schedule, str) else self.schedule
        return self._relative_stages(task, ratios)

    def _rounds(self) -> int:
        return self.rounds

    def _round(self, task: Task, run: Run) -> Round:
        """Algorithm 1 of the paper, by its lines.

        Lines 1 and 2, the input, are the task and C_; line 3, the limit of rounds, is `rounds`; line 4, the supervised
        model, is in run.state.  Line 5, the loop over C_u, and lines 6, 7 and 10 to 12, that over rounds, are
        `semistruct.learning.rounds.walk`.
        """
        state, models = run.state, self._models(task, run)
        fixed, cost = task.known[: task.first_open], np.ones(task.batch.n_tokens, np.int8)

        def one_round(C_u: float) -> bool:
            weight = task.weights_at(self.C_, C_u)
            matching = models.match(state, weight[task.n_fixed :])  # line 8: y by constraint matching
            old = task.decoded(state.chain, self.n_jobs) if state.labels is None else state.labels
            switched = int(np.sum(matching.labels != old))
            state.labels = old = matching.labels  # the old ones would take room while learning
            costs = {
                "sequences": task.n_open,
                "penalty": matching.penalty,
                "broken": task.n_broken(matching.labels, self.n_jobs),
                "switched": switched,
            }
            before = labelled_part(task, state.chain, weight, self.n_jobs) + matching.objective
            run.note("match", before, **costs)
            if switched == 0 and state.round > 0:  # line 11: the labels do not change
                return True
            target = np.concatenate([fixed, matching.labels])
            problem = Problem(task.batch, len(task.labels), target, weight, cost)
            learned = models.learn(problem, state, before - matching.penalty)  # line 9: w with these labels
            run.note("learn", learned.objective + matching.penalty, gap=learned.gap, **costs)
            return False

        return one_round

    # ---- beyond the paper

    def _models(self, task: Task, run: Run) -> OneModel:
        """Several models that label for each other, if labels are found more than once and can be searched for."""
        by = "slack" if self.match_by == "slack" else "score"
        matcher = PoolMatcher(task, by, cast(Moves, self.moves), self.n_jobs)
        learner, crossed = self.learner(len(task.labels)), None
        if self.match_by == "crossed" and min(self.rounds, run.most_rounds) > 1:
            crossed = CrossedModels.of(matcher, learner)
        return crossed or OneModel(matcher, learner)

    def _sample(self, task: Task, rules: Rules | None, seed: int) -> Task:
        """A path with a sample of a large pool; the stage that is chosen is then learned with all of it."""
        return task.sample(rules, seed)

    def _second_start(self, fit: Fit, setting: Setting) -> Callable[[], Start | None] | None:
        """A second path, from a model that the rules have taught, if labels are few."""
        wanted, few = fit.effort.start, 0 < fit.data.n_labelled <= settings.SECOND_START_UNTIL
        if wanted == "better" and (self.rules is None or not few or setting.judge.select == "last"):
            return None
        return None if wanted == "labels" else partial(self._taught_by_rules, fit.seed, setting)

    def _taught_by_rules(self, seed: int, setting: Setting) -> Start | None:
        """A model of posterior regularisation, learned with a part of the pool: it knows what only rules tell of."""
        sample, judge = setting.sample, setting.judge
        some = np.random.default_rng(seed).permutation(sample.free)[: settings.SECOND_START_POOL]
        rest = np.setdiff1d(np.arange(sample.n_open), sample.free)
        part = sample.part(np.sort(np.concatenate([rest, some])))
        C = settings.SECOND_START_C if judge.dev is None else "auto"
        other = PosteriorRegularization(C=C, features=self.features, n_jobs=self.n_jobs, random_state=seed)
        chain = other.best_on(part, judge, setting.trust.believed(), setting.strength)
        return None if chain is None else Start(chain, Choice(self.C_, self.search_, []))


# ---- the half-steps


@dataclass(frozen=True)
class PoolMatcher:
    """Finds labels for the open sequences of a task, and prices them.

    by     "slack" lowers J by switching labels, starting from the best of the model.  "score" takes the labels with the
           highest score less penalty, as far as a narrow search finds them: these move more freely, and end up nearer
           to the truth.  Rules about the corpus and functions cannot be searched for: there, and where single labels
           are to be switched, labels are switched as long as that raises score less penalty
    moves  of switching
    """

    task: Task
    by: str
    moves: Moves
    n_jobs: int | None

    def match(self, chain: ChainWeights, scale: np.ndarray, old: np.ndarray | None) -> Matching:
        """Labels, and what they cost; old ones stay where new ones cost more.  As the paper prints it, none stay.

        scale  (n_open,): C_u of each sequence
        """
        if self.by == "slack":
            new = self._switcher.match(chain, scale)
        elif self.searches:
            new = self.price(chain, scale, self.search(chain, scale, np.arange(self.task.n_open)))
        else:
            new = self.price(chain, scale, replace(self._switcher, loss=0.0).match(chain, scale).labels)
        if old is None or (self.by == "slack" and self.moves == "printed"):
            return new
        before = self.price(chain, scale, old)
        if self.task.tables.has_corpus_rules:  # what some sequences take, others would miss
            return new if new.objective <= before.objective else before
        return better_of(new, before, self.task.opened.lengths)

    @property
    def searches(self) -> bool:
        """Whether the labels can be searched for, one sequence at a time."""
        tables = self.task.tables
        return self.by == "score" and self.moves == "spans" and not tables.has_corpus_rules and not tables.functions

    def search(self, chain: ChainWeights, scale: np.ndarray, which: np.ndarray) -> np.ndarray:
        """(open tokens,): labels for some sequences, UNKNOWN for the others."""
        task, width = self.task, settings.MATCH_WIDTH
        labels = np.full(task.opened.n_tokens, UNKNOWN, np.int16)
        for weight in np.unique(scale[which]).tolist():  # those with the same weight together
            some, aim = which[scale[which] == weight], Aim(weight, known=task.open_known)
            found = find_best(task.opened, chain, task.tables, aim, width=width, which=some, n_jobs=self.n_jobs)
            np.maximum(labels, found.labels[0], out=labels)  # UNKNOWN is below every label
        return labels

    def price(self, chain: ChainWeights, scale: np.ndarray, labels: np.ndarray) -> Matching:
        """What labels of the open sequences cost."""
        return self._switcher.price(chain, scale, labels)

    @property
    def _switcher(self) -> Matcher:
        return Matcher(self.task.opened, self.task.tables, self.task.open_known, self.moves, n_jobs=self.n_jobs)


class Outcome(NamedTuple):
    """1/2 ||w||^2 and the losses, and the duality gap that is left in learning (of several models: its mean)."""

    objective: float
    gap: float


@dataclass(frozen=True)
class OneModel:
    """One model labels the pool and learns from all of it; learning never raises J."""

    matcher: PoolMatcher
    learner: MarginLearner

    def match(self, state: State, scale: np.ndarray) -> Matching:
        """Labels for the open sequences, and what they cost with the weights of the state; scale: their C_u."""
        return self.matcher.match(state.chain, scale, state.labels)

    def learn(self, problem: Problem, state: State, most: float) -> Outcome:
        """New weights for the state; `most` is the objective with the old ones."""
        solution = self.learner.solve(problem, start=DualState.from_arrays(state.extra) or state.chain)
        if solution.objective <= most:
            state.chain = solution.chain
        state.extra = solution.state.arrays()
        return Outcome(min(solution.objective, most), solution.gap)


def labelled_part(task: Task, chain: ChainWeights, weight: np.ndarray, n_jobs: int | None) -> float:
    """1/2 ||w||^2 + sum_i C_i H_i(w) over the sequences that have all their labels."""
    batch, fixed = task.batch.take(np.arange(task.n_fixed)), task.known[: task.first_open]
    bonus = np.ones((batch.n_tokens, chain.n_labels))
    bonus[np.arange(batch.n_tokens), fixed] = 0.0
    worst = decode(batch, chain, bonus=bonus, n_jobs=n_jobs)[1]
    own = decode(batch, chain, known=fixed, n_jobs=n_jobs)[1]
    return 0.5 * chain.norm2 + float(weight[: task.n_fixed] @ (worst - own))


# ---- beyond the paper


@dataclass(frozen=True)
class CrossedModels(OneModel):
    """The pool is cut into parts, and each is labelled by a model that has not learned from it.

    A model that labels what it has learned from confirms its own mistakes.  Here there are as many models as parts:
    each learns from the labelled sequences and from all parts but one, which then weigh as much as the whole pool.  The
    model of a stage is their mean.  J of the mean and of the labels is recorded as with one model, but it may rise:
    labels are not chosen to lower it.

    part  (n_open,): the part of each open sequence, left to chance but always the same, also if a run is resumed
    """

    part: np.ndarray

    @classmethod
    def of(cls, matcher: PoolMatcher, learner: MarginLearner) -> CrossedModels | None:
        """None if labels cannot be searched for, or there are not enough sequences in the pool for several parts."""
        task = matcher.task
        part, counted = np.full(task.n_open, NO_PART), task.free[task.weight[task.n_fixed + task.free] > 0]
        if not matcher.searches or len(counted) < settings.CROSSED_FROM:
            return None
        part[np.random.default_rng(0).permutation(counted)] = np.arange(len(counted)) % settings.CROSSED
        return cls(matcher, learner, part)

    def match(self, state: State, scale: np.ndarray) -> Matching:
        """Labels that need not lower J; those of partly labelled sequences are by the mean."""
        models = dict(enumerate(state.models))
        found = [
            self.matcher.search(models.get(k, state.chain), scale, np.flatnonzero(self.part == k))
            for k in np.unique(self.part).tolist()
        ]
        return self.matcher.price(state.chain, scale, np.max(found, axis=0))  # UNKNOWN is below every label

    def learn(self, problem: Problem, state: State, most: float) -> Outcome:
        """All models, and their mean."""
        task = self.matcher.task
        weights = [self._weight_without(k, problem.weight) for k in range(settings.CROSSED)]
        problems = [replace(problem, weight=weight) for weight in weights]
        found, state.extra = self.learner.solve_each(problems, state.extra, state.chain)
        state.models = [solution.chain for solution in found]
        tokens, trans = zip(*((chain.tokens, chain.trans) for chain in state.models), strict=True)
        state.chain = ChainWeights(np.mean(tokens, axis=0), np.mean(trans, axis=0))
        scale, labels = problem.weight[task.n_fixed :], problem.target[task.first_open :]
        priced = self.matcher.price(state.chain, scale, labels)
        fixed = labelled_part(task, state.chain, problem.weight, self.learner.n_jobs)
        gap = sum(solution.gap for solution in found) / settings.CROSSED
        return Outcome(fixed + priced.objective - priced.penalty, gap)

    def _weight_without(self, k: int, weight: np.ndarray) -> np.ndarray:
        """(n,): the weights of the losses where part k weighs nothing, and the other parts weigh as much as all."""
        first = self.matcher.task.n_fixed
        out, open_ = weight.copy(), weight[first:]
        pool, others = self.part != NO_PART, (self.part != NO_PART) & (self.part != k)
        out[first:] *= np.where(pool, others * open_[pool].sum() / open_[others].sum(), 1.0)
        return out
