"""The mistakes of a model and how far its probabilities can be trusted, as one self-contained page."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from semistruct.app.report.evaluation import Evaluation, Mistakes, Reliability, blocks
from semistruct.app.report.pages import hues, inline_svg, render
from semistruct.app.report.plots import BLUE, GREY, STYLE
from semistruct.base.files import replacing

CAPTIONS = {"token": "tokens: {} labels", "block": "fields: {} blocks of labels", "sequence": "whole sequences: {}"}


def write_mistakes(path: Path, result: Evaluation) -> None:
    with replacing(path, "utf-8") as file:
        file.write(page(result))


def page(result: Evaluation) -> str:
    mistakes = result.mistakes or Mistakes(0, [])
    labels = {label for row in mistakes.worst for label in (*row.gold, *row.predicted) if label is not None}
    scores = {
        "token accuracy": result.token_accuracy,
        "sequence accuracy": result.sequence_accuracy,
        "span F1": result.span_f1,
    }
    return render(
        "mistakes.html",
        title=f"Mistakes of {result.model} on {result.data}",
        result=result,
        mistakes=mistakes,
        blocks={row.where: blocks(row.tokens, row.gold, row.predicted) for row in mistakes.worst},
        scores=[(name, "-" if score is None else f"{score:.2%}") for name, score in scores.items()],
        hues=hues(labels),
        figures=[
            (f"{CAPTIONS[level].format(one.n)}, calibration error {one.error:.1%}", inline_svg(_curves(one)))
            for level, one in (result.calibration or {}).items()
        ],
    )


def _curves(level: Reliability) -> str:
    """The reliability and the coverage curve of one level, as SVG."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.4, 2.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.plot([0, 100], [0, 100], "-", color=GREY, linewidth=1)
        for axes, rows, key, words in (
            (left, level.bins, "probability", "probability, %"),
            (right, level.coverage, "share", "the surest, %"),
        ):
            axes.plot([100 * row[key] for row in rows], [100 * row["right"] for row in rows], "o-", color=BLUE)
            axes.set_xlabel(words)
            axes.set_ylabel("right, %")
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return file.getvalue()
