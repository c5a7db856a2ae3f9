"""Candidates about words: words and patterns that have one label, or never have some label."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from semistruct.features.words import is_punctuation, word_of
from semistruct.patterns import is_match
from semistruct.rules.events import TokenEvent
from semistruct.rules.words import WordTest
from semistruct.suggesting.evidence import SURE, WORTH, Seen
from semistruct.suggesting.structure import MOSTLY, Candidate, made

ARE = {"words": 2, "pattern": 3}
"""How many labels a rule may say that a word or a pattern has."""

EXPECTED = 4.0
"""How often a word should have had a label by chance for its absence to mean something."""

LEAST, LEAST_SHARE = 3, 0.01
"""The number of pool sequences, and their share, in which a word must be."""

PATTERNS = (
    r"\S*@\S*",  # e-mail
    r"(https?|ftp|www)[:.].*|.*\.(edu|com|org|net|html?)",  # addresses in the web
    r"(1[89]|20)\d\d[a-z]?",  # years
    r"\d+[-–—]+\d+",  # ranges
    r"\d{5}(-\d{4})?",  # zip codes
    r"\d+(st|nd|rd|th)",  # ordinals
    r"\d+[.,]\d+",  # decimals
    r"[$€£]\d.*|\d+[$€£]",  # money
    r"(?i:jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?|"
    r"dec(ember)?)",  # months, without may
    r"\d{1,3}",  # small numbers
    r"\d+",  # numbers
    r".*\d.*",  # anything with a digit
    r"[A-Z]\.?",  # initials
    r"[IVXLC]{2,}",  # roman numbers
    r"[A-Z]{2,}",  # capitals
    r".*(\"|''|``|[“”]).*",  # quotes
)
"""Kinds of words, by regular expressions; those of which others are special cases come later."""


def vocabulary(seen: Seen) -> Iterator[Candidate]:
    """Candidates for patterns, then for words, each first with what they are and then with what they are not."""
    share = Counter(label for row in seen.y for label in row)
    for kind, texts in (("pattern", _patterns(seen)), ("words", _words(seen))):
        known = [(text, *_labels_of(kind, text, seen)) for text in texts]
        for text, labelled, sure in known:
            if labels := _mostly(labelled, sure, ARE[kind]):
                yield Candidate(made(**{kind: text}, are=labels))
        for text, labelled, sure in known:
            n = sum(map(len, labelled.values()))
            for label in sorted(share.keys() - labelled.keys()):
                often = share[label] * n >= EXPECTED * share.total()
                if often and sure[label] <= (1 - MOSTLY) * sure.total():
                    yield Candidate(made(**{kind: text}, are_not=label))


def _labels_of(kind: str, text: str, seen: Seen) -> tuple[dict[str, list[int]], Counter[str]]:
    """(By label, the labelled sequences of all tokens that a text stands for; how often a sure model gives a label.)"""
    test = WordTest(words=frozenset({text})) if kind == "words" else WordTest(patterns=(text,))
    event = TokenEvent(frozenset(), test)
    labelled: dict[str, list[int]] = defaultdict(list)
    for i, t in seen.in_labelled.where.of(event):
        labelled[seen.y[i][t]].append(i)
    places = seen.in_pool.where.of(event)
    return labelled, Counter(seen.found[i][t] for i, t in places if seen.doubt[i][t] < SURE)


def _mostly(labelled: dict[str, list[int]], sure: Counter[str], most: int) -> list[str]:
    """The labels that words mostly have, if there are not more than `most`, and several only if each was seen twice."""
    if not labelled:
        return []
    weight = {label: len(labelled.get(label, ())) + WORTH * sure[label] for label in labelled.keys() | sure.keys()}
    ranked, total = sorted(weight, key=lambda label: (-weight[label], label)), sum(weight.values())
    n = next(n for n in range(1, len(ranked) + 1) if sum(weight[z] for z in ranked[:n]) >= MOSTLY * total - 1e-9)
    several = n == 1 or all(len(set(labelled.get(z, ()))) > 1 for z in ranked[:n])
    return ranked[:n] if n <= most and several else []


def _patterns(seen: Seen) -> Iterator[str]:
    """The patterns that match a word, general ones first, with room for outer punctuation if words carry it."""
    words = {word_of(token) for x in (*seen.X, *seen.pool) for token in x}
    for pattern in reversed(PATTERNS):
        loose = rf"\W*({pattern})\W*"
        found = [word for word in words if is_match(loose, word)]
        if found:
            yield pattern if all(is_match(pattern, word) for word in found) else loose


def _words(seen: Seen) -> Iterator[str]:
    """The labelled words in enough sequences, not punctuation: in lower case, and then as written if that differs."""
    for fold in (str.lower, str):
        labelled, pool = _sequences_by_word(seen.X, fold), _sequences_by_word(seen.pool, fold)
        enough = max(LEAST, LEAST_SHARE * len(seen.pool))
        for word in sorted(labelled, key=lambda word: (-pool[word], -labelled[word], word)):
            often = pool[word] >= enough if seen.pool else labelled[word] > 1
            new = fold is str.lower or word != word.lower()
            if often and new and word.split() == [word] and not is_punctuation(word):
                yield word


def _sequences_by_word(X: Sequence[Any], fold: Callable[[str], str]) -> Counter[str]:
    return Counter(word for x in X for word in {fold(word_of(token)) for token in x})
