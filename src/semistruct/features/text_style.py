"""How the tokens of data look: how the text was probably cut, and whether other data looks the same.

What tells most is punctuation: beside a word (`Smith,`) it was left by a cut at blanks, a token of its own was cut off.
"""

from __future__ import annotations

import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from semistruct.base.errors import DataWarning, quoted
from semistruct.data.corpus import Token, word_of
from semistruct.data.tokens import GIVEN, WHITESPACE, WORDS, tokenize
from semistruct.features.words import shape_of

ATTACHED = re.compile(r"""[("\[]\w|.*\w[.,;:!?)\]"]$""", re.DOTALL)
ALONE = re.compile(r"""[.,;:!?()\[\]"]$""")
NEARLY_ALL = 0.98
MIN_SIGNS = 8  # signs of punctuation from which their place can be told
MIN_TOKENS = 100  # from which shapes can be compared
MAX_SHAPES = 2000  # that are kept
MAX_TEXTS = 10_000  # whose checksums are kept
OTHER_SIGNS = 0.5  # difference in the share of attached punctuation; within real corpora it is below 0.05
OTHER_SHAPES = 0.3  # share of tokens whose shape is new; within real corpora it is below 0.1


@dataclass(frozen=True)
class Look:
    """Numbers of tokens, of those with punctuation attached, of punctuation alone; the most frequent shapes; and
    checksums of the sequences, by which they are known again.
    """

    tokens: int
    attached: int
    alone: int
    shapes: tuple[str, ...]
    texts: tuple[int, ...]

    @classmethod
    def of(cls, X: Sequence[Sequence[Token]]) -> Self:
        words = Counter(word_of(token) for x in X for token in x)
        shapes = Counter[str]()
        for word, n in words.items():
            shapes[shape_of(word)] += n
        most = tuple(shape for shape, _ in shapes.most_common(MAX_SHAPES))
        return cls(words.total(), *_signs(words), most, tuple(map(_checksum, X[:MAX_TEXTS])))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The inverse of `to_dict`; a ValueError if there is something else."""
        look = cls(**{**data, "shapes": tuple(data["shapes"]), "texts": tuple(data["texts"])})
        counts = (look.tokens, look.attached, look.alone, *look.texts)
        if not all(type(n) is int and n >= 0 for n in counts) or not all(isinstance(s, str) for s in look.shapes):
            raise ValueError("the look of the tokens is not made of counts and shapes")
        return look

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def signs(self) -> int:
        return self.attached + self.alone

    def known(self, X: Sequence[Sequence[Token]]) -> list[bool]:
        """For each sequence of X, whether it reads the same as one of these, however they are cut into tokens."""
        known = {*self.texts}
        return [_checksum(x) in known for x in X]

    def seen(self, X: Sequence[Sequence[Token]]) -> int:
        """How many sequences of X read the same as one of these."""
        return sum(self.known(X))

    def difference(self, X: Sequence[Sequence[Token]]) -> str | None:
        """In which way the tokens of X look unlike these, None if they look alike or are too few to tell."""
        other = Look.of(X)
        found = []
        if min(self.signs, other.signs) >= MIN_SIGNS:
            share, expected = other.attached / other.signs, self.attached / self.signs
            if abs(share - expected) > OTHER_SIGNS:
                found.append(f"{share:.0%} of the punctuation is attached to words, in training {expected:.0%}")
        if min(self.tokens, other.tokens) >= MIN_TOKENS:
            seen = {*self.shapes}
            new = [word for x in X for word in map(word_of, x) if shape_of(word) not in seen]
            if len(new) > OTHER_SHAPES * other.tokens:
                share = len(new) / other.tokens
                found.append(f"{share:.0%} have a shape that no training token has, such as {quoted(new[0])}")
        return "; ".join(found) or None

    def warn_of_difference(self, source: str, X: Sequence[Sequence[Token]]) -> None:
        """One warning if the tokens of the file `source` look unlike these."""
        if problem := self.difference(X):
            hint = "were they cut from text in another way? (see --tokens)"
            warnings.warn(f"{source}: the tokens look unlike the training ones: {problem}; {hint}", DataWarning, 2)


def probable_cut(X: Iterable[Sequence[Token]]) -> str:
    """How text was probably cut into the tokens of X, as a word of `semistruct.data.tokens`; "given" if in doubt.

    At blanks, if punctuation is attached to words and hardly ever alone; into "words", if that leaves nearly all whole.
    """
    words = Counter(word_of(token) for x in X for token in x)
    attached, alone = _signs(words)
    if attached >= NEARLY_ALL * (attached + alone) > 0:
        return GIVEN if any(len(word.split()) > 1 for word in words) else WHITESPACE
    whole = sum(n for word, n in words.items() if tokenize(word)[0] == [word])
    return WORDS if whole >= NEARLY_ALL * words.total() else GIVEN


def advice_on_cutting(X: Iterable[Sequence[Token]]) -> str:
    """Why the tokens of X do not tell how text was cut, and what may be done: the rest of a sentence."""
    words = Counter(word_of(token) for x in X for token in x)
    odd = next((word for word, _ in words.most_common() if tokenize(word)[0] != [word]), None)
    why = "does not tell how to cut it" if odd is None else f"has tokens that are not words, such as {quoted(odd)}"
    if any(len(word.split()) > 1 for word in words):
        return f"{why}; use --tokens pattern:REGEX"
    if _signs(words)[1] <= (1 - NEARLY_ALL) * words.total():
        return f"{why}; try --tokens whitespace"
    return f"{why}; use --tokens words, whitespace or pattern:REGEX"


def _signs(words: Counter[str]) -> tuple[int, int]:
    """How much punctuation is attached to words, and how much is alone."""
    attached, alone = (sum(n for word, n in words.items() if sign.match(word)) for sign in (ATTACHED, ALONE))
    return attached, alone


def _checksum(x: Sequence[Token]) -> int:
    return zlib.crc32("".join(map(word_of, x)).encode("utf-8", "surrogatepass"))
