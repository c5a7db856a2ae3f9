"""Formulas of the pages as MathML, which browsers show without any script or font from elsewhere.

In a page, `$...$` is a formula in the line and a block fenced as `math` one on lines of its own, as on GitHub.  The
extension `arithmatex` finds them; here its marks are replaced when the page is built.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

INLINE = re.compile(r'<span class="arithmatex">\\\((?P<formula>.*?)\\\)</span>', re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(?P<formula>.*?)\\\]\s*</div>', re.DOTALL)
BAR = re.compile(r"<mo[^>]*>&#x02016;</mo>")
UNKNOWN = re.compile(r"<m\w+>(\\[A-Za-z]+|&)</m\w+>")


def as_mathml(formula: str, display: str) -> str:
    """A formula in LaTeX as MathML; an unknown command is an error."""
    found = convert(formula.strip(), display=display)
    if unknown := UNKNOWN.search(found):
        raise ValueError(f"{unknown[1]!r} is not understood in the formula {formula.strip()!r}")
    found = found.replace("<mi>;</mi>", "<mo>;</mo>")
    return BAR.sub('<mo stretchy="false" lspace="0" rspace="0">&#x02016;</mo>', found)


def on_page_content(content: str, /, **_: Any) -> str:
    """Called by mkdocs with the HTML of every page."""
    for pattern, display, frame in ((BLOCK, "block", '<div class="formula">{}</div>'), (INLINE, "inline", "{}")):
        content = pattern.sub(
            lambda m, display=display, frame=frame: frame.format(as_mathml(unescape(m["formula"]), display)), content
        )
    return content
