"""What rules of the vocabulary share: ranges, other labels, and lists in words."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf


def bounds(target: float | tuple[float | None, float | None]) -> tuple[float, float]:
    if isinstance(target, tuple):
        low, high = target
        return (-inf if low is None else low, inf if high is None else high)
    return target, target


def factor(unit: str) -> float:
    return 100.0 if unit == "percent" else 1.0


def others(labels: Sequence[str], these: Sequence[str]) -> frozenset[str]:
    return frozenset(labels) - frozenset(these)


def any_of(names: Sequence[str], word: str = "or") -> str:
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def all_of(names: Sequence[str]) -> str:
    return any_of(names, "and")


def of_labels(labels: Sequence[str] | None) -> str:
    return f" of {any_of(labels)}" if labels else ""


def range_text(target: float | tuple[float | None, float | None], percent: bool = False) -> str:
    low, high = bounds(target)

    def show(value: float) -> str:
        return f"{100 * value:g}%" if percent else f"{value:g}"

    if low == high:
        return show(low)
    if low == -inf or high == inf:
        return f"at most {show(high)}" if low == -inf else f"at least {show(low)}"
    return f"{show(low)} to {show(high)}"
