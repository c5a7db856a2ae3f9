"""Stochastic gradient steps that project one sequence at a time."""

from typing import NamedTuple

import numpy as np

from semistruct.chain.kernels import sum_product
from semistruct.compiled import kernel
from semistruct.expectations.projection_kernels import Expected, Field, lattice_of, solve_sequence


class CorpusRows(NamedTuple):
    """The rows of corpus rules (`expectations.rows`), with the range of their multipliers, and units for these."""

    a: np.ndarray
    bound: np.ndarray
    slack: np.ndarray
    low: np.ndarray
    high: np.ndarray
    unit: np.ndarray


class Course(NamedTuple):
    """A part of one pass over the sequences.

    order    in which they are visited
    n        of all sequences
    n_fixed  how many of them, the first ones, have the labels `goal` (n_tokens,)
    weight   (n,) of each sequence
    eta      step t has the length eta / (1 + eta t / n); seen: how many steps were made before
    """

    order: np.ndarray
    n: int
    n_fixed: int
    goal: np.ndarray
    weight: np.ndarray
    eta: float
    seen: int


@kernel
def learn_online(course, field, trans, problem, corpus, multiplier, shared):
    """Stochastic gradient steps, one for each sequence of the course: changes the weights in field.scorer, and trans.

    Sequences without fixed labels are projected one at a time: their own multipliers (n_open, J) exactly, those of
    corpus rules (`shared`) by a step of their own.
    """
    scorer, n_fixed, goal = field.scorer, course.n_fixed, course.goal
    n, Y = course.n, scorer.tokens.shape[1]
    free = Field(scorer, field.costs, field.scale, np.empty(0, np.int16))
    for s in range(len(course.order)):
        i = course.order[s]
        length = course.eta / (1.0 + course.eta * (course.seen + s) / n)
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        lattice = lattice_of(free, i)
        p, q = np.empty((b - a, Y)), np.zeros((b - a, Y))
        p_steps, q_steps = np.zeros((len(lattice.step), Y, Y)), np.zeros((len(lattice.step), Y, Y))
        sum_product(lattice.unary, lattice.step, lattice.factors, lattice.group, lattice.group, p, p_steps)
        if i < n_fixed:
            for t in range(b - a):
                q[t, goal[a + t]] = 1.0
                if t > 0:
                    q_steps[lattice.group[t], goal[a + t - 1], goal[a + t]] += 1.0
        else:
            j, expected = i - n_fixed, np.zeros(corpus.a.shape[1])
            base = np.zeros(len(expected))
            for k in range(len(shared)):
                for m in range(len(base)):
                    base[m] += corpus.a[k, m] * shared[k]
            solve_sequence(lattice_of(field, i), problem, j, base, multiplier[j], Expected(q, q_steps, expected))
            for k in range(len(shared)):
                value = 0.0
                for m in range(len(expected)):
                    value += corpus.a[k, m] * expected[m]
                uphill = (n - n_fixed) * value - corpus.bound[k] - corpus.slack[k] * shared[k]
                new = shared[k] + length * corpus.unit[k] ** 2 * uphill
                shared[k] = min(max(new, corpus.low[k]), corpus.high[k])
        keep, much = 1.0 - length / n, length * course.weight[i]
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
