"""Rules about the labels of single tokens: at the ends of a sequence, and of certain words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from semistruct.base.patterns import compiled, matching
from semistruct.features.words import is_punctuation, word_of
from semistruct.rules.base import Candidate, Rule, ShareRule, Suggesting
from semistruct.rules.events import Term, TokenEvent
from semistruct.rules.evidence import LISTED, MOSTLY, WORTH, Examples, ranked, singles
from semistruct.rules.values import (
    LabelSet,
    Pattern_,
    Patterns,
    WordList,
    bounds,
    factor,
    labels_text,
    members,
    named,
    others,
    pattern_text,
    range_text,
    words_text,
)
from semistruct.rules.words import Case, Wanted, WordTest, in_any_case, wanted_patterns, wanted_words

FARTHEST = 1000  # tokens that `within` may reach

EXPECTED = 4.0
"""How often a word should have had a label by chance for its absence to mean something."""

LEAST, LEAST_SHARE = 3, 0.01
"""The number of pool sequences, and their share, in which a word must be to be suggested."""

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


class _End(Rule):
    """One end of the sequence has one of the labels."""

    place: ClassVar[Literal["first", "last"]]

    @property
    def says(self) -> str:
        return f"{self.key.replace('_', ' ')} {labels_text(getattr(self, self.key))}"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        wrong = others(labels, getattr(self, self.key))
        return [Term(self.says, TokenEvent(wrong, place=self.place), high=0)]

    @classmethod
    def candidates(cls, examples: Examples) -> Iterator[Candidate]:
        seen = Counter(row[0 if cls.place == "first" else -1] for row in examples.y)
        if len(seen) <= LISTED:
            yield Candidate(cls.made(ranked(seen)), singles(seen))


class StartsWith(_End):
    """The first token has one of these labels."""

    key: ClassVar = "starts_with"
    place: ClassVar = "first"
    suggesting: ClassVar = Suggesting(habit=True, safe=True, turn=1)
    starts_with: LabelSet


class EndsWith(_End):
    """The last token has one of these labels."""

    key: ClassVar = "ends_with"
    place: ClassVar = "last"
    suggesting: ClassVar = Suggesting(turn=2)
    ends_with: LabelSet


class _WordRule(ShareRule):
    """What `Words` and `Pattern` share: everything except the choice of the words."""

    most_labels: ClassVar[int]  # that a candidate says a word has
    are: LabelSet | None = None
    are_not: LabelSet | None = None
    case: Case | None = None
    punctuation: Literal["ignore"] | None = None
    place: Literal["first", "last"] | None = None
    before: Pattern_ | None = None
    after: Pattern_ | None = None
    within: Annotated[int, Field(ge=1, le=FARTHEST)] = 1

    @model_validator(mode="after")
    def _check_word_rule(self) -> Self:
        if (self.are is None) == (self.are_not is None):
            raise ValueError("give the labels with either `are` or `are_not`")
        if self.fraction is not None and self.level == "instance":
            raise ValueError("a fraction needs the corpus level")
        if self.within > 1 and self.before is None and self.after is None:
            raise ValueError("`within` says how far `before` and `after` may be, and neither is given")
        return self

    def wanted(self) -> Wanted:
        raise NotImplementedError

    def what(self) -> str:
        raise NotImplementedError

    @property
    def says(self) -> str:
        near = f" at most {self.within} tokens" if self.within > 1 else ""
        sides = {"after": self.before, "before": self.after}
        context = "".join(f"{near} {side} {pattern!r}" for side, pattern in sides.items() if pattern)
        context += f" as the {self.place} token" if self.place else ""
        labels = f"is {labels_text(self.are)}" if self.are else f"is not {labels_text(self.are_not or ())}"
        share = "" if self.fraction is None else f" in {range_text(self.fraction, percent=True)}"
        return f"{self.what()}{context} {labels}{share}"

    def mentioned(self) -> set[str]:
        return named(self.are or self.are_not)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        before, after = (None if p is None else WordTest(patterns=(p,)) for p in (self.before, self.after))
        wanted = self.wanted()

        def having(these: frozenset[str]) -> TokenEvent:
            return TokenEvent(these, wanted.word, before, after, self.place or "any", wanted.run, self.within)

        wrong = others(labels, self.are) if self.are else frozenset(members(self.are_not or (), labels))
        if self.level == "instance":
            return [Term(self.says, having(wrong), high=0)]
        right, share = frozenset(labels) - wrong, bounds(1.0 if self.fraction is None else self.fraction)
        return [Term(self.says, having(right), *share, per=having(frozenset(labels)), unit=factor(self.unit))]

    @classmethod
    def candidates(cls, examples: Examples) -> Iterator[Candidate]:
        """First what words are, and then what they are not."""
        share = Counter(label for row in examples.y for label in row)
        known = [(text, *_labels_of(cls.made(text, are=examples.labels), examples)) for text in cls._texts(examples)]
        for text, labelled, sure in known:
            if labels := _mostly(labelled, sure, cls.most_labels):
                yield Candidate(cls.made(text, are=labels))
        for text, labelled, sure in known:
            n = sum(map(len, labelled.values()))
            for label in sorted(share.keys() - labelled.keys()):
                often = share[label] * n >= EXPECTED * share.total()
                if often and sure[label] <= (1 - MOSTLY) * sure.total():
                    yield Candidate(cls.made(text, are_not=label))

    @classmethod
    def _texts(cls, examples: Examples) -> Iterator[str]:
        """Words or patterns that candidates may be about."""
        raise NotImplementedError


def _labels_of(rule: _WordRule, examples: Examples) -> tuple[dict[str, list[int]], Counter[str]]:
    """(By label, the labelled sequences of all tokens that a rule is about; how often a sure model gives a label.)"""
    event, texts = TokenEvent(frozenset(), rule.wanted().word), examples.in_labelled.texts
    labelled: dict[str, list[int]] = defaultdict(list)
    for i, t in texts.spots(event.tokens(texts)):
        labelled[examples.y[i][t]].append(i)
    return labelled, Counter(examples.guess[i][t] for i, t in examples.sure_spots(event))


def _mostly(labelled: dict[str, list[int]], sure: Counter[str], most: int) -> list[str]:
    """The labels that words mostly have, if there are not more than `most`, and several only if each was seen twice."""
    if not labelled:
        return []
    weight = {label: len(labelled.get(label, ())) + WORTH * sure[label] for label in labelled.keys() | sure.keys()}
    labels, total = sorted(weight, key=lambda label: (-weight[label], label)), sum(weight.values())
    n = next(n for n in range(1, len(labels) + 1) if sum(weight[z] for z in labels[:n]) >= MOSTLY * total - 1e-9)
    several = n == 1 or all(len(set(labelled.get(z, ()))) > 1 for z in labels[:n])
    return labels[:n] if n <= most and several else []


class Words(_WordRule):
    """These words and phrases have one of the labels `are`, or none of the labels `are_not`.

    case           "any" or "exact"; by default a word in lower case matches any case, others match as written
    punctuation    "ignore": words are compared without the punctuation around them
    place          "first" or "last": only at that end of the sequence
    before, after  patterns that a token up to `within` tokens away must match for the rule to apply
    fraction       on the corpus level, the share of the words that obey (1 if not given); a number or a range
    """

    key: ClassVar = "words"
    suggesting: ClassVar = Suggesting(numerous=True, by_words=True, joined="words", turn=10)
    most_labels: ClassVar = 2
    words: WordList

    def wanted(self) -> Wanted:
        return wanted_words(self.words, self.case, self.punctuation == "ignore")

    def what(self) -> str:
        return words_text(self.words)

    @classmethod
    def _texts(cls, examples: Examples) -> Iterator[str]:
        """The labelled words in enough sequences, not punctuation: in lower case, then as written if that differs."""
        for fold in (str.lower, str):
            labelled, pool = _sequences_by_word(examples.X, fold), _sequences_by_word(examples.pool, fold)
            enough = max(LEAST, LEAST_SHARE * len(examples.pool))
            for word in sorted(labelled, key=lambda word: (-pool[word], -labelled[word], word)):
                often = pool[word] >= enough if examples.pool else labelled[word] > 1
                new = fold is str.lower or word != word.lower()
                if often and new and word.split() == [word] and not is_punctuation(word):
                    yield word


def _sequences_by_word(X: Sequence[Any], fold: Callable[[str], str]) -> Counter[str]:
    return Counter(word for x in X for word in {fold(word_of(token)) for token in x})


class Pattern(_WordRule):
    """Words that match a regular expression as a whole have one of the labels `are`, or none of the labels `are_not`.

    Several patterns in a list are matched by as many tokens in a row.  All else is as in `Words`.
    """

    key: ClassVar = "pattern"
    suggesting: ClassVar = Suggesting(numerous=True, by_words=True, joined="are_not", turn=9)
    most_labels: ClassVar = 3
    pattern: Patterns

    @model_validator(mode="after")
    def _compiles_in_any_case(self) -> Self:
        for pattern in [self.pattern] if isinstance(self.pattern, str) else self.pattern:
            compiled(in_any_case(pattern) if self.case == "any" else pattern)
        return self

    def wanted(self) -> Wanted:
        return wanted_patterns(self.pattern, self.case, self.punctuation == "ignore")

    def what(self) -> str:
        return pattern_text(self.pattern)

    @classmethod
    def _texts(cls, examples: Examples) -> Iterator[str]:
        """The patterns that match a word, general ones first, with room for outer punctuation if words carry it."""
        words = {word_of(token) for x in (*examples.X, *examples.pool) for token in x}
        for pattern in reversed(PATTERNS):
            loose = rf"\W*({pattern})\W*"
            found = matching(loose, words)
            if found:
                yield pattern if len(matching(pattern, found)) == len(found) else loose
