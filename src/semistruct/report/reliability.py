"""Figures of how far probabilities agree with what is right."""

from __future__ import annotations

import io
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from semistruct.report.figures import STYLE
from semistruct.report.plots import BLUE, GREY

CAPTIONS = {
    "token": "tokens: {n} labels, calibration error {error:.1%}",
    "block": "fields: {n} blocks of labels, calibration error {error:.1%}",
    "sequence": "whole sequences: {n}, calibration error {error:.1%}",
}


def draw(found: dict[str, Any]) -> str:
    """The reliability and the coverage curve of one level, as SVG; `found` is what `semistruct evaluate` says of it."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.4, 2.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        bins, covered = found["bins"], found["coverage"]
        left.plot([0, 100], [0, 100], "-", color=GREY, linewidth=1)
        left.plot([100 * one["probability"] for one in bins], [100 * one["right"] for one in bins], "o-", color=BLUE)
        left.set_xlabel("probability, %")
        left.set_ylabel("right, %")
        right.plot([100 * one["share"] for one in covered], [100 * one["right"] for one in covered], "o-", color=BLUE)
        right.set_xlabel("the surest, %")
        right.set_ylabel("right, %")
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return file.getvalue()
