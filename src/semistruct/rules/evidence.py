"""The cases of a rule in labelled sequences, those that do not obey, and how credible that makes the rule.

The cases are the words that a rule is about, the changes of the label, the blocks, or else whole sequences.

Rules are of three kinds, and by Bayes' rule the cases say which is the most probable:

    true   nearly all cases obey; most rules that people write are of this kind.  It weighs  strength * odds
    loose  most cases obey.  It weighs  odds / 2
    false  few cases obey.  It weighs nothing

where odds is the logarithm of the odds that a case obeys, for true rules relative to that of a rule without cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import isfinite, lgamma, log, sqrt
from operator import itemgetter
from typing import Any

import numpy as np

from semistruct.rules.base import Rule
from semistruct.rules.events import Event, Term
from semistruct.rules.words import Texts

# These numbers were set on training parts of references, title pages and names.
PRIOR = {"true": 0.75, "loose": 0.15, "false": 0.1}
KINDS = {"true": (30.0, 1.0), "loose": (8.0, 2.0), "false": (1.0, 3.0)}
"""Of which cases, obeying and not, a rule of this kind reminds (the parameters of a beta distribution)."""
CASES = (9.0, 1.0)  # that every rule seems to have had, for its odds
MOST = 3.0  # of the odds, relative to a rule without cases

MOSTLY = 0.95  # the share of cases that must obey for a rule to be a candidate
OFTEN = 4  # sequences that must show a regularity for it to be certain
LISTED = 3  # labels that a candidate lists, at most

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Credibility:
    """What is known of one rule: to how many labelled cases it applies, and how many of them obey.

    doubt  without cases, a model can raise a doubt: as if so many cases did not obey
    """

    applies: int = 0
    obeys: int = 0
    doubt: float = 0.0

    @property
    def kind(self) -> str:
        broken = self.applies - self.obeys + self.doubt

        def chance(kind: str) -> float:
            """The logarithm of the chance of such cases, in some order, for a rule of this kind."""
            a, b = KINDS[kind]
            return log(PRIOR[kind]) + _log_beta(a + self.obeys, b + broken) - _log_beta(a, b)

        return max(KINDS, key=chance)

    def weight(self, strength: float) -> float:
        """0 for a rule that is false."""
        odds = max(log((self.obeys + CASES[0]) / (self.applies - self.obeys + CASES[1])), 0.0)
        if self.kind == "true":
            return strength * min(odds / log(CASES[0] / CASES[1]), MOST)
        return odds / 2 if self.kind == "loose" else 0.0

    @property
    def why(self) -> str:
        if self.applies:
            return f"{self.obeys} of {self.applies} labelled cases obey"
        sure = f", and in {self.doubt:.0%} of those in the pool the model is sure of other labels"
        return "no labelled case" + sure * (self.doubt > 0)


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


@dataclass(frozen=True)
class Labelled:
    """A sequence and its number."""

    number: int
    tokens: Sequence[Any]
    labels: list[Any]

    @property
    def where(self) -> str:
        return f"sequence {self.number}"


@dataclass(frozen=True)
class Cases:
    """The cases of a rule in one sequence: how many, the places of those that do not obey, and how bad that is.

    A place is None if it is the sequence as a whole.
    """

    n: int = 0
    broken: Sequence[int | None] = ()
    badness: float = 0.0


class CaseCounter:
    """Counts the cases of rules in those of the sequences X, labelled y, that are fully labelled: `data`."""

    def __init__(self, X: Sequence[Any], y: Sequence[Sequence[str | None] | None]) -> None:
        rows = [[] if row is None else list(row) for row in y]
        pairs = enumerate(zip(X, rows, strict=True))
        self.data = [Labelled(i, x, row) for i, (x, row) in pairs if row and None not in row]

    @cached_property
    def texts(self) -> Texts:
        return Texts([example.tokens for example in self.data])

    def of(self, rule: Rule, labels: Sequence[str]) -> dict[int, Cases]:
        """By the place in `data` of the sequences that have some; labels are all labels."""
        terms = rule.terms(labels)
        if not terms:
            return {}
        term = terms[0]

        def holds(i: int) -> bool:
            return rule.if_ is None or rule.if_.holds(self.data[i].tokens, self.data[i].labels)

        tokens = None if rule.of_sequences else term.event.tokens(self.texts)
        if tokens is None:
            cases = {i: _case(rule, terms, example) for i, example in enumerate(self.data) if holds(i)}
            return {i: case for i, case in cases.items() if case.n}
        having, found = term.event.having or frozenset(), {}
        for i, spots in groupby(self.texts.spots(tokens), key=itemgetter(0)):
            if holds(i):
                places, row = [t for _, t in spots], self.data[i].labels
                # A share of words counts those that obey, all others count those that do not.
                wrong = [t for t in places if (row[t] in having) == (term.per is None)]
                found[i] = Cases(len(places), wrong, len(wrong))
        return found


def count(cases: dict[int, Cases]) -> tuple[int, int]:
    """(how many cases there are, how many obey)."""
    applies = sum(case.n for case in cases.values())
    return applies, applies - sum(len(case.broken) for case in cases.values())


def _case(rule: Rule, terms: list[Term], example: Labelled) -> Cases:
    """The cases of a rule that is not about single tokens in one sequence."""
    tokens, labels = example.tokens, example.labels
    possible = None if rule.of_sequences else terms[0].event.possible(tokens, labels)
    if possible is not None:
        wrong = sorted(set(terms[0].event.places(tokens, labels)))
        return Cases(len(possible), wrong, len(wrong))
    if rule.level == "corpus" or not rule.concerns(labels):
        return Cases()
    far = [term.distance(term.value(tokens, labels, example.where)) for term in terms]
    broken = [_first_excess(term, tokens, labels) for term, distance in zip(terms, far, strict=True) if distance > 0]
    return Cases(1, broken[:1], sum(far))


def _first_excess(term: Term, tokens: Sequence[Any], labels: list[str]) -> int | None:
    """The first place that is too many, if there is one."""
    places = sorted(term.event.places(tokens, labels))
    allowed = int(term.high) if isfinite(term.high) and term.per is None else len(places)
    return places[allowed] if allowed < len(places) else None


Z = 1.0  # standard errors between a share and its cautious bound
WORTH = 0.1
"""What a pool sequence that the model is sure of is worth beside a labelled one; together at most as much as those."""

SURE = 0.5
"""The model is sure of the labels whose doubt is below this: the surer half of the pool."""


def cautious_share(share: float, n: float) -> float:
    """The lower end of Wilson's interval for a share seen in n independent trials; 0 without any."""
    if n <= 0:
        return 0.0
    centre, half = share + Z * Z / (2 * n), Z * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(centre - half, 0.0) / (1 + Z * Z / n)


@dataclass(frozen=True)
class Evidence:
    """What speaks for a rule.

    applies, holds  cases in the labelled data, and those that obey
    sequences       labelled sequences with cases
    bound           a cautious estimate of the share of cases that obey: cases of one sequence resemble one another, so
                    that only sequences count as independent trials
    coverage        pool sequences with cases
    broken          pool sequences that break the rule as the model labels them
    gain            how many of these the rule would put right: each counts as much as the model doubts its labels
                    there, times the bound
    """

    applies: int
    holds: int
    sequences: int
    bound: float
    coverage: int
    broken: int
    gain: float

    @property
    def share(self) -> float:
        return self.holds / self.applies if self.applies else 0.0

    @property
    def text(self) -> str:
        breaks = "breaks" if self.broken == 1 else "break"
        pool = f"; pool {self.coverage}, {self.broken} {breaks} it, gain {self.gain:.1f}" if self.coverage else ""
        return f"holds {self.holds} of {self.applies}, at least {self.bound:.0%}{pool}"


def ranked(seen: Counter[str]) -> list[str]:
    """Labels, those first that were seen most."""
    return sorted(seen, key=lambda label: (-seen[label], label))


def singles(seen: Counter[str]) -> int:
    """How many labels were seen once."""
    return sum(n == 1 for n in seen.values())


class Examples:
    """Labelled sequences, and the pool with the labels of a model and its margins.

    labels  all labels
    guess   for each sequence of the pool, the labels of the model
    doubt   for each token of the pool, the share of the tokens there of whose label the model is surer
    """

    def __init__(
        self, X: Sequence[Any], y: Rows, pool: Sequence[Any], guess: Rows, margins: Sequence[np.ndarray],
        labels: Sequence[str],
    ) -> None:  # fmt: skip
        self.X, self.y, self.pool, self.guess = list(X), list(y), list(pool), list(guess)
        self.labels = tuple(labels)
        self.in_labelled, self.in_pool = CaseCounter(self.X, self.y), CaseCounter(self.pool, self.guess)
        ranked = np.sort(np.concatenate([np.zeros(0), *margins]))
        self.doubt = [1 - np.searchsorted(ranked, row, "right") / len(ranked) for row in margins]

    def evidence(self, rule: Rule, surprises: int = 0, weakest: int | None = None) -> Evidence:
        """What speaks for a rule.

        surprises  cases that obey only because the rule was made to fit them: they count as broken in the bound
        weakest    the fewest labelled sequences that show a part of the rule; default: all that have cases
        """
        cases = self._shown(rule, self.in_labelled, self.y)
        applies, holds = count(cases)
        right, total = float(holds - surprises), float(applies)
        trials = float(len(cases) if weakest is None else weakest)
        if rule.suggesting.by_words:
            agree, sure, n = self._sure_of(rule)
            worth = min(WORTH, trials / n) if n else 0.0
            right, total, trials = right + worth * agree, total + worth * sure, trials + worth * n
        bound = cautious_share(max(right, 0.0) / total, trials) if total else 0.0
        there = self._shown(rule, self.in_pool, self.guess)
        doubts = [self._doubt(i, case.broken) for i, case in there.items() if case.broken]
        return Evidence(applies, holds, len(cases), bound, len(there), len(doubts), bound * sum(doubts))

    @property
    def having(self) -> Counter[str]:
        """How many of the labelled sequences have each label."""
        return Counter(label for row in self.y for label in set(row))

    def _shown(self, rule: Rule, counter: CaseCounter, y: Rows) -> dict[int, Cases]:
        """The cases of a rule in sequences that show whether it holds."""
        return {i: case for i, case in counter.of(rule, self.labels).items() if rule.is_shown_by(y[i])}

    def sure_spots(self, event: Event) -> list[tuple[int, int]]:
        """The tokens of the pool that an event is about and of whose labels the model is sure."""
        texts = self.in_pool.texts
        spots = [] if (tokens := event.tokens(texts)) is None else texts.spots(tokens)
        return [(i, t) for i, t in spots if self.doubt[i][t] < SURE]

    def _sure_of(self, rule: Rule) -> tuple[int, int, int]:
        """Of the words of a rule that the model is sure of: (those that obey, all, their sequences)."""
        event = rule.terms(self.labels)[0].event
        sure, wrong = self.sure_spots(event), event.having or frozenset()
        agree = sum(self.guess[i][t] not in wrong for i, t in sure)
        return agree, len(sure), len({i for i, _ in sure})

    def _doubt(self, i: int, places: Sequence[int | None]) -> float:
        """How much the model doubts its labels at the places of a sequence: at the one where it is surest.

        If the place is the sequence as a whole, that is where it is least sure, as something there has to change.
        """
        return float(min(self.doubt[i].max() if t is None else self.doubt[i][t] for t in places))
