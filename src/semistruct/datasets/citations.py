"""Synthetic computer-science references, labelled by construction.

A reference is written in steps: a kind of publication gives the order of the fields, a bibliography style
says how each is formatted (`styles.py`), and a grammar supplies the words (`citations.yaml`).  Finally a few
errors are added, since people type references by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from semistruct.corpus import Corpus, Example
from semistruct.datasets.grammar import Bag, Dice, Writer, grammar, polished, title_case
from semistruct.datasets.labelling import labelled
from semistruct.datasets.styles import HABITS, KINDS, Style, layouts, styles
from semistruct.errors import ParameterError

LABELS = (
    *("author", "editor", "title", "booktitle", "journal", "date", "volume"),
    *("pages", "publisher", "tech", "institution", "location", "note"),
)
REPEAT = 0.037  # share of references with a label in two places
OPTIONAL = 0.6  # share of the fields marked `?` that are written
CARELESS = 0.06  # share of fields with something wrong in them


class Reference:
    """One reference being written: its style, its year, and the words drawn so far."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.style = mixed_style(dice)
        self.year = 2006 - int(dice.roll() * dice.roll() * 36)
        self.words = Writer(dice, {"year": str(self.year), "yy": f"{self.year % 100:02d}"}, grammar("citations"))

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


def grown(symbol: str) -> Callable[[Reference], str]:
    """A field that needs nothing but the grammar."""
    return lambda reference: reference.words.grow(symbol)


CROWD = Bag([2, 1, 1, 2, 3, 1, 2, 1, 2, 3, 4, 3, 5, 6], 5.0)
FIELDS: dict[str, tuple[str, Callable[[Reference], str]]] = {
    "author": ("author", Reference.author),
    "editor": ("editor", Reference.editor),
    "editors": ("editor", Reference.editors),
    "late_editor": ("editor", Reference.late_editor),
    "title": ("title", Reference.title),
    "booktitle": ("booktitle", Reference.booktitle),
    "collection": ("booktitle", Reference.collection),
    "meeting": ("booktitle", grown("meeting")),
    "series": ("booktitle", grown("series")),
    "journal": ("journal", Reference.journal),
    "volume": ("volume", Reference.volume),
    "pages": ("pages", Reference.pages),
    "date": ("date", Reference.date),
    "month": ("date", Reference.month),
    "publisher": ("publisher", grown("publisher")),
    "location": ("location", Reference.location),
    "report": ("tech", grown("report")),
    "thesis": ("tech", grown("thesis")),
    "institution": ("institution", grown("institution")),
    "dept": ("institution", grown("dept")),
    "university": ("institution", grown("university")),
    "note": ("note", grown("note")),
}


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
        label, written = FIELDS[name]
        part = closed(written(reference), name, following, style)
        if dice.chance(CARELESS):
            part = careless(part, dice)
        text += part
        if following:
            text += "" if part[-1] == ":" and following == "pages" else " "
        spans.append((len(text), label))
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
