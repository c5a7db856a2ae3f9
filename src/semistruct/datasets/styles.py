"""How references are laid out: the styles of bibliographies, and the fields of each kind of publication."""

from __future__ import annotations

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
    quotes: tuple[str, str] = ("", "")
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


PLAIN = Style()
APA = Style(
    order="surname first",
    last=", & ",
    both=", & ",
    after_author="",
    early=True,
    date="({})",
    pages="{a}-{b}",
    editors="In {names} ({Eds}),",
)
IEEE = Style(
    after_author=",",
    quotes=('"', '"'),
    capitals=True,
    after_title=",",
    month="mon",
    intro="in ",
    proceedings="Proc. ",
    short=True,
    volume="vol. {v}, no. {n}",
    pages="pp. {a}-{b}",
)
STYLES = Bag(
    [
        PLAIN,
        APA,
        # alpha, with names in full
        replace(PLAIN, given="full", month="month", after_volume=":", pages="{a}-{b}"),
        IEEE,
        # ACM
        replace(PLAIN, order="surname first", proceedings="Proc. ", short=True, capitals=True),
        # Harvard
        replace(APA, both=" and ", last=" and ", pages="pp. {a}-{b}", comma=".", place_first=True),
        # IEEE as typed in LaTeX
        replace(IEEE, quotes=("``", "''"), intro="", month="month", short=False, proceedings="Proceedings of "),
        # Chicago
        replace(PLAIN, order="mixed", given="full", both=", and ", volume="{v}", comma="."),
        # mathematics and physics: few signs, the year in parentheses at the end
        replace(APA, early=False, after_author=",", after_title=",", volume="{v}", comma=""),
        # medicine: Smith JA, Jones B. 1990
        replace(PLAIN, order="surname first", given="bare", early=True, last=", ", both=", "),
        # German publishers
        replace(PLAIN, order="surname first", between="; ", last="; ", both="; ", after_author=":", intro="In: "),
        # surnames in capitals, no quotes, no full stop
        replace(IEEE, shout=True, quotes=("", ""), volume="Vol. {v} ({n})", proceedings="", end=""),
        # Chicago, author and date
        replace(APA, given="full", order="mixed", date="{}", after_author=".", quotes=('"', '"'), capitals=True),
        # home pages
        replace(PLAIN, capitals=True, month="mon", volume="Volume {v}, Number {n}", pages="Pages {a}-{b}"),
        replace(
            IEEE,
            order="surname first",
            quotes=("'", "'"),
            comma_inside=False,
            volume="{v}:{n}",
            pages="p. {a}",
        ),
        replace(PLAIN, last=" and ", after_author=":", month="month", editors="{names} ({Eds}):", intro="in: "),
    ],
    0.5,
)
HABITS = tuple(f.name for f in fields(Style))

KINDS = ["article"] * 38 + ["inproceedings"] * 38 + ["book"] * 6 + ["chapter"] * 6
KINDS += ["report"] * 7 + ["thesis"] * 3 + ["other"] * 2


@cache
def layouts(section: str) -> dict[str, Bag[list[str]]]:
    """The fields of each kind of publication: "layouts", or "repeats" that contain one label in two places."""
    found = texts("citations")[section]
    return {kind: Bag([one.split() for one in text.split("|")], 1.5) for kind, text in found.items()}
