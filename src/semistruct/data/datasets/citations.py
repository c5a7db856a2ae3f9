"""Synthetic computer-science references, labelled by construction.

A reference is written in steps: a kind of publication gives the order of the fields, a bibliography style
says how each is formatted, and a grammar supplies the words (`citations.yaml`).  Finally a few
errors are added, since people type references by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache

from semistruct.base.errors import ParameterError
from semistruct.data.corpus import Corpus, Example
from semistruct.data.datasets.grammar import Bag, Dice, Writer, grammar, labelled, polished, texts, title_case

LABELS = (
    *("author", "editor", "title", "booktitle", "journal", "date", "volume"),
    *("pages", "publisher", "tech", "institution", "location", "note"),
)
REPEAT = 0.037  # share of references with a label in two places
OPTIONAL = 0.6  # share of the fields marked `?` that are written
CARELESS = 0.06  # share of fields with something wrong in them


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


class Reference:
    """One reference being written: its style, its year, and the words drawn so far."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.style = mixed_style(dice)
        self.year = 2006 - int(dice.roll() * dice.roll() * 36)
        self.words = Writer(dice, {"year": str(self.year), "yy": f"{self.year % 100:02d}"}, grammar("citations"))

    def field(self, name: str) -> str:
        """The text of a field: by the method of its name, or by the grammar alone."""
        return getattr(self, name)() if hasattr(self, name) else self.words.grow(name)

    # people

    def person(self, turned: bool) -> str:
        surname = self.words.grow("surname")
        if self.style.shout:
            surname = surname.upper()
        given = self.given()
        if not turned:
            return f"{given} {surname}"
        return f"{surname} {given}" if self.style.given == "bare" else f"{surname}, {given}"

    def given(self) -> str:
        dice, grow = self.dice, self.words.grow
        initials = [grow("initial") for _ in range(1 if dice.chance(0.6) else 2)]
        if self.style.given == "bare":
            return "".join(initials)
        dotted = [f"{i}." for i in initials]
        if self.style.given == "full" and not dice.chance(0.1):
            dotted[0] = grow("given_name")
        return " ".join(dotted)

    def people(self, count: int, order: str) -> str:
        style = self.style
        names = [self.person(order == "surname first" or (order == "mixed" and k == 0)) for k in range(count)]
        if count == 1:
            return names[0]
        if count > 2 and self.dice.chance(0.06):
            return f"{names[0]} et al."
        joint = style.both if count == 2 else style.last
        return style.between.join(names[:-1]) + joint + names[-1]

    def author(self) -> str:
        return self.people(self.dice.draw(CROWD), self.style.order)

    def editor(self) -> str:
        """Editors within a reference, mostly named in the natural order."""
        return self.edited_as(self.style.editors)

    def late_editor(self) -> str:
        """Editors after the title of their book."""
        return self.edited_as(self.dice.pick(("edited by {names}", "{names} ({Eds})", "{names}, {eds}")))

    def edited_as(self, form: str) -> str:
        count = self.dice.draw(CROWD)
        order = self.style.order if self.dice.chance(0.3) else "given first"
        several = count > 1
        return form.format(
            names=self.people(count, order),
            eds="editors" if several else "editor",
            Eds=self.dice.pick(("Eds.", "eds.", "Editors") if several else ("Ed.", "ed.")),
        )

    def editors(self) -> str:
        """Editors in the place of the authors."""
        count = self.dice.draw(CROWD)
        names = self.people(count, self.style.order)
        mark = self.dice.pick((", editors", " (Eds.)", ", eds.") if count > 1 else (", editor", " (Ed.)"))
        return names + mark

    # titles and venues

    def title(self) -> str:
        text = polished(self.words.grow("title"))
        if self.style.capitals:
            text = title_case(text)
        return text[0].upper() + text[1:]

    def booktitle(self) -> str:
        dice, style = self.dice, self.style
        short = dice.chance(0.6 if style.short else 0.12)
        venue = self.words.grow("brief" if short else "meeting")
        proceedings = style.proceedings
        if short and dice.chance(0.5):
            proceedings = proceedings.removesuffix("the ") if dice.chance(0.5) else ""
        return f"{style.intro}{proceedings}{venue}"

    def collection(self) -> str:
        intro = self.style.intro if self.dice.chance(0.4) else ""
        series = f", {self.words.grow('series')}" if self.dice.chance(0.15) else ""
        return f"{intro}{self.words.grow('collection')}{series}"

    def journal(self) -> str:
        return self.words.grow("journal_short" if self.style.short else "journal")

    # numbers

    def volume(self) -> str:
        volume, number = self.dice.between(1, 40), self.dice.between(1, 12)
        form = self.style.volume if self.dice.chance(0.75) else "{v}"
        return form.format(v=volume, n=number)

    def pages(self) -> str:
        first = self.dice.between(1, 900)
        text = self.style.pages.format(a=first, b=first + self.dice.between(2, 40))
        if self.dice.chance(0.12):
            text = text.replace("-", "--")
        return f"({text})" if self.dice.chance(0.04) else text

    def date(self) -> str:
        dice, style = self.dice, self.style
        year = f"{self.year}{dice.pick('aab')}" if style.early and dice.chance(0.1) else str(self.year)
        month = style.month if style.month and not style.early and dice.chance(0.75) else ""
        if not month and not style.early and dice.chance(0.3):
            month = "month"
        return style.date.format(f"{self.when(month)} {year}" if month else year)

    def month(self) -> str:
        return self.when(self.style.month or "month")

    def when(self, form: str) -> str:
        text = self.words.grow(form)
        if self.dice.chance(0.08):
            day = self.dice.between(1, 27)
            return f"{day}-{day + 3} {text}" if self.dice.chance(0.5) else f"{text} {day},"
        if self.dice.chance(0.05):
            return self.dice.pick(("Spring", "Fall", "Summer", "Winter", "July/August"))
        return text

    def location(self) -> str:
        text = self.words.grow("location")
        return f"({text})" if self.dice.chance(0.05) else text


CROWD = Bag([2, 1, 1, 2, 3, 1, 2, 1, 2, 3, 4, 3, 5, 6], 5.0)
LABEL_OF = {
    **dict.fromkeys(("editors", "late_editor"), "editor"),
    **dict.fromkeys(("collection", "meeting", "series"), "booktitle"),
    **dict.fromkeys(("report", "thesis"), "tech"),
    **dict.fromkeys(("dept", "university"), "institution"),
    "month": "date",
}
"""The labels of fields that are not called like their label."""


def mixed_style(dice: Dice) -> Style:
    """One of the styles, in which a few habits may come from another one."""
    style = dice.draw(styles())
    if dice.chance(0.2):
        other = dice.pick(styles().items)
        style = replace(style, **{h: getattr(other, h) for h in HABITS if dice.chance(0.2)})
    return style


def layout(dice: Dice, early: bool) -> list[str]:
    """The fields of a new reference, in order."""
    bags = layouts("repeats" if dice.chance(REPEAT) else "layouts")
    names = dice.draw(bags[dice.pick(KINDS)])
    names = [n.rstrip("?") for n in names if not n.endswith("?") or dice.chance(OPTIONAL)]
    if early and "date" in names:
        names.remove("date")
        names.insert(1, "date")
    return names


def closed(text: str, name: str, following: str, style: Style) -> str:
    """The field with the punctuation that ends it."""
    if name == "title" and style.quotes[0]:
        left, right = style.quotes
        mark = style.after_title if text[-1] not in "?." else ""
        return f"{left}{text}{mark}{right}" if style.comma_inside else f"{left}{text}{right}{mark}"
    if not following:
        mark = style.end
    elif name in ("author", "editors"):
        mark = style.after_author
    elif name == "title":
        mark = style.after_title
    elif name == "date" and following == "title":
        mark = "." if style.date != "{}" else style.comma
    elif name == "volume" and following == "pages":
        mark = style.after_volume
    elif name == "location" and following == "publisher":
        mark = ":" if style.place_first else style.comma
    else:
        mark = style.comma
    if text[-1] == mark or (mark == "." and text[-1] in "?,:"):
        return text
    return text + mark


def careless(text: str, dice: Dice) -> str:
    """A typing error, a line break, a missing or wrong punctuation mark."""
    slip = dice.between(0, 7)
    at = dice.between(1, max(1, len(text) - 2))
    inside = at > 2 and text[at - 3 : at + 3].isalpha() and len(text) > at + 3
    if slip == 0 and inside:
        return text[:at] + text[at + 1 :]
    if slip == 1 and inside:
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    if slip == 2 and inside:
        return text[:at] + "- " + text[at:]
    if slip == 3 and text[-1] in ",." and len(text) > 2:
        return text[:-1] + dice.pick((";", ".", ",", " -"))
    if slip >= 4 and text[-1] in ",." and len(text) > 2:
        return text[:-1]
    return text.replace(". ", ".").replace(", ", " , ")


def write(dice: Dice) -> Example:
    """One reference."""
    reference = Reference(dice)
    style = reference.style
    names = layout(dice, style.early)
    text, spans = "", []
    for name, following in zip(names, [*names[1:], ""], strict=True):
        part = closed(reference.field(name), name, following, style)
        if dice.chance(CARELESS):
            part = careless(part, dice)
        text += part
        if following:
            text += "" if part[-1] == ":" and following == "pages" else " "
        spans.append((len(text), LABEL_OF.get(name, name)))
    return labelled(text, spans)


def make_citations(n: int, *, seed: int = 0) -> Corpus:
    """n made-up references with their 13 kinds of fields labelled.

    Reference i depends on `seed` and i only, so make_citations(k) is the beginning of make_citations(n).

    >>> make_citations(2, seed=1).examples[0].labels[0]
    'author'
    """
    if n < 0:
        raise ParameterError(f"n must be at least 0, not {n}")
    return Corpus([write(Dice(f"{seed}/{i}")) for i in range(n)], f"<citations, seed {seed}>")
