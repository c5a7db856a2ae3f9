"""Templates that look at one word: each maps it to the values the feature takes there.

A template is made once from its arguments, `suffix(2-4)` calls `suffix("2-4")`, and must be a pure function of
the token, since its answers are remembered per distinct token.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps

from semistruct.corpus import Token
from semistruct.errors import DataError, ParameterError, quoted
from semistruct.features.registry import WORDS, template
from semistruct.files import all_lines

REMEMBERED = 1 << 15  # words whose looks are not worked out again
Values = list[str]
WordTemplate = Callable[[Token], Values]

CLASSES = {
    name: re.compile(pattern)
    for name, pattern in {
        "year": r"(?:1[89]|20)\d\d[a-z]?$",
        "number": r"\d+$",
        "has digit": r".*\d",
        "range": r"\d+[-–—]+\d+$",
        "ordinal": r"\d+(?:st|nd|rd|th)$",
        "decimal": r"\d+[.,]\d+$",
        "money": r"[$€£]|\d+[$€£]$",
        "roman": r"[IVXLC]{2,}$",
        "month": r"(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
        r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)$",
        "url": r"(?:https?|ftp)[:.]|www\.|.*\.(?:edu|com|org|net|html?|ps|pdf)$",
        "e-mail": r"\S+@\S+",
        "initial": r"[A-Z]\.?$",
        "all capitals": r"[A-Z]{2,}$",
        "capitalised": r"[A-Z][a-z]",
        "mixed case": r"[A-Z]?[a-z]+[A-Z]",
        "lower case": r"[a-z]+$",
        "hyphen": r".*\w[-–]\w",
        "punctuation": r"\W+$",
        "quote": r"\"|``|''|[“”]",
        "opening": r"[\[({]$",
        "closing": r"[\])}]$",
    }.items()
}


VOWELS = frozenset("aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýÿœ")
DIGIT = re.compile(r"\d")


def word_of(token: Token) -> str:
    """The first column of a token."""
    return token if isinstance(token, str) else token[0]


def is_punctuation(token: Token) -> bool:
    """No letter and no digit."""
    return _has_no_letter(word_of(token))


@lru_cache(REMEMBERED)
def _has_no_letter(word: str) -> bool:
    return not any(map(str.isalnum, word))


@lru_cache(REMEMBERED)
def shape_of(word: str) -> str:
    """Letters and digits as A, a and 0, runs cut to one: `McCarthy-87` has the shape `AaAa-0`."""
    kinds = ["A" if c.isupper() else "a" if c.isalpha() else "0" if c.isdigit() else c for c in word]
    return "".join(k for i, k in enumerate(kinds) if i == 0 or k != kinds[i - 1])


@template(WORDS)
def word() -> WordTemplate:
    return lambda token: [word_of(token)]


@template(WORDS)
def lower() -> WordTemplate:
    return lambda token: [word_of(token).lower()]


@template(WORDS)
def shape() -> WordTemplate:
    return lambda token: [shape_of(word_of(token))]


@template(WORDS)
def digits() -> WordTemplate:
    """The number of digits of a number, 5 standing for more."""

    def values(token: Token) -> Values:
        text = word_of(token)
        return [str(min(len(text), 5))] if text.isdigit() else []

    return values


@template(WORDS)
def classes() -> WordTemplate:
    """The regular expressions of CLASSES that the word matches."""

    def values(token: Token) -> Values:
        text = word_of(token)
        return [name for name, match in matches if match(text)]

    matches = [(name, pattern.match) for name, pattern in CLASSES.items()]
    return values


@template(WORDS)
def prefix(lengths: str) -> WordTemplate:
    """The first letters of the lower-cased word, for words that are longer: prefix(2-4)."""
    sizes = _numbers(lengths, "prefix")
    return lambda token: [low[:k] for low in [word_of(token).lower()] for k in sizes if len(low) > k]


@template(WORDS)
def suffix(lengths: str) -> WordTemplate:
    """The last letters of the lower-cased word, for words that are longer: suffix(2-4)."""
    sizes = _numbers(lengths, "suffix")
    return lambda token: [low[-k:] for low in [word_of(token).lower()] for k in sizes if len(low) > k]


@template(WORDS)
def size() -> WordTemplate:
    """The number of characters, 8 standing for more."""
    return lambda token: [str(min(len(word_of(token)), 8))]


@template(WORDS)
def vowels() -> WordTemplate:
    """Whether a word of letters has no vowel, as many abbreviations."""

    def values(token: Token) -> Values:
        text = word_of(token)
        return ["none"] if text.isalpha() and VOWELS.isdisjoint(text.lower()) else []

    return values


@template(WORDS)
def marks() -> WordTemplate:
    """The punctuation that a word carries in front and behind: `(Smith,` has `<(` and `>,`."""

    def values(token: Token) -> Values:
        text = word_of(token)
        start, end = _core(text)
        return [f"<{text[:start]}"] * (start > 0) + [f">{text[end:]}"] * (end < len(text))

    return values


def _core(text: str) -> tuple[int, int]:
    """Where the text without outer punctuation begins and ends."""
    inner = [i for i, c in enumerate(text) if c.isalnum()]
    return (inner[0], inner[-1] + 1) if inner else (0, len(text))


@lru_cache(REMEMBERED)
def core_of(text: str) -> str:
    """The text without outer punctuation; all of it if it has no letter and no digit."""
    if text.isalnum():
        return text
    start, end = _core(text)
    return text[start:end]


@lru_cache(REMEMBERED)
def _with_zeros(text: str) -> str:
    """The core with zeros for its digits."""
    return DIGIT.sub("0", core_of(text))


def _of_core(make: Callable[..., WordTemplate], zeros: bool) -> Callable[..., WordTemplate]:
    """The same template for the word without outer punctuation, with zeros for its digits if wanted."""

    @wraps(make)
    def made(*args: str) -> WordTemplate:
        values, look = make(*args), _with_zeros if zeros else core_of

        def core_values(token: Token) -> Values:
            return values(look(word_of(token)))

        return core_values

    return made


WORDS |= {f"core{make.__name__}": _of_core(make, zeros=True) for make in (lower, prefix, suffix)}
WORDS |= {f"core{make.__name__}": _of_core(make, zeros=False) for make in (shape, classes, digits, size, vowels)}


@template(WORDS)
def column(number: str) -> WordTemplate:
    """A further column of the data, e.g. the part of speech: column(1)."""
    if not number.isdigit():
        raise ParameterError(f"column({number}): expected one number, e.g. column(1)")
    k = int(number)

    def values(token: Token) -> Values:
        if isinstance(token, str) or k >= len(token):
            found = 1 if isinstance(token, str) else len(token)
            raise ParameterError(f"column({k}) needs tokens with {k + 1} columns, {quoted(token)} has {found}")
        return [token[k]]

    return values


def read_clusters(file: str) -> dict[str, str]:
    """`word TAB cluster` lines, or the `bits TAB word TAB count` lines of Brown clustering programs."""
    table = {}
    for number, line in enumerate(all_lines(file), 1):
        if not line.strip():
            continue
        parts = line.split("\t")
        if len(parts) not in (2, 3):
            found = "1 column" if len(parts) == 1 else f"{len(parts)} columns"
            raise DataError.at(file, number, f"{found}, expected 2 or 3 with a TAB between them")
        bits_first = len(parts) == 3
        table[parts[1] if bits_first else parts[0]] = parts[0] if bits_first else parts[1]
    return table


@template(WORDS, read_clusters)
def cluster(table: dict[str, str]) -> WordTemplate:
    """The cluster of the word, and for bit strings (Brown clusters) their prefixes of 4, 6 and 10 bits."""

    def values(token: Token) -> Values:
        text = word_of(token)
        path = table.get(text) or table.get(text.lower())
        if path is None:
            return []
        return [path, *(path[:k] for k in (4, 6, 10) if len(path) > k and set(path) <= {"0", "1"})]

    return values


def _numbers(text: str, name: str) -> range:
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= low <= high:
        raise ParameterError(f"{name}({text}): expected a number or a range such as {name}(2-4)")
    return range(low, high + 1)
