"""What a model knows about how right it is, learned from answers to sequences that it had not learned from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semistruct.calibration.cases import LEVELS, Cases, Scores, spread
from semistruct.calibration.curves import KINDS, LARGEST, LOG_ODDS, MARGINS, PRIORS, Curve, fit
from semistruct.calibration.promises import Record
from semistruct.labels import Span

ACCEPTED_BY = {"sequence": "sequence", "field": "block"}
"""What can be accepted, and the level of it."""
TIMES = 3  # that the curve of tokens is fitted again to the tokens that it decides about


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
        joined = _joined(list(parts))
        priors = {level: PRIORS[kind, ruled, level] for level in LEVELS}
        curves = {level: fit(one.score, one.right, kind, priors[level]) for level, one in joined.items()}
        tokens, least = joined["token"], _least(joined["token"], curves)
        for _ in range(TIMES):
            own = curves["token"](tokens.score) > least
            curves["token"] = fit(tokens.score[own], tokens.right[own], kind, priors["token"])
        records = {level: Record.of(joined[level], curves[level]) for level in ACCEPTED_BY.values()}
        return cls(kind, curves, records)

    def probabilities(self, scores: Scores, blocks: Sequence[Span]) -> Scores:
        """How likely the labels with these scores and blocks are right: tokens, blocks and all of them.

        A block is at least as likely right as its sequence, and a token as its block: where the larger part has a
        score that speaks for more, it says what the score of the smaller part alone does not.
        """
        sequence = float(self.curves["sequence"](scores.sequence))
        block = np.maximum(self.curves["block"](scores.block), sequence)
        least = spread(block, blocks, len(scores.token), sequence)
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
        """What models of other data told, for one whose own answers nobody has looked at; `exact`: it has odds."""
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


def _joined(parts: list[dict[str, Cases]]) -> dict[str, Cases]:
    out = {}
    for level in LEVELS:
        found = [part[level] for part in parts]
        first = np.cumsum([0, *(int(one.owner.max(initial=-1)) + 1 for one in found)])
        out[level] = Cases(
            np.clip(np.concatenate([np.zeros(0), *(one.score for one in found)]), -LARGEST, LARGEST),
            np.concatenate([np.zeros(0, bool), *(one.right for one in found)]),
            np.concatenate([np.zeros(0, np.int64), *(one.owner + k for one, k in zip(found, first, strict=False))]),
            np.concatenate([np.zeros(0), *(one.block for one in found)]),
            np.concatenate([np.zeros(0), *(one.sequence for one in found)]),
        )
    return out


def _least(cases: Cases, curves: dict[str, Curve]) -> np.ndarray:
    """How likely each case is right at least, as its block or its sequence is so likely right as a whole."""
    block = np.where(cases.block == -np.inf, 0.0, curves["block"](cases.block))
    return np.maximum(block, curves["sequence"](cases.sequence))
