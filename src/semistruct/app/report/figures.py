"""Figures of experiments, as SVG.

Text and axes of the SVG have one colour, INK, which a page may replace to suit its own; the background is transparent.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from semistruct.app.experiments import statistics
from semistruct.app.experiments.lineup import LINEUP
from semistruct.app.experiments.view import DECODINGS, IN_WORDS, MAIN, View
from semistruct.app.report.plots import BLUE, GREEN, GREY, RED, STYLE
from semistruct.base.files import replacing

CYCLE = (BLUE, RED, GREEN, "#b07d2b", "#7b5ea7", "#2a9d8f", "#d0679d", "#5f6f52", "#8c564b", "#4f86c6", "#a3a300", GREY)


def draw_all(view: View, folder: Path) -> dict[str, str]:
    """{name: title} of the figures written, in the order of the report."""
    ways: dict[str, tuple[str, Callable[[View], Figure | None]]] = {
        "paths": (f"Objective and accuracy along the path, draw 0: {view.title}", paths),
        "labelled": (f"Accuracy by labelled sequences, {IN_WORDS[MAIN]}: {view.title}", by_labelled),
        "time": ("Seconds of a fit", by_time),
    }
    out = {}
    with matplotlib.rc_context(STYLE):
        for name, (title, draw) in ways.items():
            figure = draw(view)
            if figure is None:
                continue
            with replacing(folder / f"{name}.svg") as file:
                figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
            out[name] = title
    return out


def paths(view: View, method: str = "annealed") -> Figure | None:
    """Figures 1 and 2 of the paper: a row per size; objective and accuracy along the path, the chosen point marked."""
    sizes = [size for size in view.sizes if len(view.runs(method, size).get(0, {"points": []})["points"]) > 1]
    if not sizes:
        return None
    figure = Figure(figsize=(8.4, 2.8 * len(sizes)), layout="constrained")
    for (left, right), size in zip(figure.subplots(len(sizes), 2, squeeze=False), sizes, strict=True):
        run = view.runs(method, size)[0]
        stages = [row for row in run["history"] if row["place"] is not None and "objective" in row]
        names = [f"{row['place']:.2g}" for row in stages]
        left.plot(range(len(stages)), [row["objective"] for row in stages], "o-", color=BLUE)
        left.set_xticks(range(len(stages)), names)
        left.set_title(f"{view.name_of(size)} labelled: objective")
        left.set_xlabel(run["axis"])
        points = run["points"]
        places = range(len(points))
        for decoding, colour in zip(DECODINGS, (GREEN, BLUE), strict=True):
            values = [100 * point[decoding] for point in points]
            right.plot(places, values, "o-", color=colour, label=IN_WORDS[decoding], markersize=4)
            chosen, top = (run["chosen"][decoding][way] for way in (view.select, "best-test"))
            right.plot([chosen], [values[chosen]], "o", color=RED, markersize=11, fillstyle="none", markeredgewidth=2)
            right.plot([top], [values[top]], "s", color=GREY, markersize=11, fillstyle="none", markeredgewidth=1.2)
        right.set_xticks(places, ["start", *(f"{point['place']:.2g}" for point in points[1:])])
        right.set_title("accuracy, %")
        right.set_xlabel(f"{run['axis']}   (circle: chosen, square: best in hindsight)")
        right.margins(y=0.25)
        right.legend(frameon=False, fontsize=8)
    return figure


def by_labelled(view: View) -> Figure | None:
    """Every method against the number of labelled sequences, with spreads."""
    if len(view.sizes) < 2:
        return None
    figure = Figure(figsize=(8.4, 4.6), layout="constrained")
    axes = figure.subplots()
    for k, method in enumerate(view.methods):
        sizes = [size for size in view.sizes if view.runs(method, size)]
        scores = [view.scores(method, size, MAIN) for size in sizes]
        spreads = [statistics.deviation(s) if len(s) > 1 else 0.0 for s in scores]
        shift = 1 + 0.012 * (k - len(view.methods) / 2)  # keeps bars of equal sizes apart
        axes.errorbar(
            [view.sizes[size] * shift for size in sizes], [100 * statistics.mean(s) for s in scores],
            yerr=[100 * s for s in spreads], fmt="o-", color=CYCLE[k % len(CYCLE)], capsize=2, markersize=4,
            linewidth=2.2 if method.startswith("annealed") else 1.3, label=LINEUP[method].title,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(list(view.sizes.values()), [str(n) for n in view.sizes.values()])
    axes.minorticks_off()
    axes.set_xlabel("labelled sequences")
    axes.set_ylabel("token accuracy, %")
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def by_time(view: View) -> Figure:
    """Seconds of a fit, per method and size."""
    figure = Figure(figsize=(8.4, 0.9 + 0.42 * len(view.methods)), layout="constrained")
    axes = figure.subplots()
    height = 0.8 / len(view.sizes)
    for k, size in enumerate(view.sizes):
        means = [view.seconds(method, size) for method in view.methods]
        places = [i + (k - (len(view.sizes) - 1) / 2) * height for i in range(len(view.methods))]
        axes.barh(places, means, height * 0.9, color=CYCLE[k], label=f"{view.name_of(size)} labelled")
    axes.set_yticks(range(len(view.methods)), [LINEUP[m].title for m in view.methods])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.tick_params(axis="x", which="minor", labelsize=7)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("seconds, logarithmic")
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure
