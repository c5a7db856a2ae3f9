"""Kinds of words, such as given names, places, units or function words, by the lists that come with semistruct.

A word may be of several kinds: the lists are meant to know much, not to be always right.  They are files of words in
lower case, separated by blanks; lines that begin with # are skipped.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files as resources

from semistruct.corpus import Token
from semistruct.features.registry import WORDS, template
from semistruct.features.words import Values, WordTemplate, core_of, word_of


@cache
def shipped_kinds() -> dict[str, str]:
    """For each word its kinds, separated by blanks."""
    found: dict[str, list[str]] = {}
    folder = resources("semistruct.features") / "kinds"
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        lines = file.read_text("utf-8").splitlines()
        words = [word for line in lines if not line.startswith("#") for word in line.split()]
        for word in words:
            found.setdefault(word, []).append(file.name.removesuffix(".txt"))
    return {word: " ".join(of) for word, of in found.items()}


@template(WORDS, shipped_kinds)
def kinds(table: dict[str, str]) -> WordTemplate:
    """The kinds of the lower-cased word without its outer punctuation."""

    def values(token: Token) -> Values:
        return table.get(core_of(word_of(token)).lower(), "").split()

    return values
