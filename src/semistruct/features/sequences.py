"""Templates that look at the whole sequence: each gives, for every position, the values the feature takes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from semistruct.corpus import Token
from semistruct.features.registry import SEQUENCES, template
from semistruct.features.texts import Template, Text, Values
from semistruct.features.words import is_punctuation, shape_of, word_of
from semistruct.files import all_lines

SequenceTemplate = Callable[[list[Token]], list[list[str]]]

NOTHING = "^"  # where there is no word
OPENING, CLOSING, QUOTES = set("([{"), set(")]}"), {'"', "``", "''", "“", "”"}
FARTHEST = 4  # of `places`


@template(SEQUENCES)
def begin() -> SequenceTemplate:
    return Template(
        lambda tokens: [["yes"] if t == 0 else [] for t in range(len(tokens))],
        lambda text: Values.where(text.before == 0, "yes"),
    )


@template(SEQUENCES)
def end() -> SequenceTemplate:
    return Template(
        lambda tokens: [["yes"] if t == len(tokens) - 1 else [] for t in range(len(tokens))],
        lambda text: Values.where(text.behind == 0, "yes"),
    )


@template(SEQUENCES)
def bigram() -> SequenceTemplate:
    """The lower-cased word with the one before it."""
    return _with_the_last(_lower)


@template(SEQUENCES)
def shapes() -> SequenceTemplate:
    """The shape of the word with the one before it."""
    return _with_the_last(_shape)


def _lower(token: Token) -> str:
    return word_of(token).lower()


def _shape(token: Token) -> str:
    return shape_of(word_of(token))


def _with_the_last(look: Callable[[Token], str]) -> SequenceTemplate:
    def over(text: Text) -> Values:
        which, looks = text.ask(look)
        last = np.where(text.before == 0, len(looks), np.roll(which, 1))
        named = [*looks, NOTHING]
        n = len(named)
        ones = np.ones(len(which), np.int32)
        return Values.coded(ones, last * n + which, lambda code: f"{named[code // n]} {named[code % n]}")

    return Template(lambda tokens: [[f"{a} {b}"] for a, b in pairwise([NOTHING, *map(look, tokens)])], over)


@template(SEQUENCES)
def position() -> SequenceTemplate:
    """How far the beginning and the end are, on a scale that doubles: 0, 1, 2-3, 4-7, ..."""
    return _both_ways(int.bit_length, lambda distance: np.frexp(distance)[1])


@template(SEQUENCES)
def places() -> SequenceTemplate:
    """The number of tokens before and behind, 4 standing for more."""
    return _both_ways(lambda distance: min(distance, FARTHEST), lambda distance: np.minimum(distance, FARTHEST))


def _both_ways(one: Callable[[int], int], over: Callable[[np.ndarray], np.ndarray]) -> SequenceTemplate:
    """What becomes of the distance to the beginning, and of that to the end."""

    def values(tokens: list[Token]) -> list[list[str]]:
        last = len(tokens) - 1
        return [[f"<{one(t)}", f">{one(last - t)}"] for t in range(len(tokens))]

    def both(text: Text) -> Values:
        codes = np.stack([2 * over(text.before), 2 * over(text.behind) + 1], axis=1).ravel()
        sizes = np.full(len(text.word), 2, np.int32)
        return Values.coded(sizes, codes, lambda code: f"{'<>'[code % 2]}{code // 2}")

    return Template(values, both)


@template(SEQUENCES)
def enclosed() -> SequenceTemplate:
    """Whether the token is inside brackets or quotation marks."""

    def values(tokens: list[Token]) -> list[list[str]]:
        out: list[list[str]] = []
        brackets = quotes = False
        for token in tokens:
            text = word_of(token)
            brackets = brackets or text in OPENING
            quotes = quotes != (text in QUOTES)
            out.append(["brackets"] * brackets + ["quotes"] * quotes)
            brackets = brackets and text not in CLOSING
        return out

    def over(text: Text) -> Values:
        opened, closed = text.last(text.tell(_opens)), text.last(text.tell(_closes))
        closed_before = np.where(text.before == 0, -1, np.roll(closed, 1))
        seen = np.cumsum(text.tell(_quotes))
        before_all = np.append(0, seen)[np.arange(len(seen)) - text.before]
        inside = np.stack([opened > closed_before, (seen - before_all) % 2 == 1], axis=1)
        texts = "brackets", "quotes"
        return Values.coded(inside.sum(axis=1, dtype=np.int32), np.nonzero(inside)[1], lambda code: texts[code])

    return Template(values, over)


def _opens(token: Token) -> bool:
    return word_of(token) in OPENING


def _closes(token: Token) -> bool:
    return word_of(token) in CLOSING


def _quotes(token: Token) -> bool:
    return word_of(token) in QUOTES


@template(SEQUENCES)
def signs() -> SequenceTemplate:
    """The nearest punctuation on the left and on the right."""

    def values(tokens: list[Token]) -> list[list[str]]:
        left, right = _last_sign(tokens), _last_sign(tokens[::-1])[::-1]
        return [[f"<{a}", f">{b}"] for a, b in zip(left, right, strict=True)]

    def over(text: Text) -> Values:
        there = text.tell(is_punctuation)
        left = np.where(text.before == 0, -1, np.roll(text.last(there), 1))
        right = np.where(text.behind == 0, -1, np.roll(text.next(there), -1))
        which, texts = text.ask(word_of)
        signs = [np.where(one < 0, len(texts), which[one]) for one in (left, right)]
        named = [*texts, NOTHING]
        codes = np.stack([2 * signs[0], 2 * signs[1] + 1], axis=1).ravel()
        sizes = np.full(len(text.word), 2, np.int32)
        return Values.coded(sizes, codes, lambda code: f"{'<>'[code % 2]}{named[code // 2]}")

    return Template(values, over)


def _last_sign(tokens: list[Token]) -> list[str]:
    """For each position the punctuation last seen before it, ^ if none."""
    out, last = [], NOTHING
    for token in tokens:
        out.append(last)
        if is_punctuation(token):
            last = word_of(token)
    return out


def read_lexicon(file: str) -> dict[str, str]:
    """One phrase per line, tokens separated by blanks, case ignored."""
    return {" ".join(line.lower().split()): "" for line in all_lines(file) if line.strip()}


@template(SEQUENCES, read_lexicon)
def lexicon(phrases: dict[str, str]) -> SequenceTemplate:
    """Longest matches of a list of phrases: B where one begins, I inside it."""
    longest = max((phrase.count(" ") + 1 for phrase in phrases), default=0)

    def values(tokens: list[Token]) -> list[list[str]]:
        words = [word_of(token).lower() for token in tokens]
        out: list[list[str]] = [[] for _ in words]
        t = 0
        while t < len(words):
            sizes = range(min(longest, len(words) - t), 0, -1)
            size = next((k for k in sizes if " ".join(words[t : t + k]) in phrases), 0)
            for s in range(t, t + size):
                out[s] = ["B" if s == t else "I"]
            t += max(size, 1)
        return out

    return values
