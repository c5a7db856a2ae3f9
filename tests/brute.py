"""Reference answers by the plainest means: every labelling is listed, every feature vector written out.

Slow on purpose, and independent: nothing here is imported from semistruct.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

# chains ----------------------------------------------------------------------------------------------------


def labellings(T, Y):
    return list(product(range(Y), repeat=T))


def score(unary, step, kind, path):
    """The score of one labelling; kind[t] leads into position t."""
    total = sum(unary[t, y] for t, y in enumerate(path))
    return total + sum(step[kind[t], path[t - 1], path[t]] for t in range(1, len(path)))


def best_score(unary, step, kind):
    return max(score(unary, step, kind, p) for p in labellings(*unary.shape))


def best_path(unary, step, kind):
    """Of the best labellings the one with the smallest last label, then the smallest last but one, ..."""
    top = best_score(unary, step, kind)
    ties = [p for p in labellings(*unary.shape) if score(unary, step, kind, p) == top]
    return min(ties, key=lambda p: p[::-1])


def sorted_scores(unary, step, kind, k):
    """The k largest scores, -inf where there are no more labellings."""
    found = sorted((score(unary, step, kind, p) for p in labellings(*unary.shape)), reverse=True)
    return np.array((found + [-np.inf] * k)[:k])


def best_prefix(unary, step, kind):
    """[t, z]: the best score of positions 0..t with z at t."""
    out = np.full(unary.shape, -np.inf)
    for t in range(len(unary)):
        for p in labellings(t + 1, unary.shape[1]):
            out[t, p[-1]] = max(out[t, p[-1]], score(unary[: t + 1], step, kind, p))
    return out


def best_suffix(unary, step, kind):
    """[t, y]: the best score that positions t+1.. can add to y at t."""
    T, Y = unary.shape
    out = np.full(unary.shape, -np.inf)
    for t in range(T):
        nothing_here = unary[t:].copy()
        nothing_here[0] = 0.0
        for p in labellings(T - t, Y):
            out[t, p[0]] = max(out[t, p[0]], score(nothing_here, step, kind[t:], p))
    return out


def max_marginals(unary, step, kind):
    """[t, y]: the best score of a labelling with y at t."""
    out = np.full(unary.shape, -np.inf)
    for p in labellings(*unary.shape):
        for t, y in enumerate(p):
            out[t, y] = max(out[t, y], score(unary, step, kind, p))
    return out


def distribution(unary, step, kind):
    """log Z, the marginals (T, Y) and the expected number of steps (K, Y, Y)."""
    paths = labellings(*unary.shape)
    scores = np.array([score(unary, step, kind, p) for p in paths])
    marginal, steps = np.zeros(unary.shape), np.zeros(step.shape)
    if scores.max() == -np.inf:
        return -np.inf, np.full(unary.shape, np.nan), steps
    log_z = scores.max() + np.log(np.exp(scores - scores.max()).sum())
    for p, s in zip(paths, scores, strict=True):
        for t, y in enumerate(p):
            marginal[t, y] += np.exp(s - log_z)
            if t > 0:
                steps[kind[t], p[t - 1], y] += np.exp(s - log_z)
    return log_z, marginal, steps


def pairs(unary, step, kind):
    """[t, y, z]: the probability of y at t-1 and z at t; nothing at t = 0."""
    log_z, _, _ = distribution(unary, step, kind)
    out = np.zeros((len(unary), *step.shape[1:]))
    for p in labellings(*unary.shape):
        for t in range(1, len(p)):
            out[t, p[t - 1], p[t]] += np.exp(score(unary, step, kind, p) - log_z)
    return out


def allowed_only(unary, known):
    """Labels that are not the known one are forbidden; -1: not known."""
    out = unary.copy()
    for t, k in enumerate(known):
        for y in range(unary.shape[1]):
            if k not in (-1, y):
                out[t, y] = -np.inf
    return out


# the structural SVM ----------------------------------------------------------------------------------------


class Case(NamedTuple):
    """One example: dense rows (T, F), kinds (T,), the labelling that should win, C and the cost per token."""

    rows: np.ndarray
    kind: np.ndarray
    target: tuple
    C: float
    cost: np.ndarray


def joint_features(case, path, Y, K):
    """f(x, y): the rows by label, then the steps; table 0 counts all steps, table k > 0 those of kind k."""
    tokens, steps = np.zeros((case.rows.shape[1], Y)), np.zeros((K, Y, Y))
    for t, y in enumerate(path):
        tokens[:, y] += case.rows[t]
        if t > 0:
            for table in {0, int(case.kind[t])}:
                steps[table, path[t - 1], y] += 1
    return np.concatenate([tokens.ravel(), steps.ravel()])


def loss(case, path):
    return sum(c for c, y, z in zip(case.cost, path, case.target, strict=True) if y != z)


def margins(case, Y, K):
    """For every labelling y the row f(target) - f(y), and the loss of y."""
    paths = labellings(len(case.rows), Y)
    truth = joint_features(case, case.target, Y, K)
    rows = np.array([truth - joint_features(case, p, Y, K) for p in paths])
    return rows, np.array([loss(case, p) for p in paths])


def primal(cases, Y, K, w):
    total = 0.5 * w @ w
    for case in cases:
        rows, losses = margins(case, Y, K)
        total += case.C * np.max(losses - rows @ w)
    return total


def dual_point(cases, working_sets, Y, K):
    """(w, D) of dual variables given as one list of (labelling, alpha) per example."""
    w, gain = 0.0, 0.0
    for case, pairs in zip(cases, working_sets, strict=True):
        truth = joint_features(case, case.target, Y, K)
        for path, alpha in pairs:
            w = w + case.C * alpha * (truth - joint_features(case, path, Y, K))
            gain += case.C * alpha * loss(case, path)
    return w, gain - 0.5 * w @ w


def svm_optimum(cases, Y, K):
    """The optimal w: a quadratic program with one slack per example and one row per labelling."""
    parts = [margins(case, Y, K) for case in cases]
    size, n = parts[0][0].shape[1], len(cases)
    owner = np.repeat(np.arange(n), [len(losses) for _, losses in parts])
    left = np.hstack([np.concatenate([rows for rows, _ in parts]), np.eye(n)[owner]])
    right = np.concatenate([losses for _, losses in parts])
    C = np.array([case.C for case in cases])
    slack = [losses.max() for _, losses in parts]
    found = minimize(
        lambda v: 0.5 * v[:size] @ v[:size] + C @ v[size:],
        np.concatenate([np.zeros(size), slack]),
        jac=lambda v: np.concatenate([v[:size], C]),
        constraints={"type": "ineq", "fun": lambda v: left @ v - right, "jac": lambda v: left},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    return found.x[:size]


# the conditional random field ------------------------------------------------------------------------------


class Learned(NamedTuple):
    """One example: dense rows (T, F), kinds (T,), C, and the share of every labelling in what is to be learned.

    Instead of shares, labels (T,) of which those that are -1 may be anything.
    """

    rows: np.ndarray
    kind: np.ndarray
    C: float
    goal: dict | tuple


def random_field(examples, Y, K):
    """w -> (P(w), its gradient), P = 1/2 |w|^2 + sum_i C_i (log Z_i - score of what is to be learned)."""
    parts = []
    for e in examples:
        paths = labellings(len(e.rows), Y)
        features = np.array([joint_features(e, p, Y, K) for p in paths])
        fits = None
        if not isinstance(e.goal, dict):
            fits = np.array([all(k in (-1, y) for k, y in zip(e.goal, p, strict=True)) for p in paths])
        share = None if fits is not None else np.array([e.goal.get(p, 0.0) for p in paths])
        parts.append((e.C, features, fits, share))

    def value(w):
        total, gradient = 0.5 * w @ w, w.copy()
        for C, features, fits, share in parts:
            scores = features @ w
            goal = share @ scores if fits is None else logsumexp(scores[fits])
            wanted = share @ features if fits is None else softmax(scores[fits]) @ features[fits]
            total += C * (logsumexp(scores) - goal)
            gradient += C * (softmax(scores) @ features - wanted)
        return total, gradient

    return value


# features --------------------------------------------------------------------------------------------------


def shape(word):
    """Upper case, lower case and digits as A, a, 0; neighbours that are equal are written once."""
    out = ""
    for c in word:
        k = "A" if c.isupper() else "a" if c.isalpha() else "0" if c.isdigit() else c
        if not out.endswith(k):
            out += k
    return out


WORDS = {
    "word": lambda word: {word},
    "lower": lambda word: {word.lower()},
    "shape": lambda word: {shape(word)},
    "digits": lambda word: {str(min(len(word), 5))} if word.isdigit() else set(),
    "prefix(1-2)": lambda word: {word.lower()[:k] for k in (1, 2) if len(word.lower()) > k},
    "suffix(2)": lambda word: {word.lower()[-2:]} if len(word.lower()) > 2 else set(),
}
"""The values of some word templates by label."""


def doubling(n):
    """0, 1, 2-3, 4-7, ... are 0, 1, 2, 3, ..."""
    return next(k for k in range(100) if n < 2**k)


def is_sign(word):
    return not any(c.isalnum() for c in word)


def nearest_sign(words):
    return next((word for word in words if is_sign(word)), "^")


def enclosed(words, t):
    """Whether word t is inside brackets or quotes, by walking there from the left."""
    brackets = quotes = False
    for k, word in enumerate(words[: t + 1]):
        brackets = (brackets and words[k - 1] not in (")", "]", "}")) or word in ("(", "[", "{")
        quotes = quotes != (word in ('"', "``", "''", "“", "”"))
    return ["brackets"] * brackets + ["quotes"] * quotes


SEQUENCES = {
    "begin": lambda words, t: ["yes"] * (t == 0),
    "end": lambda words, t: ["yes"] * (t == len(words) - 1),
    "bigram": lambda words, t: [f"{words[t - 1].lower() if t else '^'} {words[t].lower()}"],
    "shapes": lambda words, t: [f"{shape(words[t - 1]) if t else '^'} {shape(words[t])}"],
    "position": lambda words, t: [f"<{doubling(t)}", f">{doubling(len(words) - 1 - t)}"],
    "places": lambda words, t: [f"<{min(t, 4)}", f">{min(len(words) - 1 - t, 4)}"],
    "enclosed": enclosed,
    "signs": lambda words, t: [f"<{nearest_sign(words[:t][::-1])}", f">{nearest_sign(words[t + 1 :])}"],
}
"""The values of sequence templates at word t."""


def step_kind(words, t):
    """The kind of the step into word t: after a word, a full stop, a comma, another sign, a line break."""
    before = words[t - 1] if t else "a"
    kinds = {".": 1, ",": 2, "*NEWLINE*": 4}
    return kinds.get(before, 3 if is_sign(before) else 0)


def sequence_features(words):
    """(label, value) pairs of each position for begin, end, bigram and position."""
    labels = ("begin", "end", "bigram", "position")
    return [{(label, v) for label in labels for v in SEQUENCES[label](words, t)} for t in range(len(words))]


def encoded(sequences, windows, known=None):
    """The feature names of every token of every sequence.

    windows  label -> offsets, for labels of WORDS
    known    sequences whose (label, value) pairs are the only ones to count; None: all
    """
    vocabulary = None
    if known is not None:
        vocabulary = {pair for words in known for pairs in sequence_features(words) for pair in pairs}
        vocabulary |= {(label, v) for words in known for w in words for label in windows for v in WORDS[label](w)}
    out = []
    for words in sequences:
        for t, pairs in enumerate(sequence_features(words)):
            triples = {(label, 0, value) for label, value in pairs}
            for label, offsets in windows.items():
                for o in offsets:
                    if 0 <= t + o < len(words):
                        triples |= {(label, o, value) for value in WORDS[label](words[t + o])}
            kept = {x for x in triples if vocabulary is None or (x[0], x[2]) in vocabulary}
            out.append({f"{a}={v}" if o == 0 else f"{a}[{o:+d}]={v}" for a, o, v in kept})
    return out
