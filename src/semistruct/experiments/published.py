"""Token accuracies that others have published, in percent, to compare with ours; and notes on them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files as resources
from typing import Any

import yaml

from semistruct.experiments.material import ALL

DATA: dict[str, Any] = yaml.safe_load((resources("semistruct.experiments") / "published.yaml").read_text("utf-8"))
SOURCES: dict[str, str] = DATA["sources"]
MEANINGS: str = DATA["meanings"]
MISPRINTS: dict[str, str] = DATA["misprints"]


@dataclass(frozen=True)
class Figure:
    """Accuracies for 5, 20 and all labelled sequences; None where there is none.

    setting  "inductive" or "transductive", "" for supervised methods, which have no pool
    """

    corpus: str
    method: str
    decoding: str
    setting: str
    source: str
    values: tuple[float | None, ...]

    def at(self, size: str) -> float | None:
        return dict(zip(("5", "20", ALL), self.values, strict=True)).get(size)


FIGURES = [
    Figure(corpus, method, decoding, setting or "", source, tuple(values))
    for corpus, rows in DATA["figures"].items()
    for method, decoding, setting, source, *values in rows
]
PRINTED = {
    corpus: [(heading, line, values, mark or "") for heading, line, *values, mark in rows]
    for corpus, rows in DATA["printed"].items()
}
"""Tables 2 and 3 of the paper: (heading, our line, accuracies with 5, 20 and all, mark of a footnote)."""


def published(corpus: str, method: str, decoding: str, setting: str) -> Figure | None:
    """The figure to compare with: of the same setting if there is one, otherwise of the other."""
    found = [f for f in FIGURES if (f.corpus, f.method, f.decoding) == (corpus, method, decoding)]
    return next((f for f in found if f.setting in ("", setting)), found[0] if found else None)
