"""Constraint matching by label switching: Algorithm 2 of the paper, whose step numbers stand in the comments.

For fixed weights, labels of the pool are changed to lower

    O = sum_j C_j slack_j(y_j) + penalty(y)

as long as a change lowers it.  A single label in the middle of a block cannot change without breaking the block, so
beyond the paper the moves are spans, and the passes are repeated.  One thing more is not in the paper: functions of the
user, of which nothing is known but their values, choose among labellings at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from semistruct.base.threads import spread
from semistruct.core.batch import SequenceBatch
from semistruct.core.chain.inference import NOWHERE, ChainWeights, decode, scorer_of
from semistruct.core.kernels import kernels
from semistruct.rules.search import PIECE, Aim, find_best
from semistruct.rules.tables import RuleTables
from semistruct.rules.whole_sequences import CANDIDATES, FunctionRules

Moves = Literal["spans", "tokens", "printed"]

CHOICE_WIDTH = 16  # of the search for labellings among which functions choose: it need not be exact
PASSES = 10  # over the sequences, while corpus rules still pull
PRINTED_LIMIT = 1000  # positions that the printed algorithm visits
EVERYTHING = 2**62


class Objective(NamedTuple):
    """What is lowered: `Objective` in `core/switching.hpp`."""

    scorer: NamedTuple
    costs: NamedTuple
    events: NamedTuple
    targets: np.ndarray
    instance: np.ndarray
    corpus: np.ndarray
    block_price: np.ndarray
    scale: np.ndarray
    loss: float


class Ledger(NamedTuple):
    """What switching keeps up to date: `Ledger` in `core/switching.hpp`."""

    counts: np.ndarray
    totals: np.ndarray
    slack: np.ndarray
    instance: np.ndarray
    corpus: np.ndarray


@dataclass(frozen=True)
class Matching:
    """Labels found by `Matcher.match`, and what they cost.

    labels (n_tokens,); slack, instance (n,): slack and penalty of instance rules; corpus: penalty of corpus rules
    scale (n,), loss: the C_j, and the loss in the slack
    switches: accepted moves
    """

    labels: np.ndarray
    slack: np.ndarray
    instance: np.ndarray
    corpus: float
    scale: np.ndarray
    loss: float
    switches: int = 0

    @property
    def objective(self) -> float:
        return float(self.scale @ self.slack + self.instance.sum()) + self.corpus

    @property
    def penalty(self) -> float:
        return float(self.instance.sum()) + self.corpus


@dataclass(frozen=True)
class Matcher:
    """Matches labels of the sequences of a batch to rules.

    known  labels that stay, UNKNOWN elsewhere
    moves  "spans": relabel spans, shift boundaries, swap blocks; "tokens": one label at a time;
           "printed": one pass of single labels that visits a thousand positions, as the paper prints it
    loss   1 for the slack; 0 leaves the shortfall of the score
    """

    batch: SequenceBatch
    tables: RuleTables
    known: np.ndarray | None = None
    moves: Moves = "spans"
    loss: float = 1.0
    n_jobs: int | None = None

    def match(self, weights: ChainWeights, scale: np.ndarray, start: np.ndarray | None = None) -> Matching:
        """Switch labels from `start` (the best labelling by the model if not given) until nothing gets better."""
        objective = self._objective(weights, scale)  # steps 1 and 2: sequences, weights, C_u
        # steps 4, 5: an initial candidate for every sequence
        start = decode(self.batch, weights, known=self.known, n_jobs=self.n_jobs)[0] if start is None else start
        labels = start.copy()
        ledger = self._opened(objective, labels)  # steps 6 to 8: slacks, violations, and so the objective
        switches = self._switch(objective, labels, ledger)  # steps 3 and 9 to 29
        result = replace(self._priced(objective, labels), switches=switches)
        return self._choose(result, start, weights) if self.tables.functions else result  # step 30

    def price(self, weights: ChainWeights, scale: np.ndarray, labels: np.ndarray) -> Matching:
        """What labels cost as they are."""
        result = self._priced(self._objective(weights, scale), labels)
        if not self._functions:
            return result
        values = self._functions.all_values(labels, self.batch.offsets)
        instance = result.instance + np.array([self._functions.instance(row) for row in values])
        return replace(result, instance=instance, corpus=result.corpus + self._functions.corpus(values.mean(axis=0)))

    @cached_property
    def _functions(self) -> FunctionRules:
        return FunctionRules.of(self.tables)

    def _objective(self, weights: ChainWeights, scale: np.ndarray) -> Objective:
        t = self.tables
        return Objective(
            scorer=scorer_of(self.batch, weights), costs=t.event_costs, events=t.events, targets=t.targets,
            instance=t.instance, corpus=t.corpus,
            block_price=t.block_price, scale=scale, loss=self.loss,
        )  # fmt: skip

    def _opened(self, objective: Objective, y: np.ndarray) -> Ledger:
        """Count and price everything from scratch."""
        n, K = len(self.tables), self.tables.n_terms
        ledger = Ledger(np.zeros((n, K)), np.zeros(K), np.zeros(n), np.zeros(n), np.zeros(1))
        spread(kernels.open_ledger, np.arange(n), objective, y, ledger, n_jobs=self.n_jobs)
        np.add.reduce(ledger.counts, axis=0, out=ledger.totals)
        ledger.corpus[0] = self._corpus_penalty(ledger.totals)
        return ledger

    def _priced(self, objective: Objective, y: np.ndarray) -> Matching:
        ledger = self._opened(objective, y)
        return Matching(y, ledger.slack, ledger.instance, float(ledger.corpus[0]), objective.scale, self.loss)

    def _corpus_penalty(self, totals: np.ndarray) -> float:
        sizes = float(self.batch.n_tokens), float(len(self.batch))
        return float(kernels.penalty(self.tables.targets, self.tables.corpus, totals, *sizes))

    def _switch(self, objective: Objective, y: np.ndarray, ledger: Ledger) -> int:
        """Change y as long as that is better; returns the number of switches."""
        which, known = np.arange(len(self.tables)), NOWHERE if self.known is None else self.known
        if self.moves == "spans":
            moved = np.zeros(len(which), np.int64)
            args = objective, known, change_points(self.tables), y, ledger, moved
            if not len(objective.corpus):
                spread(kernels.switch_spans, which, *args, n_jobs=self.n_jobs, piece=PIECE)
                return int(moved.sum())

        def one_pass() -> int:
            """Steps 9 to 29: for every sequence (9), token (11) and label (13), the objective if the token had the
            label (14 to 18); the best label is kept (19 to 23), unless too many tokens were visited (24 to 27)."""
            # corpus rules make the sequences depend on each other: one after the other
            if self.moves == "spans":
                before = int(moved.sum())
                spread(kernels.switch_spans, which, *args, n_jobs=1, piece=PIECE)
                return int(moved.sum()) - before
            limit = PRINTED_LIMIT if self.moves == "printed" else EVERYTHING  # step 3
            return int(kernels.switch_tokens(which, objective, known, limit, y, ledger))

        total = 0
        for _ in range(1 if self.moves == "printed" else PASSES):
            done = one_pass()
            total += done
            if done == 0:
                break
        return total

    def _choose(self, matching: Matching, start: np.ndarray, weights: ChainWeights) -> Matching:
        """Let the functions of the user choose, one sequence after the other, among its labels before and after
        matching and the labellings that are best by the other rules."""
        functions, scale, batch = self._functions, matching.scale, self.batch
        others = self._best(weights, scale)
        candidates = [start, matching.labels, *(np.where(row < 0, matching.labels, row) for row in others)]
        objective = self._objective(weights, scale)
        ledgers = [self._opened(objective, y) for y in candidates]
        values = [functions.all_values(y, batch.offsets) for y in candidates]
        chosen, totals, sums = np.zeros(len(batch), np.int64), ledgers[0].totals.copy(), values[0].sum(axis=0)

        def together(totals: np.ndarray, sums: np.ndarray) -> float:
            return self._corpus_penalty(totals) + functions.corpus(sums / len(batch))

        for i in range(len(batch)):
            rest, rest_sums = totals - ledgers[0].counts[i], sums - values[0][i]
            cost = [
                scale[i] * ledger.slack[i] + ledger.instance[i] + functions.instance(value[i])
                + together(rest + ledger.counts[i], rest_sums + value[i])
                for ledger, value in zip(ledgers, values, strict=True)
            ]  # fmt: skip
            c = chosen[i] = int(np.argmin(cost))
            totals, sums = rest + ledgers[c].counts[i], rest_sums + values[c][i]
        pick = np.repeat(chosen, batch.lengths)
        return replace(
            matching,
            labels=np.array(candidates)[pick, np.arange(batch.n_tokens)],
            slack=np.array([ledgers[c].slack[i] for i, c in enumerate(chosen)]),
            instance=np.array(
                [ledgers[c].instance[i] + functions.instance(values[c][i]) for i, c in enumerate(chosen)]
            ),
            corpus=together(totals, sums),
        )

    def _best(self, weights: ChainWeights, scale: np.ndarray) -> np.ndarray:
        """(CANDIDATES, n_tokens): labellings that are best if the rival in the slack is the best one by the model."""
        bonus, factor = np.zeros((self.batch.n_tokens, weights.n_labels)), float(scale.max())
        best = decode(self.batch, weights, n_jobs=self.n_jobs)[0]
        bonus[np.arange(self.batch.n_tokens), best] = factor * self.loss
        aim = Aim(factor, bonus, self.known)
        found = find_best(self.batch, weights, self.tables, aim, k=CANDIDATES, width=CHOICE_WIDTH, n_jobs=self.n_jobs)
        return found.labels


def better_of(new: Matching, old: Matching, lengths: np.ndarray) -> Matching:
    """For every sequence the labels that cost less; not for corpus rules, which make sequences depend on each other."""
    keep = old.scale * old.slack + old.instance < new.scale * new.slack + new.instance
    return replace(
        new,
        labels=np.where(np.repeat(keep, lengths), old.labels, new.labels),
        slack=np.where(keep, old.slack, new.slack),
        instance=np.where(keep, old.instance, new.instance),
    )


def change_points(tables: RuleTables) -> np.ndarray:
    """(n_tokens + 1,): where a change breaks no rule about where the label may change; everywhere without one."""
    marked = np.zeros(tables.n_terms, bool)
    for k, term in enumerate(tables.terms):
        marked[k] = term.event.limits_changes and not term.has_condition
    bound = np.asarray(tables.step_tests[:, marked].any(axis=1))
    return np.append(~bound[tables.step_class], True)
