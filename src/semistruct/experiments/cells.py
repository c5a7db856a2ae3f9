"""What tables are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isnan

from semistruct.experiments import statistics


@dataclass(frozen=True)
class Cell:
    """style is "", "best", "grey" (what others have published) or "peek"."""

    text: str
    value: float | None = None
    style: str = ""


@dataclass(frozen=True)
class Table:
    """key names it in files; notes stand below it."""

    key: str
    title: str
    columns: list[Cell]
    rows: list[list[Cell]]
    notes: list[str] = field(default_factory=list)


def head(texts: Iterable[str]) -> list[Cell]:
    return [Cell(text) for text in texts]


def percent(value: float | None, *, best: bool = False, style: str = "") -> Cell:
    if value is None or isnan(value):
        return Cell("–", style=style)
    return Cell(f"{100 * value:.1f}", 100 * value, "best" if best else style)


def mean_cell(scores: list[float], *, best: bool = False) -> Cell:
    """Mean ± deviation."""
    cell, s = percent(statistics.mean(scores), best=best), statistics.deviation(scores)
    return cell if isnan(s) else Cell(f"{cell.text} ± {100 * s:.1f}", cell.value, cell.style)
