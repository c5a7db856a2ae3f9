"""What the next labels are expected to bring, and whether that is worth the work.

The error of most learners falls as a power of the number of labels, error = a * n ** -b.  Such a law is fitted to the
points of a curve, once for each held-out part; the spread of what the laws foretell says how far to trust them.
What picked labels bring more than random ones is measured at one of the sizes, and shrinks as the law does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isnan, log, sqrt
from typing import Any

from semistruct.experiments import statistics

NEXT = 10  # labels
LEAST = 1e-6  # an error of 0 has no logarithm


@dataclass(frozen=True)
class Law:
    """error = scale * n ** -power, with a power that is not negative."""

    scale: float
    power: float

    @classmethod
    def through(cls, sizes: Sequence[int], errors: Sequence[float]) -> Law:
        """The law with the least squares in logarithms."""
        x, y = [log(n) for n in sizes], [log(max(error, LEAST)) for error in errors]
        middle, level = statistics.mean(x), statistics.mean(y)
        width = sum((a - middle) ** 2 for a in x)
        slope = sum((a - middle) * (b - level) for a, b in zip(x, y, strict=True)) / width if width else 0.0
        power = max(-slope, 0.0)
        return cls(exp(level + power * middle), power)

    def error(self, n: float) -> float:
        return self.scale * n**-self.power

    def gain(self, n: int, more: int = NEXT) -> float:
        """By how much the error falls from n labels to `more` of them."""
        return self.error(n) - self.error(n + more)


@dataclass(frozen=True)
class Trial:
    """Scores of the parts with n labels, and with NEXT more: random ones and picked ones."""

    n: int
    before: list[float]
    random: list[float]
    picked: list[float]


@dataclass(frozen=True)
class Expected:
    """A gain, and its standard error over the parts."""

    gain: float
    error: float

    @classmethod
    def of(cls, gains: Sequence[float]) -> Expected:
        deviation = statistics.deviation(gains)
        return cls(statistics.mean(gains), 0.0 if isnan(deviation) else deviation / sqrt(len(gains)))

    def __str__(self) -> str:
        return f"{100 * self.gain:+.1f} ± {100 * self.error:.1f}"


@dataclass(frozen=True)
class Outlook:
    """What NEXT more labels should bring; picked is None if that could not be measured."""

    random: Expected
    picked: Expected | None

    @classmethod
    def of(cls, sizes: Sequence[int], scores: Sequence[Sequence[float]], trial: Trial | None) -> Outlook:
        """From scores[k] of the parts with sizes[k] labels."""
        laws = [Law.through(sizes, [1 - score for score in part]) for part in zip(*scores, strict=True)]
        last = sizes[-1]
        by_chance = [law.gain(last) for law in laws]
        if trial is None:
            return cls(Expected.of(by_chance), None)
        more = [b - a for a, b in zip(trial.random, trial.picked, strict=True)]
        shrunk = [
            gain + extra * (gain / law.gain(trial.n) if law.power else trial.n / last)
            for law, gain, extra in zip(laws, by_chance, more, strict=True)
        ]
        return cls(Expected.of(by_chance), Expected.of(shrunk))

    @property
    def most(self) -> float:
        return max(self.random.gain, self.random.gain if self.picked is None else self.picked.gain)

    def row(self, threshold: float) -> dict[str, Any]:
        """Plain numbers."""
        cells = {"random": self.random, "picked": self.picked}
        found = {key: None if cell is None else {"gain": cell.gain, "error": cell.error} for key, cell in cells.items()}
        return {"labels": NEXT, **found, "threshold": threshold, "worthwhile": self.most >= threshold}

    def words(self, threshold: float) -> list[str]:
        """The expectation, and what follows from it."""
        picked = "" if self.picked is None else f", and {self.picked} if `semistruct pick` chooses them"
        told = f"The next {NEXT} labels should bring {self.random} points at random{picked}."
        if self.most >= threshold:
            return [told, f"It pays to label more: that is at least {100 * threshold:.1f} points."]
        instead = "better rules or features or a larger pool may help more"
        return [told, f"That is less than {100 * threshold:.1f} points: labelling more is not worthwhile; {instead}."]
