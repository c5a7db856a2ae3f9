"""Learning and projecting one sequence at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from semistruct.batch import SequenceBatch
from semistruct.chain.inference import ChainWeights
from semistruct.chain.kernels import sum_product
from semistruct.expectations.projection import LARGEST, Multipliers, Projection, Projector, instance_rows
from semistruct.expectations.projection_kernels import lattice_of, solve_sequence
from semistruct.rules.tables import Costs
from semistruct.search.best import scorer_of


class CorpusRows(NamedTuple):
    """The rows of corpus rules (`expectations.rows`), with the range of their multipliers."""

    a: np.ndarray
    bound: np.ndarray
    slack: np.ndarray
    low: np.ndarray
    high: np.ndarray


@njit(cache=True, nogil=True)
def learn_online(
    order, n_fixed, goal, scorer, trans, nothing, events, class_steps, rows, corpus, unit, known, weight, eta, seen,
    tol, rounds, multiplier, shared,
):  # fmt: skip
    """One pass of stochastic gradient steps over the sequences, in place.

    The first n_fixed sequences have the labels goal (n_tokens,); the others are projected one at a time: their own
    multipliers (n_open, J) exactly, those of corpus rules (`shared`) by a step of their own, in units (unit).  events
    and rows are those of the open sequences.  seen: how many steps were made before; step t has the length
    eta / (1 + eta t / n).
    """
    n, Y = len(order), scorer.tokens.shape[1]
    n_open, first_open = n - n_fixed, scorer.offsets[n_fixed]
    for s in range(n):
        i = order[s]
        length = eta / (1.0 + eta * (seen + s) / n)
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        lattice = lattice_of(scorer, nothing, i, 1.0, np.empty(0, np.int16))
        p, q = np.empty((b - a, Y)), np.zeros((b - a, Y))
        p_steps, q_steps = np.zeros((len(lattice.step), Y, Y)), np.zeros((len(lattice.step), Y, Y))
        sum_product(lattice.unary, lattice.step, lattice.factors, lattice.group, lattice.group, p, p_steps)
        if i < n_fixed:
            for t in range(b - a):
                q[t, goal[a + t]] = 1.0
                if t > 0:
                    q_steps[lattice.group[t], goal[a + t - 1], goal[a + t]] += 1.0
        else:
            j, base, expected = i - n_fixed, corpus.a.T @ shared, np.zeros(corpus.a.shape[1])
            restricted = lattice_of(scorer, nothing, i, 1.0, known)
            solve_sequence(
                restricted, events, class_steps, rows, j, a - first_open, base, 1.0, tol, rounds, multiplier[j], q,
                q_steps, expected,
            )  # fmt: skip
            for k in range(len(shared)):
                value = 0.0
                for m in range(len(expected)):
                    value += corpus.a[k, m] * expected[m]
                uphill = n_open * value - corpus.bound[k] - corpus.slack[k] * shared[k]
                shared[k] = min(max(shared[k] + length * unit[k] ** 2 * uphill, corpus.low[k]), corpus.high[k])
        keep, much = 1.0 - length / n, length * weight[i]
        scorer.tokens[:] *= keep
        trans[:] *= keep
        for t in range(b - a):
            for y in range(Y):
                p[t, y] = much * (q[t, y] - p[t, y])
            for e in range(scorer.indptr[a + t], scorer.indptr[a + t + 1]):
                v = scorer.values[0 if len(scorer.values) == 1 else e]
                for y in range(Y):
                    scorer.tokens[scorer.indices[e], y] += v * p[t, y]
        for g in range(len(q_steps)):
            for y in range(Y):
                for z in range(Y):
                    change = much * (q_steps[g, y, z] - p_steps[g, y, z])
                    trans[0, y, z] += change
                    if lattice.kind[g] > 0:
                        trans[lattice.kind[g], y, z] += change
        for k in range(len(trans)):
            for y in range(Y):
                for z in range(Y):
                    scorer.step[k, y, z] = trans[0, y, z] + (trans[k, y, z] if k > 0 else 0.0)


def one_pass(
    batch: SequenceBatch,
    labels: np.ndarray,
    projector: Projector,
    projection: Projection,
    chain: ChainWeights,
    weight: np.ndarray,
    *,
    eta: float,
    seen: int,
    seed: int,
) -> tuple[ChainWeights, Multipliers]:
    """Stochastic gradient steps over all sequences in random order, from these weights and multipliers.

    batch   those with labels (n_tokens of them,) first, then the open ones, which are those of the projector
    weight  (n,) of each sequence
    seen    the number of steps made in earlier passes
    """
    expectations, tables = projector.expectations, projector.expectations.tables
    n_open, Y, rows = len(projector.batch), chain.n_labels, expectations.corpus
    n_fixed = len(batch) - n_open
    new = ChainWeights(chain.tokens.copy(), chain.trans.copy())
    step_class = np.concatenate([np.zeros(len(labels), np.int32), tables.classes.step_class])
    nothing = Costs(
        np.zeros(batch.n_tokens, np.int32), np.zeros((1, Y)),
        step_class, np.zeros((len(tables.classes.class_steps), Y, Y)), np.zeros(Y),
    )  # fmt: skip
    low, high = np.maximum(rows.low, -LARGEST), np.minimum(rows.price, LARGEST)
    unit = 1.0 / np.sqrt(rows.slack + np.abs(rows.a) @ projection.expected.sum(axis=0) + 1.0)
    multipliers = Multipliers(projection.multipliers.instance.copy(), projection.multipliers.corpus.copy())
    known = np.empty(0, np.int16)
    if projector.known is not None:
        known = np.concatenate([labels, projector.known])
    learn_online(
        np.random.default_rng(seed).permutation(len(batch)), n_fixed, labels, scorer_of(batch, new), new.trans, nothing,
        tables.events, tables.classes.class_steps, instance_rows(expectations),
        CorpusRows(rows.a, rows.bound, rows.slack, low, high), unit, known, weight, eta, seen,
        projector.tol, projector.rounds, multipliers.instance, multipliers.corpus,
    )  # fmt: skip
    return new, multipliers
