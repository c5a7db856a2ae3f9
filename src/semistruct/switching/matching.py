"""Constraint matching: labels for unlabelled sequences that fit both the model and the rules.

For fixed weights, lower  sum_j C_j slack_j(y_j) + penalty(y)  by switching labels (Algorithm 2 of the paper, and the
span moves without which it is stuck: a single label in the middle of a block cannot change without breaking it).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from semistruct.batch import SequenceBatch
from semistruct.chain.inference import ChainWeights, decode
from semistruct.rules.event_kernels import penalty, total_of
from semistruct.rules.events import StepEvent
from semistruct.rules.tables import RuleTables
from semistruct.search.best import NOWHERE, find_best, scorer_of
from semistruct.search.functions import FunctionRules
from semistruct.search.search_kernels import Scorer
from semistruct.switching.switch_kernels import Ledger, Price, open_ledger, switch_spans, switch_tokens
from semistruct.threads import spread

Moves = Literal["spans", "tokens", "printed"]

CANDIDATES = 50  # labellings among which functions of the user choose
JUMP_WIDTH = 16  # of the search for a start: it need not be exact
REACH = 8  # chunks a span may run over
MOST = 20  # moves per sequence and pass
PASSES = 10  # over the sequences, while corpus rules still pull
PRINTED_LIMIT = 1000
EVERYTHING = 2**62


@dataclass(frozen=True)
class Matching:
    """Labels found by `match`, and what they cost.

    labels (n_tokens,); slack, instance (n,): slack and penalty of instance rules; corpus: penalty of corpus rules
    scale (n,), loss: the C_j, and the loss in the slack
    before: the objective of the labels at the start; switches: accepted moves
    """

    labels: np.ndarray
    slack: np.ndarray
    instance: np.ndarray
    corpus: float
    scale: np.ndarray
    loss: float
    before: float
    switches: int

    @property
    def objective(self) -> float:
        return float(self.scale @ self.slack + self.instance.sum()) + self.corpus

    @property
    def penalty(self) -> float:
        return float(self.instance.sum()) + self.corpus


def match(
    batch: SequenceBatch,
    weights: ChainWeights,
    tables: RuleTables,
    scale: np.ndarray,
    *,
    start: np.ndarray | None = None,
    known: np.ndarray | None = None,
    moves: Moves = "spans",
    loss: float = 1.0,
    search: bool = False,
    greedy: bool = False,
    order: Literal["sequential", "random"] = "sequential",
    limit: int | None = None,
    counter: Literal["visits", "switches"] = "visits",
    seed: int = 0,
    n_jobs: int | None = None,
) -> Matching:
    """Switch labels from `start` (the best labelling by the model if not given) until nothing gets better.

    moves    "spans": relabel spans, shift boundaries, swap blocks; "tokens": one label at a time, exact and fast;
             "printed": one pass of single labels with a Viterbi pass for each, as the paper prints it
    known    labels that stay, UNKNOWN elsewhere
    loss     1 for the slack; 0 leaves the shortfall of the score
    search   (spans) also try the best labelling under the instance rules
    greedy   (spans) take the first better move instead of the best
    order    (single labels) of the visits
    limit    (single labels) on the visits or on the switches, whichever `counter` says: the algorithm is printed with
             a limit of 1000 on a counter that grows with every visit, but its text speaks of switches
    """
    scorer = scorer_of(batch, weights)
    fixed = NOWHERE if known is None else known
    y = decode(batch, weights, known=known, n_jobs=n_jobs)[0] if start is None else start.copy()
    began = y.copy()
    price = Price(tables.instance, tables.corpus, float(batch.n_tokens), float(len(batch)))
    ledger = _opened(scorer, tables, price, loss, y, n_jobs)
    before = _objective(ledger, scale)
    if moves == "spans":
        jump = NOWHERE
        if search and len(tables.instance):
            jump = _search(batch, weights, tables, scale, known, loss, n_jobs)[0]
        switches = _switch_spans(scorer, tables, price, scale, loss, fixed, greedy, jump, y, ledger, n_jobs)
    else:
        if limit is None:
            limit = PRINTED_LIMIT if moves == "printed" else EVERYTHING
        args = (scorer, tables.potentials(tables.plain), tables.events, tables.targets, price, scale, loss, fixed)
        which, positions = _visits(batch, order, seed)
        rounds, naive = (1, True) if moves == "printed" else (PASSES, False)
        switches = spent = 0
        for _ in range(rounds):
            done = switch_tokens(which, positions, *args, naive, limit - spent, counter == "visits", y, ledger)
            switches += done
            spent += batch.n_tokens if counter == "visits" else done
            if done == 0 or spent > limit:
                break
    final = _opened(scorer, tables, price, loss, y, n_jobs)
    result = Matching(y, final.slack, final.instance, float(final.corpus[0]), scale, loss, before, int(switches))
    if tables.functions:
        return _choose(result, began, batch, weights, tables, known, n_jobs)
    return result


def evaluate(
    batch: SequenceBatch,
    weights: ChainWeights,
    tables: RuleTables,
    scale: np.ndarray,
    labels: np.ndarray,
    *,
    loss: float = 1.0,
    n_jobs: int | None = None,
) -> Matching:
    """What labels cost as they are."""
    price = Price(tables.instance, tables.corpus, float(batch.n_tokens), float(len(batch)))
    ledger = _opened(scorer_of(batch, weights), tables, price, loss, labels, n_jobs)
    instance, corpus = ledger.instance, float(ledger.corpus[0])
    if tables.functions:
        functions = FunctionRules(tables.functions, tables.X, tables.labels)
        values = functions.all_values(labels, batch.offsets)
        instance = instance + np.array([functions.instance(row) for row in values])
        corpus += functions.corpus(values.mean(axis=0))
    result = Matching(labels, ledger.slack, instance, corpus, scale, loss, 0.0, 0)
    return replace(result, before=result.objective)


def better_of(new: Matching, old: Matching, lengths: np.ndarray) -> Matching:
    """For every sequence the labels that cost less; not for corpus rules, which make sequences depend on each other."""
    keep = old.scale * old.slack + old.instance < new.scale * new.slack + new.instance
    return replace(
        new,
        labels=np.where(np.repeat(keep, lengths), old.labels, new.labels),
        slack=np.where(keep, old.slack, new.slack),
        instance=np.where(keep, old.instance, new.instance),
    )


def _choose(
    matching: Matching,
    start: np.ndarray,
    batch: SequenceBatch,
    weights: ChainWeights,
    tables: RuleTables,
    known: np.ndarray | None,
    n_jobs: int | None,
) -> Matching:
    """Let the functions of the user choose, one sequence after the other, among its labels before and after matching
    and the labellings that are best by the other rules."""
    functions, scale, loss = FunctionRules(tables.functions, tables.X, tables.labels), matching.scale, matching.loss
    others = _search(batch, weights, tables, scale, known, loss, n_jobs, k=CANDIDATES)
    candidates = [start, matching.labels, *(np.where(row < 0, matching.labels, row) for row in others)]
    price = Price(tables.instance, tables.corpus, float(batch.n_tokens), float(len(batch)))
    ledgers = [_opened(scorer_of(batch, weights), tables, price, loss, y, n_jobs) for y in candidates]
    values = [functions.all_values(y, batch.offsets) for y in candidates]
    chosen, totals, sums = np.zeros(len(batch), np.int64), ledgers[0].totals.copy(), values[0].sum(axis=0)

    def together(totals: np.ndarray, sums: np.ndarray) -> float:
        corpus = penalty(tables.targets, tables.corpus, totals, price.n_tokens, price.n_sequences)
        return corpus + functions.corpus(sums / len(batch))

    before = _objective(ledgers[0], scale) - float(ledgers[0].corpus[0]) + together(totals, sums)
    before += sum(map(functions.instance, values[0]))
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
        instance=np.array([ledgers[c].instance[i] + functions.instance(values[c][i]) for i, c in enumerate(chosen)]),
        corpus=together(totals, sums),
        before=before,
    )


def _search(
    batch: SequenceBatch,
    weights: ChainWeights,
    tables: RuleTables,
    scale: np.ndarray,
    known: np.ndarray | None,
    loss: float,
    n_jobs: int | None,
    k: int = 1,
) -> np.ndarray:
    """(k, n_tokens): labellings that are best if the rival in the slack is the best labelling by the model."""
    bonus = np.zeros((batch.n_tokens, weights.n_labels))
    factor = float(scale.max())
    bonus[np.arange(batch.n_tokens), decode(batch, weights, n_jobs=n_jobs)[0]] = factor * loss
    return find_best(
        batch, weights, tables, k=k, known=known, scale=factor, bonus=bonus, width=JUMP_WIDTH, n_jobs=n_jobs
    ).labels


def _switch_spans(
    scorer: Scorer,
    tables: RuleTables,
    price: Price,
    scale: np.ndarray,
    loss: float,
    known: np.ndarray,
    greedy: bool,
    jump: np.ndarray,
    y: np.ndarray,
    ledger: Ledger,
    n_jobs: int | None,
) -> int:
    moved, which, total = np.zeros(len(tables), np.int64), np.arange(len(tables)), 0
    rules = (tables.potentials(tables.plain), tables.events, tables.targets, price)
    args = (scorer, *rules, scale, loss, known, change_points(tables), REACH, greedy, MOST)
    if not len(price.corpus):
        spread(switch_spans, which, *args, jump, y, ledger, moved, n_jobs=n_jobs)
        return int(moved.sum())
    for _ in range(PASSES):  # the sequences depend on each other through the totals: one after the other
        switch_spans(which, *args, jump, y, ledger, moved)
        if moved.sum() == total:
            break
        total, jump = int(moved.sum()), NOWHERE
    return total


def change_points(tables: RuleTables) -> np.ndarray:
    """(n_tokens + 1,): where a change breaks no rule about where the label may change; everywhere without one."""
    e, free = tables.events, np.ones(tables.offsets[-1] + 1, bool)
    place = np.repeat(np.arange(len(e.step_ptr) - 1), np.diff(e.step_ptr))
    for q, k in enumerate(e.step_term):
        if k < len(tables.terms) and isinstance(event := tables.terms[k].event, StepEvent) and event.mark is not None:
            free[place[e.step_test == q]] = False
    return free


def _visits(batch: SequenceBatch, order: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(sequences, positions of all sequences end to end) in the order of their visits."""
    if order == "sequential":
        return np.arange(len(batch)), np.concatenate([np.arange(n) for n in batch.lengths])
    rng = np.random.default_rng(seed)
    return rng.permutation(len(batch)), np.concatenate([rng.permutation(n) for n in batch.lengths])


def _opened(scorer: Scorer, tables: RuleTables, price: Price, loss: float, y: np.ndarray, n_jobs: int | None) -> Ledger:
    """Count and price everything from scratch."""
    n, K = len(tables), tables.n_terms
    ledger = Ledger(np.zeros((n, K)), np.zeros(K), np.zeros(n), np.zeros(n), np.zeros(1))
    args = (scorer, tables.events, tables.targets, price, loss, y, ledger)
    spread(open_ledger, np.arange(n), *args, n_jobs=n_jobs)
    total_of(ledger.counts, ledger.totals)
    ledger.corpus[0] = penalty(tables.targets, tables.corpus, ledger.totals, price.n_tokens, price.n_sequences)
    return ledger


def _objective(ledger: Ledger, scale: np.ndarray) -> float:
    return float(scale @ ledger.slack + ledger.instance.sum() + ledger.corpus[0])
