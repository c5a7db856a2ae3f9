"""What pages share: the templates, the colours of labels, and sequences as blocks of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

GOLDEN = 137.508  # degrees between the hues of labels that follow each other


def render(template: str, **content: Any) -> str:
    """One self-contained page."""
    environment = Environment(
        loader=PackageLoader("semistruct.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template(template).render(**content).lstrip()


def hues(labels: Iterable[str]) -> dict[str, int]:
    """A colour for each label, in degrees."""
    return {label: round(k * GOLDEN % 360) for k, label in enumerate(sorted(set(labels)))}


def blocks(tokens: Sequence[str], gold: Sequence[str | None], found: Sequence[str]) -> list[dict[str, Any]]:
    """Neighbouring tokens that have the same true and the same predicted label, together; None is an unknown label."""
    triples = zip(tokens, gold, found, strict=True)
    return [
        {"gold": y, "found": z, "wrong": y is not None and y != z, "tokens": [token for token, *_ in group]}
        for (y, z), group in groupby(triples, key=lambda triple: triple[1:])
    ]
