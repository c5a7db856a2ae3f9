"""What rules of the vocabulary share: ranges, other labels, and lists in words."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

SHOWN = 20  # words of a list


def bounds(target: float | tuple[float | None, float | None]) -> tuple[float, float]:
    if isinstance(target, tuple):
        low, high = target
        return (-inf if low is None else low, inf if high is None else high)
    return target, target


def factor(unit: str) -> float:
    return 100.0 if unit == "percent" else 1.0


def any_of(names: Sequence[str], word: str = "or") -> str:
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def all_of(names: Sequence[str]) -> str:
    return any_of(names, "and")


def range_text(target: float | tuple[float | None, float | None], percent: bool = False) -> str:
    low, high = bounds(target)

    def show(value: float) -> str:
        return f"{100 * value:g}%" if percent else f"{value:g}"

    if low == high:
        return show(low)
    if low == -inf or high == inf:
        return f"at most {show(high)}" if low == -inf else f"at least {show(low)}"
    return f"{show(low)} to {show(high)}"


def words_text(words: Sequence[str]) -> str:
    """A list of words, the first ones if it is long."""
    few = words[: SHOWN - 1]
    return any_of(words) if len(words) <= SHOWN else f"{', '.join(few)} or {len(words) - len(few)} others"


def pattern_text(patterns: str | Sequence[str]) -> str:
    return f"/{patterns if isinstance(patterns, str) else ' '.join(patterns)}/"
