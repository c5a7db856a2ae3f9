"""How references are laid out: the styles of bibliographies, and the fields of each kind of publication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache

from semistruct.datasets.grammar import Bag, texts


@dataclass(frozen=True, slots=True)
class Style:
    """The habits of one bibliography; {placeholders} are filled in by the field writers."""

    order: str = "given first"  # or "surname first", or "mixed": only the first author is turned round
    given: str = "initials"  # or "full", or "bare": initials without full stops
    shout: bool = False  # surnames in capitals
    between: str = ", "  # between authors
    last: str = ", and "  # before the last of three or more
    both: str = " and "  # between two
    after_author: str = "."
    quotes: Sequence[str] = ("", "")
    comma_inside: bool = True  # the title is closed inside its quotes
    capitals: bool = False  # title case
    after_title: str = "."
    early: bool = False  # the date follows the authors
    date: str = "{}"
    month: str = ""  # or "month" in full, or "mon" for short
    intro: str = "In "  # before the book or proceedings
    proceedings: str = "Proceedings of the "
    short: bool = False  # venues are abbreviated
    volume: str = "{v}({n})"
    after_volume: str = ","
    pages: str = "pages {a}-{b}"
    place_first: bool = False  # Berlin: Springer
    editors: str = "In {names}, {eds},"
    comma: str = ","  # closes all other fields
    end: str = "."


HABITS = tuple(f.name for f in fields(Style))

KINDS = ["article"] * 38 + ["inproceedings"] * 38 + ["book"] * 6 + ["chapter"] * 6
KINDS += ["report"] * 7 + ["thesis"] * 3 + ["other"] * 2


@cache
def styles() -> Bag[Style]:
    """The styles that there are."""
    found: dict[str, Style] = {}
    for name, habits in texts("citations")["styles"].items():
        like = found.get(habits.get("like"), Style())
        found[name] = replace(like, **{habit: value for habit, value in habits.items() if habit != "like"})
    return Bag([*found.values()], 0.5)


@cache
def layouts(section: str) -> dict[str, Bag[list[str]]]:
    """The fields of each kind of publication: "layouts", or "repeats" that contain one label in two places."""
    found = texts("citations")[section]
    return {kind: Bag([one.split() for one in text.split("|")], 1.5) for kind, text in found.items()}
