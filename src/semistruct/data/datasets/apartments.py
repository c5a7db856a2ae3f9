"""Synthetic adverts of apartments, labelled by construction: modelled on a corpus that is no longer public.

Every author has habits: capitals, abbreviations, line breaks, typing errors.  The fields come in an order that varies,
some of them twice, and a grammar supplies the words (`apartments.yaml`).  As in the corpus, line ends are tokens;
telephone numbers, addresses of mail and pages, times and most prices are classes such as `*phone*`.
"""

from __future__ import annotations

import re

from semistruct.base.errors import ParameterError
from semistruct.data.corpus import Corpus, Example
from semistruct.data.datasets.grammar import Bag, Dice, Writer, grammar, labelled, texts

APARTMENT_LABELS = (
    *("size", "rent", "features", "restrictions", "neighborhood", "utilities"),
    *("available", "contact", "photos", "roommates", "other", "address"),
)
SWITCH = re.compile(r"<(\w+)>")
STOP, NEWLINE = "¶", "*NEWLINE*"  # the first stands for the end of a sentence until a habit says what that is

# How likely a field is written at all, and where: 0 is the beginning of the advert, 1 the end.
FIELDS = {
    "size": (0.85, 0.1),
    "rent": (0.9, 0.35),
    "features": (1.0, 0.4),
    "neighborhood": (0.8, 0.4),
    "address": (0.5, 0.3),
    "roommates": (0.2, 0.5),
    "utilities": (0.55, 0.6),
    "available": (0.65, 0.65),
    "restrictions": (0.65, 0.7),
    "photos": (0.3, 0.85),
    "contact": (0.95, 0.95),
    "other": (0.55, 0.5),
}
DISORDER = 0.8  # how far, at most, a field is away from its place
TWICE = ("features", "other", "features", "contact", "rent", "neighborhood")  # what people come back to
BLEND = 0.25  # share of adverts that begin with several fields in one sentence
BARE = 0.04  # share of sentences that just stop
LEAD, ASIDE = 0.09, 0.4  # share of sentences with something before, or behind
AGAIN = 0.11  # share of adverts that come back to a field
LENGTH = Bag([3, 2, 4, 1, 5, 6], 3.0)  # phrases about features
LINES = Bag(["field", "wrapped", "sentence", "never"], 3.0)
CASES = Bag(["plain", "lower", "plain", "upper"])
STOPS = Bag(
    [(". ", ". ", "! ", ". "), (". ", ". ", " ", ", "), ("! ", "!! ", ". ", "!!! "), ("... ", ". ", " - "), (" ", ", ")]
)
SEPARATORS = Bag([", ", ", ", " - ", f" {NEWLINE} ", f" {NEWLINE} * ", " / ", " ", "; ", f" {NEWLINE} - ", ". "])


class Advert:
    """One advert being written, in the habits of its author."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.case, self.lines = dice.draw(CASES), dice.draw(LINES)
        self.stops = dice.draw(STOPS)
        self.width = dice.between(8, 14)
        self.short = dice.roll() * dice.roll()
        self.slips = 0.06 * dice.roll() * dice.roll()
        self.words = Writer(dice, {"stop": STOP, "sep": dice.draw(SEPARATORS)}, grammar("apartments"))

    def fields(self) -> list[str]:
        """The fields of the advert, in order."""
        dice = self.dice
        chosen = [(place, name) for name, (share, place) in FIELDS.items() if dice.chance(share)]
        places = [(place + DISORDER * (dice.roll() - 0.5), name) for place, name in chosen]
        if dice.chance(BLEND):
            places.append((-1.0, "blend"))
        while dice.chance(AGAIN):
            places.append((dice.roll(), dice.pick(TWICE)))
        return [name for _, name in sorted(places)]

    def parts(self) -> list[tuple[str, str]]:
        """(label, text) of all fields."""
        parts: list[tuple[str, str]] = []
        for name in self.fields():
            count = self.dice.draw(LENGTH) if name == "features" else 2 if self.dice.chance(0.12) else 1
            for _ in range(count):
                label, *more = [name, *SWITCH.split(self.sentence(name))]
                parts += [(y, text) for y, text in zip([label, *more[1::2]], more[::2], strict=True) if text]
        return parts

    def sentence(self, name: str) -> str:
        """A sentence about a field, perhaps with other phrases before and after it."""
        dice, grow = self.dice, self.words.grow
        text = grow(name)
        if name != "blend" and dice.chance(LEAD):
            text = f"{grow('lead')} {text}"
        if dice.chance(ASIDE):
            text = f"{text} {grow('aside')}"
        return text if dice.chance(BARE) else text + STOP

    def word(self, word: str) -> str:
        """The word as this author types it."""
        dice = self.dice
        if word[0] == "*":
            return word
        abbreviations = texts("apartments")["short"].get(word)
        if abbreviations and dice.chance(self.short):
            word = dice.pick(abbreviations.split())
        if len(word) > 4 and dice.chance(self.slips) and word.isalpha():
            at = dice.between(1, len(word) - 2)
            swapped = "" if dice.chance(0.5) else word[at]
            word = word[:at] + word[at + 1] + swapped + word[at + 2 :]
        return word.lower() if self.case == "lower" else word.upper() if self.case == "upper" else word

    def write(self) -> Example:
        """The fields one after the other, in this author's sentences and lines."""
        dice, parts = self.dice, self.parts()
        text, spans, width, begins = "", [], 0, True
        for k, (label, part) in enumerate(parts):
            for piece in part.split():
                word, ended, _ = piece.partition(STOP)
                if word:
                    typed = self.word(word)
                    text += typed[0].upper() + typed[1:] if begins and self.case == "plain" else typed
                    width += 1
                begins = bool(ended)
                text += dice.pick(self.stops) if ended else " "
                full = width > self.width if self.lines == "wrapped" else ended and self.lines == "sentence"
                if word == NEWLINE:
                    width = 0
                elif full and width > 3:
                    text, width = f"{text}{NEWLINE} ", 0
            closed = k + 1 == len(parts) or (parts[k + 1][0] != label and part.rstrip().endswith(STOP))
            if closed and width and (self.lines == "field" or dice.chance(0.15)):
                text, width = f"{text}{NEWLINE} ", 0
            spans.append((len(text), label))
        return labelled(text.rstrip(), spans)


def make_apartments(n: int, *, seed: int = 0) -> Corpus:
    """n made-up adverts with their 12 kinds of fields labelled.

    Advert i depends on `seed` and i only, so make_apartments(k) is the beginning of make_apartments(n).

    >>> "rent" in make_apartments(3, seed=1).examples[0].labels
    True
    """
    if n < 0:
        raise ParameterError(f"n must be at least 0, not {n}")
    adverts = [Advert(Dice(f"apartments/{seed}/{i}")) for i in range(n)]
    return Corpus([advert.write() for advert in adverts], f"<apartments, seed {seed}>")
