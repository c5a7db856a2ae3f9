"""How right a model is, learned from answers to sequences that it had not learned from.

The probability that an answer with score s is right is  p(s) = 1 / (1 + exp(-(a + b f(s)))).  f squeezes margins, as
large ones differ less in what they mean than small ones, and leaves logarithms of odds as they are.  The two numbers a
and b are learned from answers whose truth is known.  While there are few of them, a prior decides: what the numbers
were on other data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semistruct.data.labels import Span
from semistruct.model.answers import LEVELS, Cases, Scores, at_tokens
from semistruct.model.promises import ACCEPTED_BY, Record

MARGINS, LOG_ODDS = "margins", "log odds"
KINDS = (MARGINS, LOG_ODDS)
LARGEST = 1e6  # of a margin; it is infinite where there is only one label
SUREST = 35.0  # of the logarithm of odds, as far as 64 bits can tell
STEPS = 100  # of Newton's method
TIMES = 3  # that the curve of tokens is fitted again to the tokens that it decides about
BINS = 10  # of probabilities that are compared with what happened


@dataclass(frozen=True)
class Curve:
    """The probability of being right by score; kind says what scores are."""

    a: float
    b: float
    kind: str

    def __call__(self, score: Any) -> np.ndarray:
        return _sigmoid(self.a + self.b * _squeezed(np.asarray(score, float), self.kind))


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
    x = np.column_stack([np.ones(len(score)), _squeezed(score, kind)])
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


def _squeezed(score: np.ndarray, kind: str) -> np.ndarray:
    """f(s)."""
    return np.clip(score, -SUREST, SUREST) if kind == LOG_ODDS else np.arcsinh(np.clip(score, -LARGEST, LARGEST))


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(z, -700, 700))))


@dataclass(frozen=True)
class Standing:
    """How right one way of labelling is, without rules or under them.

    kind     what scores are: margins, or logarithms of odds
    curves   by level
    records  of blocks and sequences that were held out
    """

    kind: str
    curves: dict[str, Curve]
    records: dict[str, Record]

    @classmethod
    def of(cls, kind: str, ruled: bool, parts: Iterable[dict[str, Cases]]) -> Standing:
        """From cases by level, in parts whose sequences are numbered each from 0."""
        found = list(parts)
        joined = {level: Cases.joined([part[level] for part in found]) for level in LEVELS}
        joined = {level: replace(case, score=np.clip(case.score, -LARGEST, LARGEST)) for level, case in joined.items()}
        priors = {level: PRIORS[kind, ruled, level] for level in LEVELS}
        curves = {level: fit(case.score, case.right, kind, priors[level]) for level, case in joined.items()}
        tokens = joined["token"]
        block = np.where(tokens.block == -np.inf, 0.0, curves["block"](tokens.block))
        least = np.maximum(block, curves["sequence"](tokens.sequence))  # a token is as likely right as what it is in
        for _ in range(TIMES):
            own = curves["token"](tokens.score) > least
            curves["token"] = fit(tokens.score[own], tokens.right[own], kind, priors["token"])
        records = {
            level: Record.of(joined[level], curves[level](joined[level].score)) for level in ACCEPTED_BY.values()
        }
        return cls(kind, curves, records)

    def probabilities(self, scores: Scores, blocks: Sequence[Span]) -> Scores:
        """How likely the labels with these scores and blocks are right: tokens, blocks and all of them.

        A block is at least as likely right as its sequence, and a token as its block: where the larger part has a
        score that speaks for more, it says what the score of the smaller part alone does not.
        """
        sequence = float(self.curves["sequence"](scores.sequence))
        block = np.maximum(self.curves["block"](scores.block), sequence)
        least = at_tokens(block, blocks, len(scores.token), sequence)
        return Scores(np.maximum(self.curves["token"](scores.token), least), block, sequence)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "curves": {level: [curve.a, curve.b] for level, curve in self.curves.items()},
            "records": {level: record.to_dict() for level, record in self.records.items()},
        }

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> Standing:
        kind = about["kind"]
        if kind not in KINDS:
            raise ValueError(f"there is no kind of scores {kind!r}")
        numbers = {level: [float(number) for number in about["curves"][level]] for level in LEVELS}
        if not all(len(pair) == 2 and np.isfinite(pair).all() and pair[1] >= 0 for pair in numbers.values()):
            raise ValueError("a curve of the calibration is not two numbers")
        records = {level: Record.from_dict(about["records"][level]) for level in ACCEPTED_BY.values()}
        return cls(kind, {level: Curve(a, b, kind) for level, (a, b) in numbers.items()}, records)


@dataclass(frozen=True)
class Calibration:
    """How right a model is.

    learned_from  "dev data", "cross-fitting" or "other data": whose answers it is learned from
    plain, ruled  without rules, and under those of the model, None if it has none
    """

    learned_from: str
    plain: Standing
    ruled: Standing | None = None

    @classmethod
    def unlearned(cls, exact: bool) -> Calibration:
        """The priors, for a model without held-out answers; `exact`: its scores are logarithms of odds."""
        return cls("other data", Standing.of(LOG_ODDS if exact else MARGINS, False, ()), Standing.of(MARGINS, True, ()))

    def of(self, ruled: bool) -> Standing:
        """For labels under rules, or without.  Where the model has no rules, those of others change nothing."""
        return self.ruled if ruled and self.ruled is not None else self.plain

    @property
    def card(self) -> dict[str, Any]:
        """For the card of a model: what it is learned from, and how many sequences were held out."""
        return {"from": self.learned_from, "sequences": self.plain.records["sequence"].total}

    def to_dict(self) -> dict[str, Any]:
        ruled = None if self.ruled is None else self.ruled.to_dict()
        return {"from": self.learned_from, "plain": self.plain.to_dict(), "ruled": ruled}

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> Calibration:
        ruled = None if about["ruled"] is None else Standing.from_dict(about["ruled"])
        return cls(str(about["from"]), Standing.from_dict(about["plain"]), ruled)


def reliability(p: np.ndarray, right: np.ndarray) -> list[dict[str, float]]:
    """Answers sorted by probability, in parts of equal size: their number, mean probability and share of right ones."""
    parts = [part for part in np.array_split(np.argsort(p, kind="stable"), BINS) if len(part)]
    return [
        {"n": len(part), "probability": float(p[part].mean()), "right": float(right[part].mean())} for part in parts
    ]


def calibration_error(bins: list[dict[str, float]]) -> float:
    """The expected calibration error: by how much probability and share of right answers differ, on average."""
    total = sum(row["n"] for row in bins)
    return sum(row["n"] * abs(row["probability"] - row["right"]) for row in bins) / total if total else 0.0


def by_chance(p: np.ndarray) -> float:
    """About the calibration error that perfect probabilities would show, as so few answers agree with them by chance.

    The mean of a part differs from its expectation by 0.8 standard deviations on average.
    """
    parts = np.array_split(np.sort(p), BINS)
    return float(sum(np.sqrt(2 / np.pi * np.sum(part * (1 - part))) for part in parts)) / max(len(p), 1)


def coverage(p: np.ndarray, right: np.ndarray) -> list[dict[str, Any]]:
    """Of the surest tenth, two tenths, ... of the answers: how many are right."""
    order = np.argsort(-p, kind="stable")
    hits = np.cumsum(right[order])
    out = []
    for share in np.arange(1, 11) / 10:
        n = max(round(float(share) * len(p)), 1)
        right_share, least = float(hits[n - 1] / n), float(p[order[n - 1]])
        out.append({"share": float(share), "n": n, "right": right_share, "probability": least})
    return out
