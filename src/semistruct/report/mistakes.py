"""The mistakes of a model, as one self-contained page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from semistruct.files import replacing
from semistruct.report.html import inline_svg
from semistruct.report.pages import blocks, hues, render
from semistruct.report.reliability import CAPTIONS, draw


def write_mistakes(path: Path, result: dict[str, Any]) -> None:
    """Write the page; `result` is the record of `semistruct evaluate`."""
    with replacing(path, "utf-8") as file:
        file.write(page(result))


def page(result: dict[str, Any]) -> str:
    mistakes = result["mistakes"]
    labels = {label for row in mistakes["worst"] for label in (*row["gold"], *row["predicted"]) if label is not None}
    names = {"token accuracy": "token_accuracy", "sequence accuracy": "sequence_accuracy", "span F1": "span_f1"}
    shown = [
        {**row, "n_tokens": len(row["tokens"]), "blocks": blocks(row["tokens"], row["gold"], row["predicted"])}
        for row in mistakes["worst"]
    ]
    return render(
        "mistakes.html",
        title=f"Mistakes of {result['model']} on {result['data']}",
        result=result,
        mistakes={**mistakes, "worst": shown},
        scores=[(name, "-" if result[key] is None else f"{result[key]:.2%}") for name, key in names.items()],
        hues=hues(labels),
        figures=[
            (CAPTIONS[level].format(**found), inline_svg(draw(found)))
            for level, found in (result["calibration"] or {}).items()
        ],
    )
