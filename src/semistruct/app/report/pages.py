"""What pages share: the templates, the colours of labels, and figures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from semistruct.app.report.plots import INK

GOLDEN = 137.508  # degrees between the hues of labels that follow each other


def render(template: str, **content: Any) -> str:
    """One self-contained page."""
    environment = Environment(
        loader=PackageLoader("semistruct.app.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template(template).render(**content).lstrip()


def hues(labels: Iterable[str]) -> dict[str, int]:
    """A colour for each label, in degrees."""
    return {label: round(k * GOLDEN % 360) for k, label in enumerate(sorted(set(labels)))}


def inline_svg(svg: str) -> Markup:
    """An SVG figure for use within a page: without headers and metadata, in the colour of the text around it."""
    inner = svg[svg.index("<svg") :]
    inner = re.sub(r"<metadata>.*?</metadata>", "", inner, flags=re.DOTALL)
    for size in ("height", "width"):
        inner = re.sub(rf'<svg([^>]*?) {size}="[^"]*"', r"<svg\1", inner, count=1)
    return Markup(inner.replace(INK, "currentColor"))  # made by matplotlib, which escapes its texts
