"""What rules expect of distributions, and the projection on it, by listing every labelling.

Slow on purpose, and independent: nothing here is imported from semistruct.  Rules are described as in a rules file,
see `brute_rules`; a distribution over the labellings of a sequence is an array with one probability per labelling.
"""

from math import inf
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.special import logsumexp, softmax

import brute_rules as plain


class Row(NamedTuple):
    """E[value(words, labels)] is to be at most `bound`, or to be equal to it; of each sequence or of their sum.

    What lies beyond costs xi^2 / (2 slack) if there is slack, else price * xi.
    """

    level: str
    value: object
    bound: float
    equal: bool
    slack: float
    price: float


def quantities(rule, X, labels):
    """(quantity of a labelled sequence, its range, what the range has to be multiplied with) for all the rule watches.

    For a share of the label changes, the quantity is a pair: changes elsewhere, all changes.
    """
    key, of = next(iter(rule.items()))
    corpus = rule["level"] == "corpus"

    def blocks_of(label):
        return lambda words, y: plain.n_blocks(y, label)

    if key in ("at_most_once", "exactly_once", "present"):
        side = {"at_most_once": (None, 1), "exactly_once": (1, 1), "present": (1, None)}[key]
        return [(blocks_of(label), side, 1) for label in (labels if of == "all" else of)]
    if key == "count":
        tokens = rule.get("of", "blocks") == "tokens"
        return [
            ((lambda words, y, z=z: list(y).count(z)) if tokens else blocks_of(z), target, len(X) if corpus else 1)
            for z, target in of.items()
        ]
    if key == "proportion":
        if corpus:
            n = sum(map(len, X))
            return [(lambda words, y, z=z: list(y).count(z), share, n) for z, share in of.items()]
        return [(lambda words, y, z=z: list(y).count(z) / len(y), share, 1) for z, share in of.items()]
    if key in ("words", "pattern"):

        def spoken(words, y, well):
            return len([t for t in plain.places_of_words(words, rule) if plain.obeys(y[t], rule) == well])

        if corpus:
            n = sum(len(plain.places_of_words(words, rule)) for words in X)
            return [(lambda words, y: spoken(words, y, True), rule.get("fraction", 1), n)] if n else []
        return [(lambda words, y: spoken(words, y, False), (None, 0), 1)]
    if key == "change_only_on":
        side = rule.get("side", "after")
        if corpus:
            both = (
                lambda words, y: len(plain.changes_elsewhere(words, y, of, side)),
                lambda words, y: len(plain.changes(y)),
            )
            return [(both, rule["fraction"], len(X))]
        return [(lambda words, y: len(plain.changes_elsewhere(words, y, of, side)), (None, 0), 1)]
    wrong = {
        "starts_with": lambda words, y: plain.starts_with(y, of),
        "ends_with": lambda words, y: plain.ends_with(y, of),
        "follows": lambda words, y: plain.wrong_followers(y, of),
        "never_follows": lambda words, y: plain.forbidden_followers(y, of),
        "change_after": lambda words, y: plain.stays(words, y, of, rule.get("labels", labels)),
        "block_starts_with": lambda words, y: plain.wrong_edges(words, y, of, last=False),
        "block_ends_with": lambda words, y: plain.wrong_edges(words, y, of, last=True),
        "votes": lambda words, y: plain.unheard(words, y, of["column"]),
    }[key]
    return [(wrong, (None, 0), 1)]


def rows_of(rule, X, labels, softness):
    """The rows of a rule; softness(n) is the slack of a rule without a weight that speaks of n events."""
    open_weight, rule = "weight" not in rule, plain.explicit(plain.complete(rule), labels)
    out = []
    for quantity, target, n in quantities(rule, X, labels):
        if "if" in rule:  # a condition on the text
            quantity = lambda w, y, f=quantity: f(w, y) if plain.holds(rule["if"], w, y) else 0  # noqa: E731
        low, high = target if isinstance(target, tuple) else (target, target)
        is_share = "proportion" in rule or "fraction" in rule
        unit = 100 if is_share and rule.get("unit") == "percent" else 1
        if open_weight:
            slack, price = softness(n), inf
        elif rule["weight"] == "hard":
            slack, price = 0, inf
        elif rule["penalty"] == "square":
            slack, price = n * n / (2 * rule["weight"] * unit * unit), inf
        else:
            slack, price = 0, rule["weight"] * unit / n
        for sign, side in ((1, high), (-1, low)):
            if side is None or (sign < 0 and (low == high or low <= 0)):
                continue
            if isinstance(quantity, tuple):  # E[some] = side * E[all] in place of a ratio
                some, every = quantity
                value, bound = (lambda w, y, s=sign, b=side, f=some, g=every: s * (f(w, y) - b * g(w, y))), 0
            else:
                value, bound = (lambda w, y, s=sign, f=quantity: s * f(w, y)), sign * side * n
            out.append(Row(rule["level"], value, bound, low == high, slack, price))
    return out


class Problem(NamedTuple):
    """For every sequence: its scores (P,), what instance rows (P, J) and corpus rows (P, M) measure; and the rows."""

    scores: list
    instance: list
    corpus: list
    of_instance: list
    of_corpus: list


def problem(X, labels, listed, rules, softness):
    """listed  of every sequence {labelling as numbers: score}"""
    rows = [row for rule in rules for row in rows_of(rule, X, labels, softness)]
    by_level = [[row for row in rows if row.level == level] for level in ("instance", "corpus")]
    scores, measured = [], ([], [])
    for words, paths in zip(X, listed, strict=True):
        scores.append(np.array(list(paths.values())))
        names = [[labels[z] for z in path] for path in paths]
        for found, some in zip(measured, by_level, strict=True):
            found.append(
                np.array([[row.value(words, y) for row in some] for y in names], float).reshape(len(names), -1)
            )
    return Problem(scores, *measured, *by_level)


def cost(row, expected):
    xi = abs(expected - row.bound) if row.equal else max(expected - row.bound, 0.0)
    return xi * xi / (2 * row.slack) if row.slack else row.price * xi if xi > 0 else 0.0


def primal(p, q, T):
    """E_q[-score] - T entropy + cost, of distributions q."""
    total = 0.0
    for own, s, a in zip(q, p.scores, p.instance, strict=True):
        some = own > 0
        total += -own @ s + T * own[some] @ np.log(own[some])
        total += sum(cost(row, e) for row, e in zip(p.of_instance, own @ a, strict=True))
    every = sum(own @ b for own, b in zip(q, p.corpus, strict=True))
    return total + sum(cost(row, e) for row, e in zip(p.of_corpus, every, strict=True))


def tilted(p, instance, corpus, T):
    """The distributions that multipliers stand for."""
    parts = zip(p.scores, p.instance, p.corpus, instance, strict=True)
    return [softmax((s - a @ x - b @ corpus) / T) for s, a, b, x in parts]


def pull(p):
    """The most that rows with slack can set against those that allow nothing."""
    own = [(row, max(np.abs(a[:, j] - row.bound).max() for a in p.instance)) for j, row in enumerate(p.of_instance)]
    shared = [(row, sum(np.abs(b[:, m]).max() for b in p.corpus) + abs(row.bound)) for m, row in enumerate(p.of_corpus)]
    return sum(beyond / row.slack for row, beyond in own + shared if row.slack)


def project(p, T):
    """(q, value of the dual) by a general solver of the dual with all multipliers at once."""
    n, J = len(p.scores), len(p.of_instance)
    largest = 200.0 + 10 * pull(p)  # the limit of multipliers of rows that allow nothing; one can stand for ten tokens
    rows = [*p.of_instance] * n + [*p.of_corpus]
    bound, slack = np.array([row.bound for row in rows], float), np.array([row.slack for row in rows], float)
    most = [row.price if row.slack or row.price < inf else largest for row in rows]
    unit = 1 / np.sqrt(slack + 1)  # what makes all of them about equally stiff
    box = [(-m / u if row.equal else 0.0, m / u) for row, m, u in zip(rows, most, unit, strict=True)]

    def split(x):
        return x[: n * J].reshape(n, J), x[n * J :]

    def negated(z):
        x = unit * z
        own, shared = split(x)
        q = tilted(p, own, shared, T)
        parts = zip(p.scores, p.instance, p.corpus, own, strict=True)
        log_z = sum(T * logsumexp((s - a @ v - b @ shared) / T) for s, a, b, v in parts)
        expected = [own_q @ a for own_q, a in zip(q, p.instance, strict=True)]
        expected.append(sum(own_q @ b for own_q, b in zip(q, p.corpus, strict=True)))
        return log_z + bound @ x + 0.5 * slack @ x**2, unit * (bound + slack * x - np.concatenate(expected))

    z, value, before = np.zeros(len(rows)), 0.0, inf
    while len(rows) and not np.isclose(value, before, rtol=1e-9, atol=1e-12):  # afresh, lest it stopped on a bad line
        options = {"maxiter": 10_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-10, "maxcor": 50}
        found = minimize(negated, z, jac=True, method="L-BFGS-B", bounds=box, options=options)
        z, value, before = found.x, found.fun, value
    return tilted(p, *split(unit * z), T), -negated(z)[0]


def feasible(p):
    """Some distributions meet all rows that have neither slack nor a price."""
    sizes = [len(s) for s in p.scores]
    first = np.concatenate([[0], np.cumsum(sizes)])
    upper, upper_bound, same, same_bound = [], [], [], []

    def add(row, coefficients):
        if row.slack == 0 and row.price == inf:
            (same if row.equal else upper).append(coefficients)
            (same_bound if row.equal else upper_bound).append(row.bound)

    for i, a in enumerate(p.instance):
        whole = np.zeros(first[-1])
        whole[first[i] : first[i + 1]] = 1
        same.append(whole)
        same_bound.append(1.0)
        for j, row in enumerate(p.of_instance):
            own = np.zeros(first[-1])
            own[first[i] : first[i + 1]] = a[:, j]
            add(row, own)
    for m, row in enumerate(p.of_corpus):
        add(row, np.concatenate([b[:, m] for b in p.corpus]))
    sides = {"A_ub": np.array(upper), "b_ub": upper_bound} if upper else {}
    return linprog(np.zeros(first[-1]), A_eq=np.array(same), b_eq=same_bound, bounds=(0, 1), **sides).status == 0
