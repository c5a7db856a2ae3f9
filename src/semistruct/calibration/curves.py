"""How likely an answer with a certain score is right:  p(s) = 1 / (1 + exp(-(a + b f(s)))).

f squeezes margins, as large ones differ less in what they mean than small ones, and leaves logarithms of odds as they
are.  The two numbers a and b are learned from answers whose truth is known.  While there are few of them, a prior
decides: what the numbers were on other data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

MARGINS, LOG_ODDS = "margins", "log odds"
KINDS = (MARGINS, LOG_ODDS)
LARGEST = 1e6  # of a margin; it is infinite where there is only one label
SUREST = 35.0  # of the logarithm of odds, as far as 64 bits can tell
STEPS = 100  # of Newton's method


@dataclass(frozen=True)
class Curve:
    """The probability of being right by score; kind says what scores are."""

    a: float
    b: float
    kind: str

    def __call__(self, score: Any) -> np.ndarray:
        return _sigmoid(self.a + self.b * _seen_as(np.asarray(score, float), self.kind))


@dataclass(frozen=True)
class Prior:
    """What a and b are without any case, and their standard deviations; worth is what each case counts.

    Cases of one sequence resemble each other, so that those of tokens and blocks count less than one.
    """

    a: float
    b: float
    spread_a: float
    spread_b: float
    worth: float


PRIORS = {  # by the kind of score, whether rules have a say, and the level; from what small models did on four corpora
    (MARGINS, False, "token"): Prior(-0.9, 2.2, 0.3, 0.6, 0.2),
    (MARGINS, False, "block"): Prior(0.0, 3.7, 0.8, 1.5, 0.5),
    (MARGINS, False, "sequence"): Prior(0.3, 4.5, 0.8, 0.7, 1.0),
    (MARGINS, True, "token"): Prior(-0.75, 1.6, 0.4, 0.4, 0.2),
    (MARGINS, True, "block"): Prior(-0.2, 2.3, 0.8, 1.5, 0.5),
    (MARGINS, True, "sequence"): Prior(-0.9, 3.0, 0.8, 0.7, 1.0),
    (LOG_ODDS, False, "token"): Prior(-0.3, 0.8, 0.4, 0.3, 0.2),
    (LOG_ODDS, False, "block"): Prior(-0.2, 0.8, 0.8, 0.4, 0.5),
    (LOG_ODDS, False, "sequence"): Prior(0.0, 0.8, 0.8, 0.4, 1.0),
}


def fit(score: np.ndarray, right: np.ndarray, kind: str, prior: Prior) -> Curve:
    """The most probable curve, given cases: by Newton's method."""
    x = np.column_stack([np.ones(len(score)), _seen_as(score, kind)])
    centre, precision = np.array([prior.a, prior.b]), np.array([prior.spread_a, prior.spread_b]) ** -2.0
    w, y = centre.copy(), right.astype(float)

    def loss(w: np.ndarray) -> float:
        z = x @ w
        return prior.worth * float(np.sum(np.logaddexp(0, z) - y * z)) + 0.5 * float(precision @ (w - centre) ** 2)

    now = loss(w)
    for _ in range(STEPS):
        p = _sigmoid(x @ w)
        gradient = prior.worth * (x.T @ (p - y)) + precision * (w - centre)
        hessian = prior.worth * (x.T * (p * (1 - p))) @ x + np.diag(precision)
        step, size = np.linalg.solve(hessian, gradient), 1.0
        while loss(w - size * step) > now and size > 1e-9:
            size /= 2
        w = w - size * step
        before, now = now, loss(w)
        if before - now < 1e-12:
            break
    return Curve(float(w[0]), max(float(w[1]), 0.0), kind)


def _seen_as(score: np.ndarray, kind: str) -> np.ndarray:
    """f(s)."""
    return np.clip(score, -SUREST, SUREST) if kind == LOG_ODDS else np.arcsinh(np.clip(score, -LARGEST, LARGEST))


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(z, -700, 700))))
