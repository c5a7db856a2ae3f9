"""Annealing with shards: what the one who has all of the task says to them, and makes of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from semistruct.chain.inference import ChainWeights
from semistruct.engines.shards import AnyMatcher, Weights
from semistruct.fitting.annealing import MatchByScore
from semistruct.fitting.learners import MarginLearner
from semistruct.fitting.state import State
from semistruct.fitting.task import Task
from semistruct.solvers.sdm import Problem, Solution, solve
from semistruct.switching.matching import Matching


class Members(Protocol):
    """Those who have the shards, wherever they are."""

    def __len__(self) -> int: ...

    def ask(self, method: str, *args: Any, each: Sequence[tuple[Any, ...]] = ()) -> list[Any]:
        """Call a method of every `Shard` with these arguments, and those for each, at the same time."""
        ...

    def settle(self) -> list[dict[str, np.ndarray]]:
        """The dual variables of all; whoever is lost later comes back with them, and repeats what it did since."""
        ...


SHARD = 2500  # open sequences: with fewer in each shard, learning takes many rounds


def worthwhile(n_open: int, cores: int) -> int:
    """How many shards to make of so many open sequences.

    The fewer they are, the more each of them weighs, and the more rounds it takes until shards agree.
    """
    return max(1, min(cores, n_open // SHARD))


def shares(task: Task, n: int) -> list[np.ndarray]:
    """The sequences of n shards, or of fewer if some would have no open one: labelled and open ones in equal parts."""
    n = max(1, min(n, task.n_open))
    fixed, open_ = np.arange(task.n_fixed), np.arange(task.n_fixed, len(task.batch))
    return [np.concatenate([fixed[k::n], open_[k::n]]) for k in range(n)]


@dataclass
class Sharing:
    """A task whose sequences are with members: matches and learns with their help.

    own      the sequences of each
    matcher  how labels are matched
    rounds   of learning, since `SharedLearner.traffic` was last asked
    sent     bytes of weights that went to and fro in them
    """

    task: Task
    own: list[np.ndarray]
    members: Members
    matcher: AnyMatcher
    rounds: int = 0
    sent: int = 0

    @cached_property
    def opened(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each member its open sequences, by their numbers among these, and the places of their tokens."""
        n_fixed, first = self.task.n_fixed, self.task.first_open
        parts = [own[own >= n_fixed] for own in self.own]
        return [(part - n_fixed, self.task.batch.tokens_of(part) - first) for part in parts]

    def __call__(self, task: Task, state: State, scale: np.ndarray) -> Matching:
        """Like `MatchByScore` and `MatchBySlack`, for rules that are about single sequences."""
        old = state.labels
        each = [(None if old is None else old[place], scale[part]) for part, place in self.opened]
        return self._joined(self.members.ask("match", Weights.of(state.chain), each=each), scale)

    def searches(self, task: Task) -> bool:
        return isinstance(self.matcher, MatchByScore) and self.matcher.searches(task)

    def search(self, task: Task, chain: ChainWeights, scale: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Like `MatchByScore.search`."""
        wanted = np.zeros(len(scale), bool)
        wanted[which] = True
        each = [(scale[part], np.flatnonzero(wanted[part])) for part, _ in self.opened]
        labels = np.empty(self.task.opened.n_tokens, np.int16)
        found = self.members.ask("search", Weights.of(chain), each=each)
        for (_, place), part in zip(self.opened, found, strict=True):
            labels[place] = part
        return labels

    def price(self, task: Task, chain: ChainWeights, scale: np.ndarray, labels: np.ndarray) -> Matching:
        """Like `MatchByScore.price`."""
        each = [(scale[part], labels[place]) for part, place in self.opened]
        return self._joined(self.members.ask("price", Weights.of(chain), each=each), scale)

    def _joined(self, found: list[Matching], scale: np.ndarray) -> Matching:
        """What members have found, as one."""
        out = replace(
            found[0],
            labels=np.empty(self.task.opened.n_tokens, np.int16),
            slack=np.empty(len(scale)),
            instance=np.empty(len(scale)),
            scale=scale,
            switches=sum(one.switches for one in found),
        )
        for one, (part, place) in zip(found, self.opened, strict=True):
            out.labels[place], out.slack[part], out.instance[part] = one.labels, one.slack, one.instance
        return out


class SharedState:
    """The weights, and the dual variables that are with the members."""

    def __init__(self, chain: ChainWeights, members: Members) -> None:
        self.chain, self.members = chain, members

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it as plain arrays, those of each member under its number."""
        found = self.members.settle()
        return {f"{k}.{name}": array for k, arrays in enumerate(found) for name, array in arrays.items()}


class SharedBench:
    """What `sdm.Workbench` is for one process.  Members do the sweeps of a round right after its visit."""

    scalable = True

    def __init__(self, sharing: Sharing, slot: str, problem: Problem, *_: Any) -> None:
        self.sharing, self.members, self.problem = sharing, sharing.members, problem
        self.hinge, self.lost = np.zeros(len(problem.batch)), np.zeros(len(problem.batch))
        self.inner_tol, self.viterbi, self.rounds = 0.0, 0, 0
        self.everyone = np.flatnonzero(problem.weight > 0)
        places = [problem.batch.tokens_of(own) for own in sharing.own]
        each = [
            (slot, problem.target[place], problem.weight[own], problem.cost[place], problem.n_labels)
            for own, place in zip(sharing.own, places, strict=True)
        ]
        parts = self.members.ask("begin", each=each)
        tokens, trans = (np.sum([part[k] for part in parts], axis=0) for k in (0, 1))
        self.state: Any = SharedState(ChainWeights(tokens, trans), self.members)

    def visit(self, which: np.ndarray, gap: np.ndarray) -> None:
        """One round of all members."""
        weights, n = Weights.of(self.state.chain), len(self.members)
        owner, place = np.empty(len(gap), np.int64), np.empty(len(gap), np.int64)
        for k, own in enumerate(self.sharing.own):
            owner[own], place[own] = k, np.arange(len(own))
        mine = [which[owner[which] == k] for k in range(n)]
        self.rounds += 1
        each = [(place[some], self.inner_tol, n, self.rounds) for some in mine]
        found = self.members.ask("improve", weights, each=each)
        self.viterbi += len(which)
        self.sharing.rounds += 1
        self.sharing.sent += 2 * n * weights.nbytes
        for some, (change, part) in zip(mine, found, strict=True):
            self.state.chain.tokens[:] += change.tokens
            self.state.chain.trans[:] += change.trans
            gap[some] = part

    def look(self, which: np.ndarray) -> np.ndarray:
        """Looks at all sequences; returns the parts of the duality gap of some."""
        gap = np.empty_like(self.hinge)
        for own, found in zip(self.sharing.own, self._asked("look"), strict=True):
            self.hinge[own], gap[own], self.lost[own] = found
        self.viterbi += len(which)
        return gap[which]

    def hinges(self, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """The hinge losses at scale * w, and the losses of the labellings that attain them."""
        hinge, loss = np.empty_like(self.hinge), np.empty_like(self.hinge)
        for own, found in zip(self.sharing.own, self._asked("hinges", scale), strict=True):
            hinge[own], loss[own] = found
        self.viterbi += len(self.everyone)
        return hinge, loss

    def _asked(self, method: str, *args: Any) -> list[Any]:
        """What members answer who get the weights and give none back."""
        weights = Weights.of(self.state.chain)
        self.sharing.sent += len(self.members) * weights.nbytes
        return self.members.ask(method, weights, *args)

    def losses(self) -> np.ndarray:
        return self.lost

    def primal(self) -> float:
        return float(0.5 * self.state.chain.norm2 + self.problem.weight @ self.hinge)

    def refresh(self) -> None:
        """Nothing: members compute the tables of steps anew in every round."""

    def unsettled(self) -> np.ndarray:
        return np.empty(0, np.int64)

    def sweep(self, which: np.ndarray) -> None:
        """Nothing: done."""


@dataclass(frozen=True)
class SharedLearner(MarginLearner):
    """Learns with members; their dual variables stay with them between calls."""

    sharing: Sharing | None = None

    def resume(self, arrays: dict[str, np.ndarray]) -> None:
        """Give members that have just begun the dual variables of a checkpoint.

        Those of another number of members fit none of these, who then begin anew.
        """
        assert self.sharing is not None
        own: dict[str, dict[str, np.ndarray]] = {}
        for name, array in arrays.items():
            k, key = name.split(".", 1)
            own.setdefault(k, {})[key] = array
        if len(own) != len(self.sharing.own):
            return
        if not any(self.sharing.members.ask("has_duals")):
            self.sharing.members.ask("restore", each=[(own[str(k)],) for k in range(len(own))])

    def traffic(self) -> dict[str, int]:
        """How many rounds of learning there were since this was last asked, and the bytes exchanged in them."""
        assert self.sharing is not None
        told = {"exchanges": self.sharing.rounds, "exchanged": self.sharing.sent}
        self.sharing.rounds = self.sharing.sent = 0
        return told

    def solve_each(
        self, problems: Sequence[Problem], arrays: dict[str, np.ndarray], near: ChainWeights
    ) -> tuple[list[Solution], dict[str, np.ndarray]]:
        """One after the other: it is members who work at the same time."""
        self.resume(arrays)
        found = [self.solve(problem, start=near, slot=str(k)) for k, problem in enumerate(problems)]
        return found, found[-1].state.arrays()

    def solve(
        self, problem: Problem, *, tol: float | None = None, start: Any = None, bench: Any = None, slot: str = "0"
    ) -> Solution:
        """Train on complete labels; a single member does all of it by itself, `start` being weights that are near.

        slot  which of several problems it is: each has dual variables of its own
        """
        assert self.sharing is not None
        limits: dict[str, Any] = {"tol": tol or self.tol, "max_passes": self.max_passes, "seed": self.seed}
        members = self.sharing.members
        if len(members) > 1:
            bench = partial(SharedBench, self.sharing, slot)
            return solve(problem, **limits, watch=self.watch, bench=bench)
        near = None if start is None else Weights.of(start)
        each = [(slot, problem.target, problem.weight, problem.cost, problem.n_labels, near, limits)]
        weights, history, stop = members.ask("solve", each=each)[0]
        self.sharing.rounds += 1
        self.sharing.sent += weights.nbytes + (near.nbytes if near else 0)
        return Solution(SharedState(weights.chain(), members), history, stop)  # type: ignore[arg-type]


def rematch(sharing: Sharing) -> Sharing | AnyMatcher:
    """How to match: with the members, unless rules about the corpus make sequences depend on each other."""
    return sharing.matcher if sharing.task.tables.has_corpus_rules else sharing
