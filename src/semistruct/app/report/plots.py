"""Plots, as PNG or SVG by the name of the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg", force=False)
from matplotlib.figure import Figure

from semistruct.base.files import replacing

BLUE, GREY, RED, GREEN = "#2a6f97", "#8d99ae", "#c1443c", "#3a7d44"
INK = "#20242b"  # of text and axes in an SVG figure; a page replaces it to suit its own
STYLE: Any = {
    "text.color": INK, "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "svg.fonttype": "none", "svg.hashsalt": "semistruct", "font.family": "sans-serif", "font.size": 10,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.grid.axis": "y",
    "grid.color": GREY, "grid.alpha": 0.3, "grid.linewidth": 0.6, "axes.titlelocation": "left",
}  # fmt: skip

Runs = Sequence[Sequence[float]]


def learning_curve(
    path: Path,
    sizes: Sequence[int],
    runs: Runs,
    *,
    title: str,
    also: Mapping[str, Runs] | None = None,
    metric: str = "token accuracy",
) -> None:
    """A metric against the number of labelled sequences: every run as a dot, their mean as a line.

    runs[k] holds the scores of the runs with sizes[k] labelled sequences, between 0 and 1; `also` holds further
    curves by name, with which the first is compared.
    """
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    means = [100 * sum(run) / len(run) for run in runs]
    for size, run in zip(sizes, runs, strict=True):
        axes.plot([size] * len(run), [100 * r for r in run], "o", color=GREY, markersize=4, zorder=2)
    axes.plot(sizes, means, "-", color=BLUE, linewidth=2, zorder=3)
    for size, run, mean in zip(sizes, runs, means, strict=True):
        place = (size, 100 * max(run))
        axes.annotate(f"{mean:.1f}", place, xytext=(0, 7), textcoords="offset points", ha="center", color=BLUE)
    for (name, others), colour in zip((also or {}).items(), (GREEN, RED), strict=False):
        level = [100 * sum(run) / len(run) for run in others]
        axes.plot(sizes, level, "--", color=colour, linewidth=1.5, zorder=1)
        axes.annotate(name, (sizes[0], level[0]), xytext=(4, -10), textcoords="offset points", color=colour)
    axes.set_xscale("log")
    axes.set_xticks(list(sizes), [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(min(100 * min(run) for curve in (runs, *(also or {}).values()) for run in curve) - 5, 102)
    axes.set_xlabel("labelled sequences")
    axes.set_ylabel(f"{metric}, %")
    axes.set_title(title, loc="left")
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix.removeprefix(".").lower(), dpi=150)


def path_of_models(
    path: Path, points: Sequence[dict[str, Any]], history: Sequence[dict[str, Any]], axis: tuple[str, str], metric: str
) -> None:
    """The path of a semi-supervised fit in four panels: objective, accuracy or known mistakes, broken rules, switches.

    axis    what the points differ in: its key, and in words
    metric  what they are measured by on dev data, in words
    """
    key, words = axis
    figure = Figure(figsize=(9.6, 6.4), layout="constrained")
    (objective, quality), (broken, switched) = figure.subplots(2, 2)
    places = range(len(points))
    names = ["start" if point[key] is None else f"{point[key]:.2g}" for point in points]
    chosen = next(i for i, point in enumerate(points) if point["chosen"])
    last = [next(row["objective"] for row in reversed(history) if row[key] == point[key]) for point in points[1:]]
    objective.plot(places[1:], last, "o-", color=BLUE)
    objective.set_title("objective at the end of each stage", loc="left")
    if points[0]["dev_score"] is not None:
        values = [100 * point["dev_score"] for point in points]
        quality.set_title(f"{metric} on dev data, %", loc="left")
    else:
        values = [point["mistakes"] for point in points]
        quality.set_title("known mistakes per sequence", loc="left")
    quality.plot(places, values, "o-", color=GREEN)
    quality.plot([chosen], [values[chosen]], "o", color=RED, markersize=11, fillstyle="none", markeredgewidth=2)
    quality.annotate(
        "chosen", (chosen, values[chosen]), xytext=(0, -18), textcoords="offset points", ha="center", color=RED
    )
    matches = [row for row in history if row["step"] != "learn"]
    rounds = range(1, len(matches) + 1)
    broken.plot(rounds, [row["broken"] for row in matches], "o-", color=RED)
    broken.set_title("sequences of the pool that break a rule", loc="left")
    switched.bar(rounds, [row["switched"] for row in matches], color=GREY)
    switched.set_yscale("symlog")
    switched.set_title("labels switched", loc="left")
    for axes in (objective, quality):
        axes.set_xticks(list(places), names)
        axes.set_xlabel(words)
        axes.set_xlim(-0.3, len(points) - 0.7)
        axes.margins(y=0.2)
    for axes in (broken, switched):
        axes.set_xlabel("round")
        axes.set_ylim(bottom=0)
        edges = [i + 0.5 for i in range(1, len(matches)) if matches[i][key] != matches[i - 1][key]]
        for edge in edges:
            axes.axvline(edge, color="#dddddd", linewidth=1, zorder=0)
    for axes in (objective, quality, broken, switched):
        axes.grid(axis="y", color="#eeeeee", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    _save(figure, path)
