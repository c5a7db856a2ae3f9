"""The distribution nearest to a model that meets the expectations of instance rules, sequence by sequence.

    q(y) proportional to exp((score(y) - price.counts(y)) / T)

has one price per term.  The multipliers x >= 0 of the rows of instance rules minimise the (negated) dual

    f(x) = T log Z(x) + bound.x + slack/2 x^2,    f'(x) = bound + slack x - E_q[a.c]

over a box, by projected BFGS: few variables, and every value costs a forward-backward pass.  Prices of corpus rules
are the same for all sequences and are part of the scores already (`Costs`).  Which terms have an event where is read
from the same cells of `Events` as everywhere else.
"""

from typing import NamedTuple

import numpy as np

from semistruct.chain.kernels import Factors, factors_of, in_logs, in_probabilities, token_scores, viterbi
from semistruct.compiled import inlined, kernel
from semistruct.rules.event_kernels import cell_of_steps, cell_of_token

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


class Field(NamedTuple):
    """What scores the labels of all sequences:  scale * (score of the model - costs), scale being 1/T.

    known  (n_tokens,) labels that are fixed, or empty
    """

    scorer: NamedTuple
    costs: NamedTuple
    scale: float
    known: np.ndarray


class Problem(NamedTuple):
    """What the multipliers of every sequence solve, how exactly, and in how many steps at most."""

    events: NamedTuple
    rows: NamedTuple
    scale: float
    tol: float
    rounds: int


class Expected(NamedTuple):
    """Of one sequence: marginal (T, Y), steps (groups, Y, Y), counts (K,) of all terms."""

    marginal: np.ndarray
    steps: np.ndarray
    counts: np.ndarray


class Lattice(NamedTuple):
    """The scores of one sequence: unary (T, Y), step (G, Y, Y) for the groups of steps that occur in it.

    first         number of its first token
    group (T,)    the group of the step into a position
    kind, cls (G,)  what a group has in common: its kind of step, and its class in `Events`
    """

    first: int
    unary: np.ndarray
    step: np.ndarray
    factors: Factors
    group: np.ndarray
    kind: np.ndarray
    cls: np.ndarray


@kernel
def lattice_of(field, i):
    """The lattice of sequence i."""
    scorer, costs, scale, known = field.scorer, field.costs, field.scale, field.known
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
        unary[0, y] -= scale * costs.step[costs.step_class[a], Y, y]
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
    return Lattice(a, unary, step, factors_of(step), group, kind[:n], cls[:n])


@inlined
def priced_unary(lattice, events, price, scale):
    """lattice.unary when every event of term k costs price[k] more."""
    T, Y = lattice.unary.shape
    unary = lattice.unary.copy()
    for t in range(T):
        for y in range(Y):
            cell = cell_of_token(events, lattice.first + t) + y
            for j in range(events.ptr[cell], events.ptr[cell + 1]):
                unary[t, y] -= scale * price[events.entry[j].term]
    for y in range(Y):
        cell = cell_of_steps(events, events.step_class[lattice.first]) + Y * Y + y
        for j in range(events.ptr[cell], events.ptr[cell + 1]):
            unary[0, y] -= scale * price[events.entry[j].term]
    return unary


@inlined
def priced_factors(lattice, events, price, scale):
    """lattice.factors at these prices."""
    Y = lattice.unary.shape[1]
    factor, back, much = lattice.factors.factor.copy(), lattice.factors.back.copy(), np.empty(len(price))
    for k in range(len(price)):
        much[k] = np.exp(-scale * price[k]) if price[k] != 0.0 else 1.0
    for g in range(len(factor)):
        for y in range(Y):
            for z in range(Y):
                cell = cell_of_steps(events, lattice.cls[g]) + y * Y + z
                for j in range(events.ptr[cell], events.ptr[cell + 1]):
                    factor[g, y, z] *= much[events.entry[j].term]
                    back[g, z, y] *= much[events.entry[j].term]
    return Factors(factor, back, lattice.factors.top)


@kernel
def priced_steps(lattice, events, price, scale):
    """lattice.step at these prices."""
    step, Y = lattice.step.copy(), lattice.unary.shape[1]
    for g in range(len(step)):
        for y in range(Y):
            for z in range(Y):
                cell = cell_of_steps(events, lattice.cls[g]) + y * Y + z
                for j in range(events.ptr[cell], events.ptr[cell + 1]):
                    step[g, y, z] -= scale * price[events.entry[j].term]
    return step


@kernel
def expect(lattice, events, price, scale, out):
    """log Z of the lattice at these prices; writes what is expected."""
    T, Y = lattice.unary.shape
    unary, group = priced_unary(lattice, events, price, scale), lattice.group
    out.steps[:] = 0.0
    log_z = in_probabilities(
        unary, priced_factors(lattice, events, price, scale), group, group, out.marginal, out.steps
    )
    if np.isnan(log_z):
        log_z = in_logs(unary, priced_steps(lattice, events, price, scale), group, group, out.marginal, out.steps)
    out.counts[:] = 0.0
    for t in range(T):
        for y in range(Y):
            cell = cell_of_token(events, lattice.first + t) + y
            for j in range(events.ptr[cell], events.ptr[cell + 1]):
                out.counts[events.entry[j].term] += out.marginal[t, y]
    for y in range(Y):
        cell = cell_of_steps(events, events.step_class[lattice.first]) + Y * Y + y
        for j in range(events.ptr[cell], events.ptr[cell + 1]):
            out.counts[events.entry[j].term] += out.marginal[0, y]
    for g in range(len(lattice.kind)):
        for y in range(Y):
            for z in range(Y):
                cell = cell_of_steps(events, lattice.cls[g]) + y * Y + z
                for j in range(events.ptr[cell], events.ptr[cell + 1]):
                    out.counts[events.entry[j].term] += out.steps[g, y, z]
    return log_z


@kernel
def _value(x, gradient, lattice, problem, i, base, out):
    """(f(x), log Z), and the gradient of f."""
    price, rows = base.copy(), problem.rows
    for j in range(len(x)):
        price[rows.term[j]] += rows.sign[j] * rows.scale[i, j] * x[j]
    log_z = expect(lattice, problem.events, price, problem.scale, out)
    f = log_z / problem.scale
    for j in range(len(x)):
        f += rows.bound[j] * x[j] + 0.5 * rows.slack[j] * x[j] * x[j]
        gradient[j] = rows.bound[j] + rows.slack[j] * x[j]
        gradient[j] -= rows.sign[j] * rows.scale[i, j] * out.counts[rows.term[j]]
    return f, log_z


@inlined
def _residual(x, gradient, low, high):
    """How far a projected gradient step would go."""
    far = 0.0
    for j in range(len(x)):
        far = max(far, abs(min(max(x[j] - gradient[j], low[j]), high[j]) - x[j]))
    return far


@inlined
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


@inlined
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


@kernel
def _mean_score(lattice, out):
    """The expected score of a labelling by the lattice."""
    T, Y = out.marginal.shape
    total = 0.0
    for t in range(T):
        for y in range(Y):
            if out.marginal[t, y] > 0.0:
                total += out.marginal[t, y] * lattice.unary[t, y]
    for g in range(len(out.steps)):
        for y in range(Y):
            for z in range(Y):
                if out.steps[g, y, z] > 0.0:
                    total += out.steps[g, y, z] * lattice.step[g, y, z]
    return total


@kernel
def solve_sequence(lattice, problem, i, base, x, out):
    """Move the multipliers x of sequence i to the minimum of f; returns (f, log Z, residual).

    base  (K,) prices of events besides those of the rows
    """
    J, low, high = len(x), problem.rows.low, problem.rows.high
    gradient, inverse, d = np.zeros(J), np.eye(J), np.zeros(J)
    new, new_gradient = np.zeros(J), np.zeros(J)
    f, log_z = _value(x, gradient, lattice, problem, i, base, out)
    fresh, moved = True, True
    for _ in range(problem.rounds):
        if _residual(x, gradient, low, high) <= problem.tol:
            break
        slope = _direction(x, gradient, inverse, low, high, d)
        if not slope < 0:
            inverse[:] = np.eye(J)
            fresh = True
            slope = _direction(x, gradient, inverse, low, high, d)
        step, moved = 1.0, False
        for _ in range(HALVINGS):
            gain = 0.0
            for j in range(J):
                new[j] = min(max(x[j] + step * d[j], low[j]), high[j])
                gain += gradient[j] * (new[j] - x[j])
            there, there_z = _value(new, new_gradient, lattice, problem, i, base, out)
            if there <= f + ARMIJO * gain:
                moved = True
                break
            step *= 0.5
        if not moved:  # rounding stops the search: go back to the last good point
            f, log_z = _value(x, gradient, lattice, problem, i, base, out)
            break
        f, log_z = there, there_z
        for j in range(J):
            d[j] = new[j] - x[j]
            x[j] = new[j]
            gradient[j], new_gradient[j] = new_gradient[j], new_gradient[j] - gradient[j]
        _update(inverse, d, new_gradient, fresh)
        fresh = False
    return f, log_z, _residual(x, gradient, low, high)


class Projected(NamedTuple):
    """What is known of all sequences after projection.

    multiplier (n, J), value (n,) of f, entropy (n,), residual (n,) how far from the solution, expected (n, K) counts,
    marginal (n_tokens, Y), steps (pieces, K, Y, Y) weighted
    """

    multiplier: np.ndarray
    value: np.ndarray
    entropy: np.ndarray
    residual: np.ndarray
    expected: np.ndarray
    marginal: np.ndarray
    steps: np.ndarray


@kernel
def project_sequences(pieces, bounds, field, problem, weight, found):
    """Solve for the multipliers of each sequence, from where they are, and write what is expected then."""
    scorer, rows = field.scorer, problem.rows
    Y, base = scorer.tokens.shape[1], np.zeros(found.expected.shape[1])
    for p in pieces:
        for i in range(bounds[p], bounds[p + 1]):
            a, b = scorer.offsets[i], scorer.offsets[i + 1]
            lattice, x = lattice_of(field, i), found.multiplier[i]
            out = Expected(found.marginal[a:b], np.zeros((len(lattice.step), Y, Y)), found.expected[i])
            found.value[i], log_z, found.residual[i] = solve_sequence(lattice, problem, i, base, x, out)
            found.entropy[i] = log_z - _mean_score(lattice, out)
            for j in range(len(x)):
                count = found.expected[i, rows.term[j]]
                found.entropy[i] += field.scale * rows.sign[j] * rows.scale[i, j] * x[j] * count
            for g in range(len(lattice.step)):
                for y in range(Y):
                    for z in range(Y):
                        found.steps[p, lattice.kind[g], y, z] += weight[i] * out.steps[g, y, z]


@kernel
def best_sequences(which, field, problem, multiplier, n_terms, labels):
    """The most probable labelling of every projected sequence."""
    price, rows = np.zeros(n_terms), problem.rows
    for i in which:
        lattice = lattice_of(field, i)
        price[:] = 0.0
        for j in range(len(rows.term)):
            price[rows.term[j]] += rows.sign[j] * rows.scale[i, j] * multiplier[i, j]
        unary = priced_unary(lattice, problem.events, price, problem.scale)
        step = priced_steps(lattice, problem.events, price, problem.scale)
        a = lattice.first
        viterbi(unary, step, lattice.group, np.empty(unary.shape), labels[a : a + len(unary)])
