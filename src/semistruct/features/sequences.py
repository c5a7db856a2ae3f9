"""Templates that look at the whole sequence: each gives, for every position, the values the feature takes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from semistruct.corpus import Token
from semistruct.features.registry import SEQUENCES, template
from semistruct.features.words import Values, is_punctuation, shape_of, word_of

SequenceTemplate = Callable[[list[Token]], list[Values]]

OPENING, CLOSING, QUOTES = set("([{"), set(")]}"), {'"', "``", "''", "“", "”"}


@template(SEQUENCES)
def begin() -> SequenceTemplate:
    return lambda tokens: [["yes"] if t == 0 else [] for t in range(len(tokens))]


@template(SEQUENCES)
def end() -> SequenceTemplate:
    return lambda tokens: [["yes"] if t == len(tokens) - 1 else [] for t in range(len(tokens))]


@template(SEQUENCES)
def bigram() -> SequenceTemplate:
    """The lower-cased word with the one before it."""
    return lambda tokens: _with_the_last([word_of(token).lower() for token in tokens])


@template(SEQUENCES)
def shapes() -> SequenceTemplate:
    """The shape of the word with the one before it."""
    return lambda tokens: _with_the_last([shape_of(word_of(token)) for token in tokens])


def _with_the_last(texts: list[str]) -> list[Values]:
    return [[f"{a} {b}"] for a, b in pairwise(["^", *texts])]


@template(SEQUENCES)
def position() -> SequenceTemplate:
    """How far the beginning and the end are, on a scale that doubles: 0, 1, 2-3, 4-7, ..."""

    def values(tokens: list[Token]) -> list[Values]:
        last = len(tokens) - 1
        return [[f"<{t.bit_length()}", f">{(last - t).bit_length()}"] for t in range(len(tokens))]

    return values


@template(SEQUENCES)
def places() -> SequenceTemplate:
    """The number of tokens before and behind, 4 standing for more."""

    def values(tokens: list[Token]) -> list[Values]:
        last = len(tokens) - 1
        return [[f"<{min(t, 4)}", f">{min(last - t, 4)}"] for t in range(len(tokens))]

    return values


@template(SEQUENCES)
def enclosed() -> SequenceTemplate:
    """Whether the token is inside brackets or quotation marks."""

    def values(tokens: list[Token]) -> list[Values]:
        out: list[Values] = []
        brackets = quotes = False
        for token in tokens:
            text = word_of(token)
            brackets = brackets or text in OPENING
            quotes = quotes != (text in QUOTES)
            out.append(["brackets"] * brackets + ["quotes"] * quotes)
            brackets = brackets and text not in CLOSING
        return out

    return values


@template(SEQUENCES)
def signs() -> SequenceTemplate:
    """The nearest punctuation on the left and on the right."""

    def values(tokens: list[Token]) -> list[Values]:
        left, right = _last_sign(tokens), _last_sign(tokens[::-1])[::-1]
        return [[f"<{a}", f">{b}"] for a, b in zip(left, right, strict=True)]

    return values


def _last_sign(tokens: list[Token]) -> list[str]:
    """For each position the punctuation last seen before it, ^ if none."""
    out, last = [], "^"
    for token in tokens:
        out.append(last)
        if is_punctuation(token):
            last = word_of(token)
    return out


def read_lexicon(lines: list[str]) -> dict[str, str]:
    """One phrase per line, tokens separated by blanks, case ignored."""
    return {" ".join(line.lower().split()): "" for line in lines}


@template(SEQUENCES, read_lexicon)
def lexicon(phrases: dict[str, str]) -> SequenceTemplate:
    """Longest matches of a list of phrases: B where one begins, I inside it."""
    longest = max((phrase.count(" ") + 1 for phrase in phrases), default=0)

    def values(tokens: list[Token]) -> list[Values]:
        words = [word_of(token).lower() for token in tokens]
        out: list[Values] = [[] for _ in words]
        t = 0
        while t < len(words):
            sizes = range(min(longest, len(words) - t), 0, -1)
            size = next((k for k in sizes if " ".join(words[t : t + k]) in phrases), 0)
            for s in range(t, t + size):
                out[s] = ["B" if s == t else "I"]
            t += max(size, 1)
        return out

    return values
