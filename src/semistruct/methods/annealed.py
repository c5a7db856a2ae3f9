"""The annealed structural SVM: labels, a pool and rules together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from semistruct import params
from semistruct.chain.inference import ChainWeights
from semistruct.engines.cluster import shared
from semistruct.engines.shards import AnyMatcher
from semistruct.engines.sharing import Sharing
from semistruct.fitting.annealing import Alone, MatchByScore, MatchBySlack, Way, anneal
from semistruct.fitting.crossing import Crossed
from semistruct.fitting.margin import MarginPath
from semistruct.fitting.points import Judge
from semistruct.fitting.runs import Run
from semistruct.fitting.standing import Line
from semistruct.fitting.state import State
from semistruct.fitting.task import Task
from semistruct.fitting.trust import Trust
from semistruct.methods.pr import PosteriorRegularization
from semistruct.params import seed_from
from semistruct.rules import Rules
from semistruct.switching.matching import Moves

RELATIVE = (1.0, 10.0, 30.0)
PRINTED = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
PART_OF_POOL = 500  # sequences from which the other start is learned
OTHER_C = 1.0  # of the other start without dev data: a closer fit looks better by known mistakes than it is
QUICK = {"schedule": [1.0, 10.0], "rounds": 2}


@dataclass(eq=False, repr=False)
class AnnealedSSVM(MarginPath):
    """Annealed structural SVM, a large-margin chain model from labelled sequences, a pool and rules:

        min_{w, y}  1/2 ||w||^2 + C sum_i H_i(w) + C_u sum_j H_j(w; y_j) + penalty(y)

    over the weights w and the labels y of the pool, H being the structured hinge loss of `SSVM`.  It
    starts from the supervised solution and alternates between matching labels to model and rules and learning, while
    C_u grows along a schedule.  With up to 10 labelled sequences it does so a second time, from a model that posterior
    regularisation has learned from a part of the pool (see `PosteriorRegularization`), and takes what is better: on
    dev data if there is some, else by known mistakes.

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
        thousand positions.  With match_by="slack", "printed" is the algorithm of the paper to the letter: what it
        finds is kept even if it raises the objective
    engine : who does the work: None for this process, "ray" for Ray on this machine, "ray://HOST:PORT" for a cluster.
        Each process of Ray, called an actor, matches and learns its own part of the sequences; with one actor the
        result is the same as without Ray
    actors : with an engine, the number of actors; None for one per core, but at most one per 2,500
        sequences of the pool
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
    few = 10
    samples = True
    axis = "C_u"
    axis_text = "weight of each sequence of the pool"
    checks: ClassVar[params.Checks] = {
        "schedule": params.the_word("relative") | params.the_word("printed") | params.growing,
        "moves": params.the_word("spans") | params.the_word("tokens") | params.the_word("printed"),
        "engine": params.none | params.an_engine,
        "actors": params.none | params.at_least_one,
        "match_by": params.the_word("crossed") | params.the_word("score") | params.the_word("slack"),
    }

    schedule: str | Sequence[float] = "relative"
    rounds: int = 3
    moves: str = "spans"
    match_by: str = "crossed"
    engine: str | None = None
    actors: int | None = None

    def _trusted(self, trust: Trust, strength: float) -> Rules:
        return trust.weighted(strength)

    def _stages(self, task: Task) -> list[float]:
        """The C_u per sequence."""
        if isinstance(self.schedule, str) and self.schedule == "printed":
            return [task.share_of_free(total) for total in PRINTED]
        ratios = RELATIVE if isinstance(self.schedule, str) else self.schedule
        return self._relative_stages(task, ratios)

    def _other_start(self, sample: Task, judge: Judge, believed: Trust, strength: float) -> ChainWeights | None:
        """A model of posterior regularisation, learned with a part of the pool: it knows what only rules tell of."""
        seed = seed_from(self.random_state)
        some = np.random.default_rng(seed).permutation(sample.free)[:PART_OF_POOL]
        rest = np.setdiff1d(np.arange(sample.n_open), sample.free)
        C = OTHER_C if judge.dev is None else "auto"
        other = PosteriorRegularization(C=C, features=self.features, n_jobs=self.n_jobs, random_state=seed)
        return other.walked(sample.part(np.sort(np.concatenate([rest, some]))), judge, believed, strength)

    def _walk(self, task: Task, run: Run) -> Iterator[State]:
        learner, moves = self.learner(len(task.labels)), cast(Moves, self.moves)
        matcher = MatchBySlack(moves, self.n_jobs) if self.match_by == "slack" else MatchByScore(moves, self.n_jobs)
        rounds = min(self.rounds, run.most_rounds)
        if self.engine is None:
            yield from anneal(task, learner, run, rounds, C=self.C_, way=self._way(task, rounds, matcher))
            return
        with shared(self.engine, self.actors, task, learner, matcher) as (together, members):
            yield from anneal(task, together, run, rounds, C=self.C_, way=self._way(task, rounds, members))

    def _way(self, task: Task, rounds: int, matcher: Sharing | AnyMatcher) -> Way:
        """With several models if labels are found more than once, and can be searched for."""
        if self.match_by == "crossed" and rounds > 1 and not isinstance(matcher, MatchBySlack):
            crossed = Crossed.of(task, matcher)
            if matcher.searches(task) and crossed.is_large:
                return crossed
        return Alone(matcher)
