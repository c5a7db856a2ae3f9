"""The distribution nearest to a model that meets the expectations of instance rules, sequence by sequence.

    q(y) proportional to exp((score(y) - price.counts(y)) / T)

has one price per term.  The multipliers x >= 0 of the rows of instance rules minimise the (negated) dual

    f(x) = T log Z(x) + bound.x + slack/2 x^2,    f'(x) = bound + slack x - E_q[a.c]

over a box, by projected BFGS: few variables, and every value costs a forward-backward pass.  Prices of corpus rules
are the same for all sequences and are part of the scores already (`Costs`).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from semistruct.chain.kernels import Factors, factors_of, in_logs, in_probabilities, token_scores, viterbi

ARMIJO = 1e-4
HALVINGS = 30


class InstanceRows(NamedTuple):
    """Row j speaks of sign[j] * the count of term[j], times scale[i, j] in sequence i (`expectations.rows`)."""

    term: np.ndarray
    sign: np.ndarray
    bound: np.ndarray
    slack: np.ndarray
    low: np.ndarray
    high: np.ndarray
    scale: np.ndarray


class Lattice(NamedTuple):
    """The scores of one sequence divided by T: unary (T, Y), step (G, Y, Y) for the groups of steps that occur in it.

    group (T,)    the group of the step into a position
    kind, cls (G,)  what a group has in common: its kind of step, and the class of tests that speak of it
    """

    unary: np.ndarray
    step: np.ndarray
    factors: Factors
    group: np.ndarray
    kind: np.ndarray
    cls: np.ndarray


@njit(cache=True, nogil=True)
def lattice_of(scorer, costs, i, scale, known):
    """The lattice of sequence i; scale is 1/T."""
    a, b = scorer.offsets[i], scorer.offsets[i + 1]
    Y, n_classes = scorer.tokens.shape[1], costs.step.shape[0]
    unary = np.empty((b - a, Y))
    token_scores(scorer.indptr, scorer.indices, scorer.values, scorer.tokens, a, unary)
    for t in range(b - a):
        for y in range(Y):
            unary[t, y] = scale * (unary[t, y] - costs.token[costs.token_class[a + t], y])
            if len(known) and known[a + t] >= 0 and known[a + t] != y:
                unary[t, y] = -np.inf
    for y in range(Y):
        unary[0, y] -= scale * costs.first[y]
    seen = np.full(scorer.step.shape[0] * n_classes, -1, np.int64)
    group = np.zeros(b - a, np.int64)
    kind, cls = np.empty(len(seen), np.int64), np.empty(len(seen), np.int64)
    n = 0
    for t in range(1, b - a):
        code = scorer.kind[a + t] * n_classes + costs.step_class[a + t]
        if seen[code] < 0:
            seen[code], kind[n], cls[n] = n, scorer.kind[a + t], costs.step_class[a + t]
            n += 1
        group[t] = seen[code]
    step = np.empty((n, Y, Y))
    for g in range(n):
        for y in range(Y):
            for z in range(Y):
                step[g, y, z] = scale * (scorer.step[kind[g], y, z] - costs.step[cls[g], y, z])
    return Lattice(unary, step, factors_of(step), group, kind[:n], cls[:n])


@njit(cache=True, nogil=True)
def priced(lattice, events, class_steps, first, price, scale):
    """The same lattice when every event of term k costs price[k] more (see `priced_steps` for the steps)."""
    T, Y = lattice.unary.shape
    unary = lattice.unary.copy()
    factor, back = lattice.factors.factor.copy(), lattice.factors.back.copy()
    for y in range(Y):
        cost, start = 0.0, 0.0
        for j in range(events.label_ptr[y], events.label_ptr[y + 1]):
            cost += price[events.label_term[j]]
        for j in range(events.start_ptr[y], events.start_ptr[y + 1]):
            start += price[events.start_term[j]]
        for t in range(T):
            unary[t, y] -= scale * cost
        unary[0, y] -= scale * start
        if start != 0.0:
            much = np.exp(-scale * start)
            for g in range(len(factor)):
                for x in range(Y):
                    if x != y:
                        factor[g, x, y] *= much
                        back[g, y, x] *= much
    for t in range(T):
        for j in range(events.token_ptr[first + t], events.token_ptr[first + t + 1]):
            q = events.token_test[j]
            cost = price[events.test_term[q]]
            if cost != 0.0:
                for y in range(Y):
                    if events.test_mask[q, y]:
                        unary[t, y] -= scale * cost
    for q in range(len(events.step_term)):
        cost = price[events.step_term[q]]
        if cost != 0.0:
            much = np.exp(-scale * cost)
            for g in range(len(factor)):
                if class_steps[lattice.cls[g], q] > 0:
                    for y in range(Y):
                        for z in range(Y):
                            if events.step_mask[q, y, z]:
                                factor[g, y, z] *= much
                                back[g, z, y] *= much
    return Lattice(
        unary, lattice.step, Factors(factor, back, lattice.factors.top), lattice.group, lattice.kind, lattice.cls
    )


@njit(cache=True, nogil=True)
def priced_steps(lattice, events, class_steps, price, scale):
    """The step tables of `priced`, as logarithms."""
    step, Y = lattice.step.copy(), lattice.unary.shape[1]
    for g in range(len(step)):
        for z in range(Y):
            for j in range(events.start_ptr[z], events.start_ptr[z + 1]):
                for y in range(Y):
                    if y != z:
                        step[g, y, z] -= scale * price[events.start_term[j]]
        for q in range(len(events.step_term)):
            if class_steps[lattice.cls[g], q] > 0:
                for y in range(Y):
                    for z in range(Y):
                        if events.step_mask[q, y, z]:
                            step[g, y, z] -= scale * price[events.step_term[q]]
    return step


@njit(cache=True, nogil=True)
def expect(lattice, events, class_steps, first, price, scale, marginal, counts, expected):
    """log Z of the priced lattice; writes marginals, expected steps by group, and the expected counts of all terms."""
    Y = lattice.unary.shape[1]
    now = priced(lattice, events, class_steps, first, price, scale)
    counts[:] = 0.0
    log_z = in_probabilities(now.unary, now.factors, now.group, now.group, marginal, counts)
    if np.isnan(log_z):
        step = priced_steps(lattice, events, class_steps, price, scale)
        log_z = in_logs(now.unary, step, now.group, now.group, marginal, counts)
    expected[:] = 0.0
    for t in range(len(marginal)):
        for j in range(events.token_ptr[first + t], events.token_ptr[first + t + 1]):
            q = events.token_test[j]
            for y in range(Y):
                if events.test_mask[q, y]:
                    expected[events.test_term[q]] += marginal[t, y]
    for y in range(Y):
        if events.label_ptr[y + 1] > events.label_ptr[y]:
            total = 0.0
            for t in range(len(marginal)):
                total += marginal[t, y]
            for j in range(events.label_ptr[y], events.label_ptr[y + 1]):
                expected[events.label_term[j]] += total
        if events.start_ptr[y + 1] > events.start_ptr[y]:
            starts = marginal[0, y]
            for g in range(len(counts)):
                for x in range(Y):
                    if x != y:
                        starts += counts[g, x, y]
            for j in range(events.start_ptr[y], events.start_ptr[y + 1]):
                expected[events.start_term[j]] += starts
    for g in range(len(counts)):
        for q in range(len(events.step_term)):
            if class_steps[lattice.cls[g], q] > 0:
                total = 0.0
                for y in range(Y):
                    for z in range(Y):
                        if events.step_mask[q, y, z]:
                            total += counts[g, y, z]
                expected[events.step_term[q]] += total
    return log_z


@njit(cache=True, nogil=True)
def _value(x, gradient, lattice, events, class_steps, first, rows, i, base, scale, marginal, counts, expected):
    """(f(x), log Z), and the gradient of f."""
    price = base.copy()
    for j in range(len(x)):
        price[rows.term[j]] += rows.sign[j] * rows.scale[i, j] * x[j]
    log_z = expect(lattice, events, class_steps, first, price, scale, marginal, counts, expected)
    f = log_z / scale
    for j in range(len(x)):
        f += rows.bound[j] * x[j] + 0.5 * rows.slack[j] * x[j] * x[j]
        gradient[j] = rows.bound[j] + rows.slack[j] * x[j]
        gradient[j] -= rows.sign[j] * rows.scale[i, j] * expected[rows.term[j]]
    return f, log_z


@njit(cache=True, nogil=True)
def _residual(x, gradient, low, high):
    """How far a projected gradient step would go."""
    far = 0.0
    for j in range(len(x)):
        far = max(far, abs(min(max(x[j] - gradient[j], low[j]), high[j]) - x[j]))
    return far


@njit(cache=True, nogil=True)
def _direction(x, gradient, inverse, low, high, d):
    """The quasi-Newton direction among the variables that may move; returns its slope."""
    J = len(x)
    slope = 0.0
    for j in range(J):
        d[j] = 0.0
        if (x[j] <= low[j] and gradient[j] > 0) or (x[j] >= high[j] and gradient[j] < 0):
            continue
        for k in range(J):
            if not ((x[k] <= low[k] and gradient[k] > 0) or (x[k] >= high[k] and gradient[k] < 0)):
                d[j] -= inverse[j, k] * gradient[k]
        slope += d[j] * gradient[j]
    return slope


@njit(cache=True, nogil=True)
def _update(inverse, s, y, fresh):
    """BFGS; the first update also sets the scale."""
    J = len(s)
    sy, yy = 0.0, 0.0
    for j in range(J):
        sy += s[j] * y[j]
        yy += y[j] * y[j]
    if sy <= 1e-12 * yy or sy <= 0.0:
        return
    if fresh:
        for j in range(J):
            inverse[j, j] = sy / yy
    hy, yhy = np.zeros(J), 0.0
    for j in range(J):
        for k in range(J):
            hy[j] += inverse[j, k] * y[k]
        yhy += y[j] * hy[j]
    for j in range(J):
        for k in range(J):
            inverse[j, k] += (1 + yhy / sy) * s[j] * s[k] / sy - (hy[j] * s[k] + s[j] * hy[k]) / sy


@njit(cache=True, nogil=True)
def _mean_score(lattice, marginal, counts):
    """The expected score of a labelling by the lattice."""
    T, Y = marginal.shape
    total = 0.0
    for t in range(T):
        for y in range(Y):
            if marginal[t, y] > 0.0:
                total += marginal[t, y] * lattice.unary[t, y]
    for g in range(len(counts)):
        for y in range(Y):
            for z in range(Y):
                if counts[g, y, z] > 0.0:
                    total += counts[g, y, z] * lattice.step[g, y, z]
    return total


@njit(cache=True, nogil=True)
def solve_sequence(
    lattice, events, class_steps, rows, i, first, base, scale, tol, rounds, x, marginal, counts, expected
):
    """Move the multipliers x of sequence i to the minimum of f; returns (f, log Z, residual).

    base  (K,) prices of events besides those of the rows
    """
    J = len(x)
    gradient, inverse, d = np.zeros(J), np.eye(J), np.zeros(J)
    new, new_gradient = np.zeros(J), np.zeros(J)
    args = (lattice, events, class_steps, first, rows, i, base, scale, marginal, counts, expected)
    f, log_z = _value(x, gradient, *args)
    fresh, moved = True, True
    for _ in range(rounds):
        if _residual(x, gradient, rows.low, rows.high) <= tol:
            break
        slope = _direction(x, gradient, inverse, rows.low, rows.high, d)
        if not slope < 0:
            inverse[:] = np.eye(J)
            fresh = True
            slope = _direction(x, gradient, inverse, rows.low, rows.high, d)
        step, moved = 1.0, False
        for _ in range(HALVINGS):
            gain = 0.0
            for j in range(J):
                new[j] = min(max(x[j] + step * d[j], rows.low[j]), rows.high[j])
                gain += gradient[j] * (new[j] - x[j])
            there, there_z = _value(new, new_gradient, *args)
            if there <= f + ARMIJO * gain:
                moved = True
                break
            step *= 0.5
        if not moved:  # rounding stops the search: go back to the last good point
            f, log_z = _value(x, gradient, *args)
            break
        f, log_z = there, there_z
        for j in range(J):
            d[j] = new[j] - x[j]
            x[j] = new[j]
            gradient[j], new_gradient[j] = new_gradient[j], new_gradient[j] - gradient[j]
        _update(inverse, d, new_gradient, fresh)
        fresh = False
    return f, log_z, _residual(x, gradient, rows.low, rows.high)


@njit(cache=True, nogil=True)
def project_sequences(
    pieces, bounds, scorer, costs, events, class_steps, rows, scale, known, tol, rounds, weight,
    multiplier, value, entropy, residual, expected, marginal, steps,
):  # fmt: skip
    """Solve for the multipliers (n, J) of each sequence, from where they are, and write what is expected then.

    value (n,) is f; residual (n,) how far from the solution; steps (pieces, K, Y, Y) weighted by weight (n,)
    """
    Y, base = scorer.tokens.shape[1], np.zeros(expected.shape[1])
    for p in pieces:
        for i in range(bounds[p], bounds[p + 1]):
            a, b = scorer.offsets[i], scorer.offsets[i + 1]
            lattice = lattice_of(scorer, costs, i, scale, known)
            counts = np.zeros((len(lattice.step), Y, Y))
            x = multiplier[i]
            value[i], log_z, residual[i] = solve_sequence(
                lattice, events, class_steps, rows, i, a, base, scale, tol, rounds, x, marginal[a:b], counts,
                expected[i],
            )  # fmt: skip
            entropy[i] = log_z - _mean_score(lattice, marginal[a:b], counts)
            for j in range(len(x)):
                entropy[i] += scale * rows.sign[j] * rows.scale[i, j] * x[j] * expected[i, rows.term[j]]
            for g in range(len(counts)):
                for y in range(Y):
                    for z in range(Y):
                        steps[p, lattice.kind[g], y, z] += weight[i] * counts[g, y, z]


@njit(cache=True, nogil=True)
def best_sequences(which, scorer, costs, events, class_steps, rows, scale, known, multiplier, n_terms, labels):
    """The most probable labelling of every projected sequence."""
    price, Y = np.zeros(n_terms), scorer.tokens.shape[1]
    for i in which:
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        lattice = lattice_of(scorer, costs, i, scale, known)
        price[:] = 0.0
        for j in range(len(rows.term)):
            price[rows.term[j]] += rows.sign[j] * rows.scale[i, j] * multiplier[i, j]
        now = priced(lattice, events, class_steps, a, price, scale)
        step = priced_steps(lattice, events, class_steps, price, scale)
        viterbi(now.unary, step, now.group, np.empty((b - a, Y)), labels[a:b])
