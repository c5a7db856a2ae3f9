"""What synthetic corpora share: random choices that are the same everywhere, phrases grown from a grammar, labels."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files as resources
from itertools import accumulate
from random import Random
from typing import Any, Generic, TypeVar

import yaml

from semistruct.data.corpus import Example
from semistruct.data.tokens import WORDS, tokenize

T = TypeVar("T")
Phrase = tuple[str, ...]  # text, symbol, text, symbol, ..., text
SMALL = "a an and are as at by can do for from in is of on or the to under via with"  # even in titles
SMALL_WORDS = frozenset(SMALL.split())


class Bag(Generic[T]):
    """Items drawn with frequencies that fall like 1 / (rank + flatness), as words do (Zipf)."""

    def __init__(self, items: Sequence[T], flatness: float = 2.0) -> None:
        self.items = tuple(items)
        self.heights = list(accumulate(1.0 / (k + flatness) for k in range(len(self.items))))


class Dice:
    """Every choice made for one text.

    Only Random.random is used, the one method whose values Python promises never to change.
    """

    def __init__(self, seed: str) -> None:
        self.roll = Random(seed).random

    def chance(self, p: float) -> bool:
        return self.roll() < p

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included, all equally likely."""
        return low + int(self.roll() * (high - low + 1))

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, all equally likely."""
        return items[int(self.roll() * len(items))]

    def draw(self, bag: Bag[T]) -> T:
        """One of the items, the early ones more often."""
        heights = bag.heights
        return bag.items[bisect(heights, self.roll() * heights[-1], 0, len(heights) - 1)]


def parse(rule: str) -> list[Phrase]:
    """`"a {noun}|{noun}s"` becomes [("a ", "noun", ""), ("", "noun", "s")]."""
    alternatives = re.split(r"\s*\|\s*", " ".join(rule.split()))
    return [tuple(re.split(r"\{(\w+)\}", a)) for a in alternatives]


@cache
def texts(name: str) -> dict[str, Any]:
    """What the file `name`.yaml says, which explains itself."""
    return yaml.safe_load((resources("semistruct.data.datasets") / f"{name}.yaml").read_text("utf-8"))


@cache
def grammar(name: str) -> dict[str, Bag[Phrase]]:
    """The words and rules of a file as bags of phrases; a list of n words is flatter the longer it is."""
    bags: dict[str, Bag[Phrase]] = {}
    for symbol, text in texts(name)["words"].items():
        listed: list[Phrase] = [(w.replace("_", " "),) for w in text.split()]
        bags[symbol] = Bag(listed, 2.0 + len(listed) / 16)
    for symbol, text in texts(name)["rules"].items():
        bags[symbol] = Bag(parse(text))
    return bags


def title_case(text: str) -> str:
    """Capitals for all words but the small ones."""
    return " ".join(w if w in SMALL_WORDS else w[:1].upper() + w[1:] for w in text.split(" "))


def polished(text: str) -> str:
    """The grammar knows no spelling rules: a -> an, theorys -> theories, classs -> classes."""
    text = re.sub(r"\b([Aa]) (?=[aeio])", r"\1n ", text)
    text = re.sub(r"(ss|ch|us|x)s\b", r"\1es", text)
    return re.sub(r"([^aeiou ])ys\b", r"\1ies", text).replace(" ,", ",")


class Writer:
    """Grows phrases; `fixed` gives the symbols that must stay the same within one text.

    {Noun} is {noun} in title case, {noun_low} is {noun} in small letters, {cap} is a capital letter,
    {city} a {place} without its country.
    """

    def __init__(self, dice: Dice, fixed: Mapping[str, str], bags: Mapping[str, Bag[Phrase]]) -> None:
        self.dice = dice
        self.fixed = {**fixed}
        self.bags = bags

    def grow(self, symbol: str) -> str:
        if symbol in self.fixed:
            return self.fixed[symbol]
        if symbol == "cap":
            return self.grow("letter").upper()
        if symbol == "city":
            return self.grow("place").partition(",")[0]
        if symbol[0].isupper():
            return title_case(self.grow(symbol.lower()))
        if symbol.endswith("_low"):
            return self.grow(symbol.removesuffix("_low")).lower()
        phrase = self.dice.draw(self.bags[symbol])
        if len(phrase) == 1:
            return phrase[0]
        return "".join([self.grow(part) if k % 2 else part for k, part in enumerate(phrase)])


def labelled(text: str, spans: list[tuple[int, str]]) -> Example:
    """The tokens of `text`; `spans` says where each field ends and what it is."""
    tokens, offsets = tokenize(text)
    labels: list[str | None] = []
    fields_left = iter(spans)
    end, label = next(fields_left)
    for start, _ in offsets:
        while start >= end:
            end, label = next(fields_left)
        labels.append(label)
    return Example([*tokens], labels, text, offsets, cut_by=WORDS)
