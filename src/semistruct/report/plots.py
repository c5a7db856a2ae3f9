"""Plots, as PNG or SVG by the name of the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg", force=False)
from matplotlib.figure import Figure

BLUE, GREY = "#2a6f97", "#8d99ae"


def learning_curve(path: Path, sizes: Sequence[int], runs: Sequence[Sequence[float]], *, title: str) -> None:
    """Token accuracy against the number of labelled sequences: every run as a dot, their mean as a line.

    runs[k] holds the accuracies of the runs with sizes[k] labelled sequences, between 0 and 1.
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
    axes.set_xscale("log")
    axes.set_xticks(list(sizes), [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(min(100 * min(run) for run in runs) - 5, 102)
    axes.set_xlabel("labelled sequences")
    axes.set_ylabel("token accuracy, %")
    axes.set_title(title, loc="left")
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
