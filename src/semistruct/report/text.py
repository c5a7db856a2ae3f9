"""Tables as Markdown for people, and as CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from math import isnan
from typing import Any

from semistruct.experiments import statistics
from semistruct.experiments.cells import Cell, Table
from semistruct.experiments.published import published
from semistruct.experiments.view import CHOICES, View

MARKS = {"best": "**", "grey": "*", "peek": ""}
FIELDS = (
    *("corpus", "synthetic", "setting", "features", "labelled", "method", "decoding", "select", "peeks", "draws"),
    *("mean", "spread", "best", "p_draws", "p_sequences", "published", "published_by", "seconds"),
)


def markdown(
    title: str, command: str, lines: Sequence[str], answers: Sequence[tuple[str, str]], tables: Sequence[Table]
) -> str:
    """One document; `command` made it."""
    parts = [f"# {title}", f"Made by `{command}`.", *(f"> {line}" for line in lines)]
    parts += [f"**{_escaped(question)}** {_escaped(answer)}" for question, answer in answers]
    for table in tables:
        head = "| " + " | ".join(_shown(cell) for cell in table.columns) + " |"
        rule = "|---" * len(table.columns) + "|"
        body = ["| " + " | ".join(_shown(cell) for cell in row) + " |" for row in table.rows]
        parts += [f"## {table.title}", "\n".join([head, rule, *body]), *(_escaped(note) for note in table.notes)]
    return "\n\n".join(parts) + "\n"


def _shown(cell: Cell) -> str:
    mark = MARKS.get(cell.style, "") if cell.text else ""
    return f"{mark}{_escaped(cell.text)}{mark}"


def _escaped(text: str) -> str:
    for sign in "\\|*_`":
        text = text.replace(sign, "\\" + sign)
    return text.replace("<", "&lt;")


def tidy(view: View) -> str:
    """CSV with a line for each method, size, decoding and way to choose a point; accuracies are shares."""
    file = io.StringIO()
    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
    writer.writeheader()
    for size in view.sizes:
        for select in CHOICES:
            chosen = View(view.records, select, "both")
            for decoding in chosen.decodings:
                best = chosen.ranked(size, decoding)[0]
                for method in chosen.ranked(size, decoding):
                    if select == "dev" or view.has_path(method):
                        writer.writerow(_row(chosen, method, size, decoding, best))
    return file.getvalue()


def _row(view: View, method: str, size: str, decoding: str, best: str) -> dict[str, Any]:
    scores = view.scores(method, size, decoding)
    against = None if method == best else view.against(best, method, size, decoding)
    figure = None if view.synthetic else published(view.corpus, method, decoding, view.frame["setting"])
    value = None if figure is None else figure.at(size)
    spread = statistics.deviation(scores)
    return {
        "corpus": view.corpus,
        "synthetic": int(view.synthetic),
        "setting": view.frame["setting"],
        "features": view.frame["features"],
        "labelled": view.sizes[size],
        "method": method,
        "decoding": decoding,
        "select": view.select,
        "peeks": int(view.select == "best-test"),
        "draws": len(scores),
        "mean": f"{statistics.mean(scores):.6f}",
        "spread": "" if isnan(spread) else f"{spread:.6f}",
        "best": int(method == best),
        "p_draws": "" if against is None else f"{against.flip:.6g}",
        "p_sequences": "" if against is None else f"{against.bootstrap:.6g}",
        "published": "" if value is None else value,
        "published_by": "" if figure is None or value is None else f"{figure.source} {figure.setting}".strip(),
        "seconds": f"{view.seconds(method, size):.3f}",
    }
