"""The docstrings of the package as Markdown, for the reference pages.

They are written to be read in a terminal: sections underlined with dashes, `name : what it is` or `name    what it is`
lines, formulas indented.  Here the sections become bold words, the lines lists, and examples blocks of code.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

SECTION = re.compile(r"[A-Z]\w+")
ENTRY = re.compile(r"(?P<names>\w+(?:, \w+)*)(?: : |  +)(?P<text>\S.*)")
PLAIN = re.compile(r"`[^`]*`|[\[\]<]")


def as_markdown(text: str) -> str:
    """A docstring in Markdown."""
    out: list[str] = []
    lines = text.splitlines()
    in_list = False
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        last = out[-1] if out else ""
        in_code = last.startswith("    ")
        if SECTION.fullmatch(line) and below and set(below) == {"-"}:
            out += [f"**{line}**", ""]
        elif line and set(line) == {"-"}:
            in_list = False
        elif entry := ENTRY.fullmatch(line):
            names = ", ".join(f"`{name}`" for name in entry["names"].split(", "))
            out += [""] if last and not in_list else []
            out.append(f"- {names}: {_escaped(entry['text'])}")
            in_list = True
        elif in_list and line.startswith(" "):
            out.append(f"  {_escaped(line.strip())}")
        elif line.startswith((">>>", "...")) or (in_code and line and not in_list):
            out += [""] if last and not in_code else []
            out.append(line if line.startswith(" ") else f"    {line}")
        else:
            out += [""] if in_list and line else []
            in_list = in_list and not line
            out.append(line if line.startswith("    ") else _escaped(line))
    return "\n".join(out)


def _escaped(text: str) -> str:
    """Brackets outside of code are meant as they are."""
    return PLAIN.sub(lambda m: m[0] if m[0].startswith("`") else {"<": "&lt;"}.get(m[0], "\\" + m[0]), text)


class Docstrings(Extension):
    """Rewrites every docstring as it is found."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
