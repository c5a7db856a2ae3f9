"""The report of experiments as one self-contained page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from semistruct.experiments.cells import Table
from semistruct.experiments.lineup import LINEUP
from semistruct.experiments.view import IN_WORDS, View, outcome
from semistruct.report.figures import INK
from semistruct.report.pages import blocks, hues, render

SHOWN_WORST = 6  # sequences per size


def page(
    view: View,
    *,
    command: str,
    warnings: Sequence[str],
    answers: Sequence[tuple[str, str]],
    tables: Sequence[Table],
    figures: Mapping[str, str],
    folder: Path,
) -> str:
    """The page; figures are SVG files of the folder by name, with their titles."""
    labels = {label for run in view.whole for row in run["worst"] for label in (*row["gold"], *row["rules"])}
    first = view.records[0]
    return render(
        "report.html",
        title=f"semistruct reproduce: {view.title}",
        view=view,
        command=command,
        warnings=warnings,
        answers=answers,
        tables=tables,
        figures=[
            (name, title, inline_svg((folder / f"{name}.svg").read_text("utf-8"))) for name, title in figures.items()
        ],
        hues=hues(labels),
        details=[
            {
                "size": view.name_of(size),
                "method": LINEUP[view.ranked(size, view.main)[0]].title,
                "how": IN_WORDS[view.main],
                "confusion": confusion(view, size),
                "worst": worst(view, size),
            }
            for size in view.sizes
        ],
        versions=first["versions"],
        digest=first["digest"],
    )


def confusion(view: View, size: str) -> dict[str, Any]:
    """For the best method: for each true label the shares of the predicted labels, over all draws."""
    runs = view.runs(view.ranked(size, view.main)[0], size).values()
    count: Counter[tuple[str, str]] = Counter()
    for run in runs:
        for gold, found, n in outcome(run, view.main, view.select)["confusion"]:
            count[gold, found] += n
    labels = sorted({label for pair in count for label in pair}, key=lambda y: (-sum(count[y, z] for _, z in count), y))
    rows = []
    for y in labels:
        total, claimed = sum(count[y, z] for z in labels), sum(count[x, y] for x in labels)
        f1 = 2 * count[y, y] / (total + claimed) if total + claimed else 0.0
        shares = [100 * count[y, z] / total if total else 0.0 for z in labels]
        rows.append({"label": y, "tokens": total, "f1": 100 * f1, "shares": shares})
    return {"labels": labels, "rows": rows}


def worst(view: View, size: str) -> list[dict[str, Any]]:
    """The sequences that the best method got most wrong under the rules, the point of the path chosen on dev data."""
    found: dict[int, dict[str, Any]] = {}
    for run in view.runs(view.ranked(size, view.main)[0], size).values():
        for row in run["worst"]:
            wrong = sum(y != z for y, z in zip(row["gold"], row["rules"], strict=True)) / len(row["tokens"])
            parts = blocks(row["tokens"], row["gold"], row["rules"])
            new = {**row, "blocks": parts, "wrong": 100 * wrong, "draw": run["config"]["seed"]}
            if wrong and new["wrong"] > found.get(row["sequence"], {"wrong": 0.0})["wrong"]:
                found[row["sequence"]] = new
    return sorted(found.values(), key=lambda row: (-row["wrong"], row["sequence"]))[:SHOWN_WORST]


def inline_svg(svg: str) -> Markup:
    """An SVG figure for use within a page: without headers and metadata, in the colour of the text around it."""
    inner = svg[svg.index("<svg") :]
    inner = re.sub(r"<metadata>.*?</metadata>", "", inner, flags=re.DOTALL)
    inner = re.sub(r'<svg([^>]*?) height="[^"]*"', r"<svg\1", inner, count=1)
    inner = re.sub(r'<svg([^>]*?) width="[^"]*"', r"<svg\1", inner, count=1)
    return Markup(inner.replace(INK, "currentColor"))  # made by matplotlib, which escapes its texts
