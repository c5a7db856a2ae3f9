"""Constraint matching: labels for the pool that fit both the model and the rules.

For fixed weights, lower  sum_j C_j slack_j(y_j) + penalty(y)  by switching labels (Algorithm 2 of the paper, and the
span moves without which it is stuck: a single label in the middle of a block cannot change without breaking it).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from semistruct.batch import SequenceBatch
from semistruct.chain.inference import NOWHERE, ChainWeights, decode, scorer_of
from semistruct.core import kernels
from semistruct.rules.events import StepEvent
from semistruct.rules.tables import RuleTables
from semistruct.search.best import PIECE, Aim, find_best
from semistruct.search.functions import CANDIDATES, FunctionRules
from semistruct.switching.records import Ledger, Objective
from semistruct.threads import spread

Moves = Literal["spans", "tokens", "printed"]

CHOICE_WIDTH = 16  # of the search for labellings among which functions choose: it need not be exact
PASSES = 10  # over the sequences, while corpus rules still pull
PRINTED_LIMIT = 1000  # positions that the printed algorithm visits
EVERYTHING = 2**62


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
        start = decode(self.batch, weights, known=self.known, n_jobs=self.n_jobs)[0] if start is None else start
        y, objective = start.copy(), self._objective(weights, scale)
        ledger = self._opened(objective, y)
        switches = self._switch(objective, y, ledger)
        result = replace(self._priced(objective, y), switches=switches)
        return self._choose(result, start, weights) if self.tables.functions else result

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
        kernels.total_of(ledger.counts, ledger.totals)
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
        moved, total = np.zeros(len(which), np.int64), 0
        if self.moves == "spans":
            args = objective, known, change_points(self.tables), y, ledger, moved
            if not len(objective.corpus):
                spread(kernels.switch_spans, which, *args, n_jobs=self.n_jobs, piece=PIECE)
                return int(moved.sum())
        for _ in range(1 if self.moves == "printed" else PASSES):
            # corpus rules make the sequences depend on each other: one after the other
            if self.moves == "spans":
                spread(kernels.switch_spans, which, *args, n_jobs=1, piece=PIECE)
                done = int(moved.sum()) - total
            else:
                limit = PRINTED_LIMIT if self.moves == "printed" else EVERYTHING
                done = kernels.switch_tokens(which, objective, known, limit, y, ledger)
            total += done
            if done == 0:
                break
        return int(total)

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
        always = term.needs is None and term.bars is None
        marked[k] = always and isinstance(term.event, StepEvent) and term.event.mark is not None
    bound = np.asarray(tables.step_tests[:, marked].any(axis=1))
    return np.append(~bound[tables.step_class], True)
