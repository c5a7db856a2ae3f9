"""Templates that look at one word: each gives the values that its feature takes at a token.

The values must depend on the token alone, since they are remembered per distinct token.  A template with an argument
is a function that makes such a function: `suffix(2-4)` is suffix(range(2, 5)).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.resources import files as resources

from semistruct.base.errors import DataError, ParameterError, quoted
from semistruct.base.files import all_lines
from semistruct.data.corpus import Token, word_of
from semistruct.features.registry import WORDS, Template, template

WordFunction = Callable[[Token], list[str]]
REMEMBERED = 1 << 15  # words whose shape and core are not worked out again

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
MATCHES = [(name, pattern.match) for name, pattern in CLASSES.items()]
VOWELS = frozenset("aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýÿœ")
LINE_BREAKS = {"*NEWLINE*", "\n", "\\n", "<br>", "⏎"}
DIGIT = re.compile(r"\d")


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


@template(WORDS)
def classes(token: Token) -> list[str]:
    """The regular expressions of CLASSES that the word matches."""
    text = word_of(token)
    return [name for name, matches in MATCHES if matches(text)]


@template(WORDS)
def digits(token: Token) -> list[str]:
    """The number of digits of a number, 5 standing for more."""
    text = word_of(token)
    return [str(min(len(text), 5))] if text.isdigit() else []


@template(WORDS)
def vowels(token: Token) -> list[str]:
    """Whether a word of letters has no vowel, as many abbreviations."""
    text = word_of(token)
    return ["none"] if text.isalpha() and VOWELS.isdisjoint(text.lower()) else []


@template(WORDS)
def marks(token: Token) -> list[str]:
    """The punctuation that a word carries in front and behind: `(Smith,` has `<(` and `>,`."""
    text = word_of(token)
    start, end = _core(text)
    return [f"<{text[:start]}"] * (start > 0) + [f">{text[end:]}"] * (end < len(text))


WORDS |= {
    "word": Template(lambda token: [word_of(token)]),
    "lower": Template(lambda token: [word_of(token).lower()]),
    "shape": Template(lambda token: [shape_of(word_of(token))]),
    "size": Template(lambda token: [str(min(len(word_of(token)), 8))]),  # 8 stands for more
}


def _lengths(text: str) -> range:
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= low <= high:
        raise ValueError
    return range(low, high + 1)


@template(WORDS, _lengths, "lengths", "2-4")
def prefix(lengths: range) -> WordFunction:
    """The first letters of the lower-cased word, for words that are longer: prefix(2-4)."""
    return lambda token: [low[:k] for low in [word_of(token).lower()] for k in lengths if len(low) > k]


@template(WORDS, _lengths, "lengths", "2-4")
def suffix(lengths: range) -> WordFunction:
    """The last letters of the lower-cased word, for words that are longer: suffix(2-4)."""
    return lambda token: [low[-k:] for low in [word_of(token).lower()] for k in lengths if len(low) > k]


def _of_core(whole: Template, look: Callable[[str], str]) -> Template:
    """The same template for what `look` makes of the word."""

    def inner(values: WordFunction) -> WordFunction:
        return lambda token: values(look(word_of(token)))

    function = inner(whole.function) if whole.read is None else lambda read: inner(whole.function(read))
    return Template(function, whole.argument, whole.example, whole.read)


for _names, _look in ((("lower", "prefix", "suffix"), _with_zeros),
                      (("shape", "classes", "digits", "size", "vowels"), core_of)):  # fmt: skip
    WORDS |= {f"core{name}": _of_core(WORDS[name], _look) for name in _names}


def _number(text: str) -> int:
    if not text.isdigit():
        raise ValueError
    return int(text)


@template(WORDS, _number, "a number", "1")
def column(k: int) -> WordFunction:
    """A further column of the data, e.g. the part of speech: column(1)."""

    def values(token: Token) -> list[str]:
        columns = (token,) if isinstance(token, str) else token
        if k >= len(columns):
            problem = f"column({k}) needs tokens with {k + 1} columns, {quoted(token)} has {len(columns)}"
            raise ParameterError(problem)
        return [columns[k]]

    return values


def read_clusters(file: str) -> dict[str, str]:
    """`word TAB cluster` lines, or the `bits TAB word TAB count` lines of Brown clustering programs."""
    table = {}
    for number, line in enumerate(all_lines(file), 1):
        if not line.strip():
            continue
        parts = line.split("\t")
        if len(parts) not in (2, 3):
            raise DataError.at(file, number, f"columns: {len(parts)}, expected 2 or 3 with a TAB between them")
        bits_first = len(parts) == 3
        table[parts[1] if bits_first else parts[0]] = parts[0] if bits_first else parts[1]
    return table


@template(WORDS, read_clusters, "a file", "brown.tsv", kept=True)
def cluster(table: dict[str, str]) -> WordFunction:
    """The cluster of the word, and for bit strings (Brown clusters) their prefixes of 4, 6 and 10 bits."""

    def values(token: Token) -> list[str]:
        text = word_of(token)
        path = table.get(text) or table.get(text.lower())
        if path is None:
            return []
        return [path, *(path[:k] for k in (4, 6, 10) if len(path) > k and set(path) <= {"0", "1"})]

    return values


@cache
def shipped_kinds() -> dict[str, str]:
    """For each word of the lists in `kinds/` its kinds, such as given-names or places, separated by blanks."""
    found: dict[str, list[str]] = {}
    folder = resources("semistruct.features") / "kinds"
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        lines = file.read_text("utf-8").splitlines()
        for listed in (word for line in lines if not line.startswith("#") for word in line.split()):
            found.setdefault(listed, []).append(file.name.removesuffix(".txt"))
    return {word: " ".join(kinds) for word, kinds in found.items()}


@template(WORDS, shipped_kinds, kept=True)
def kinds(table: dict[str, str]) -> WordFunction:
    """The kinds of the lower-cased word without its outer punctuation."""
    return lambda token: table.get(core_of(word_of(token)).lower(), "").split()
