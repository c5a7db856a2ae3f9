"""Are the rules true?  How often they apply to labelled data and hold there, and which contradict each other.

A rule has cases: the words it is about, the changes of the label, the blocks, or else whole sequences.  It is
flagged, as the labelled data often breaks it, if

    instance level  there are at least 5 cases and fewer than 95% obey, or it is hard and one case does not
    corpus level    a value lies outside its range by more than 5 points (5% of a bound above one) and by more than
                    two standard errors
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from math import inf, isfinite, sqrt
from operator import itemgetter
from typing import Any

from semistruct.errors import DataError
from semistruct.features.encoder import form_of
from semistruct.features.words import word_of
from semistruct.rules.base import Rule, Term
from semistruct.rules.conditions import InText
from semistruct.rules.contradictions import Contradiction, contradictions
from semistruct.rules.edge_events import EdgeEvent, StayEvent
from semistruct.rules.events import Event, LengthEvent, StepEvent, TokenEvent, blocks
from semistruct.rules.occurrences import Occurrences
from semistruct.rules.ruleset import Rules, corpus_value, value
from semistruct.rules.vocabulary.amounts import Count, Proportion
from semistruct.rules.vocabulary.function import Function, Measured
from semistruct.rules.vocabulary.order import Order
from semistruct.rules.votes import VoteEvent

SHARE, CASES = 0.95, 5
POINTS, ERRORS = 0.05, 2.0
AROUND = 4  # tokens shown on either side of a counter-example


@dataclass(frozen=True)
class Measure:
    """A number that a corpus rule is about; a bound may be None."""

    text: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Counterexample:
    """Labelled tokens around a case that does not obey.

    position  of the case in its sequence, None if it is the sequence as a whole
    start     position of the first token shown
    """

    sequence: int
    position: int | None
    start: int
    tokens: list[str]
    labels: list[str]


@dataclass(frozen=True)
class RuleCheck:
    """One rule on labelled data; share is None if it never applies, weight a number, "hard" or "open"."""

    text: str
    level: str
    weight: float | str
    applies: int
    obeys: int
    share: float | None
    flag: bool
    measures: list[Measure]
    examples: list[Counterexample]


@dataclass(frozen=True)
class CheckedRules:
    """All rules on labelled data.

    sequences  how many were checked: those that are fully labelled; the others were skipped
    obeying    how many of them obey all instance rules
    """

    rules: list[RuleCheck]
    contradictions: list[Contradiction]
    sequences: int
    skipped: int
    obeying: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Labelled:
    """A sequence and its number."""

    number: int
    tokens: Sequence[Any]
    labels: list[Any]

    @property
    def where(self) -> str:
        return f"sequence {self.number}"


@dataclass(frozen=True)
class _Cases:
    """The cases of a rule in one sequence: how many, the places of those that do not obey, and how bad that is."""

    n: int = 0
    broken: Sequence[int | None] = ()
    badness: float = 0.0


def check_rules(
    rules: Rules,
    X: Sequence[Any],
    y: Sequence[Sequence[str | None] | None],
    labels: Sequence[str] | None = None,
    *,
    n_examples: int = 3,
) -> CheckedRules:
    """Compare rules with sequences X labelled y; sequences with unknown labels are skipped.

    labels      all labels; default: those of the data and of the rules
    n_examples  counter-examples per rule, from the sequences that obey it least
    """
    data = [_Labelled(i, x, list(row)) for i, (x, row) in enumerate(zip(X, y, strict=True)) if row and None not in row]
    _check_data(data)
    labels = rules.all_labels({*(labels or ()), *(label for example in data for label in example.labels)})
    where, found, breaking = Occurrences([example.tokens for example in data]), [], set[int]()
    for rule in rules:
        terms = rule.terms(labels)
        cases = _cases(rule, terms, data, where) if terms else {}
        found.append(_judged(rule, terms, data, cases, n_examples))
        if rule.level == "instance":
            breaking.update(i for i, case in cases.items() if case.broken)
    return CheckedRules(
        rules=found,
        contradictions=contradictions(rules, [example.tokens for example in data], labels, where),
        sequences=len(data),
        skipped=len(X) - len(data),
        obeying=len(data) - len(breaking),
    )


def count_cases(
    rules: Rules, X: Sequence[Any], y: Sequence[Sequence[str | None] | None], labels: Sequence[str]
) -> list[tuple[int, int]]:
    """For each rule: to how many cases it applies in the sequences that are fully labelled, and how many obey.

    Functions of users are not asked: they have no cases.
    """
    data = [_Labelled(i, x, list(row)) for i, (x, row) in enumerate(zip(X, y, strict=True)) if row and None not in row]
    where, found = Occurrences([example.tokens for example in data]), []
    for rule in rules:
        cases = () if isinstance(rule, Function) else _cases(rule, rule.terms(labels), data, where).values()
        applies = sum(case.n for case in cases)
        found.append((applies, applies - sum(len(case.broken) for case in cases)))
    return found


def _check_data(data: list[_Labelled]) -> None:
    if not data:
        raise DataError("no sequence is fully labelled, so there is nothing to compare the rules with")
    for example in data:
        if len(example.tokens) != len(example.labels):
            raise DataError(f"{example.where}: {len(example.tokens)} tokens but {len(example.labels)} labels")
    if form_of([example.tokens for example in data]) != "tokens":
        raise DataError("rules can be compared with labelled tokens only, but this data holds features")


# ---- the cases of a rule


def _cases(rule: Rule, terms: list[Term], data: list[_Labelled], where: Occurrences) -> dict[int, _Cases]:
    """The cases of a rule, by the place in the data of the sequences that have some."""
    first = terms[0].event
    event, text = (first.event, first.text) if isinstance(first, InText) else (first, None)

    def holds(example: _Labelled) -> bool:
        in_text = text is None or text(example.tokens)
        return in_text and (rule.level == "corpus" or terms[0].matters(example.tokens, example.labels))

    if not isinstance(event, TokenEvent) or isinstance(rule, Proportion | Count):
        return {
            i: case for i, example in enumerate(data)
            if (rule.if_ is None or holds(example)) and (case := _case(rule, terms, example)).n
        }  # fmt: skip
    # A share of words counts those that obey, all others count those that do not.
    obeys, found = isinstance(terms[0].per, TokenEvent), {}
    for i, places in groupby(where.of(event), key=itemgetter(0)):
        if rule.if_ is not None and not holds(data[i]):
            continue
        tokens, labels = [t for _, t in places], data[i].labels
        wrong = [t for t in tokens if (labels[t] in event.labels) != obeys]
        found[i] = _Cases(len(tokens), wrong, len(wrong))
    return found


def _case(rule: Rule, terms: list[Term], example: _Labelled) -> _Cases:
    """The cases of a rule that is not about single tokens in one sequence."""
    tokens, labels = example.tokens, example.labels
    places = None if isinstance(rule, Proportion | Count) else _possible(terms[0].event, tokens, labels)
    if places is not None:
        wrong = sorted(set(terms[0].event.places(tokens, labels)))
        return _Cases(len(places), wrong, len(wrong))
    if rule.level == "corpus" or (isinstance(rule, Order) and len(set(rule.order) & set(labels)) < 2):
        return _Cases()
    far = [term.distance(value(rule, term, tokens, labels, example.where)) for term in terms]
    broken = [_place(term, tokens, labels) for term, distance in zip(terms, far, strict=True) if distance > 0]
    return _Cases(1, broken[:1], sum(far))


def _possible(event: Event, tokens: Sequence[Any], labels: list[str]) -> list[int] | None:
    """The places where the event could happen, for events that happen at a place or not."""
    match event.event if isinstance(event, InText) else event:
        case StepEvent() as event:
            into = set(labels) if event.pairs is None else set(event.pairs)
            return [a for a, _, z in blocks(labels) if a > 0 and z in into]
        case LengthEvent() as event:
            return [a for a, _, z in blocks(labels) if z in event.labels]
        case StayEvent() | EdgeEvent() | VoteEvent() as event:
            return event.possible(tokens, labels)
    return None


def _place(term: Term, tokens: Sequence[Any], labels: list[str]) -> int | None:
    """The first place that is too many, if there is one."""
    places = sorted(term.event.places(tokens, labels))
    allowed = int(term.high) if isfinite(term.high) and term.per is None else len(places)
    return places[allowed] if allowed < len(places) else None


# ---- the judgement


def _judged(
    rule: Rule, terms: list[Term], data: list[_Labelled], cases: dict[int, _Cases], n_examples: int
) -> RuleCheck:
    applies, broken = sum(case.n for case in cases.values()), sum(len(case.broken) for case in cases.values())
    measures: list[Measure] = []
    if rule.level == "corpus":
        X, y = [example.tokens for example in data], [example.labels for example in data]
        values = [corpus_value(rule, term, X, y) for term in terms]
        measures = [
            Measure(term.text, v, _finite(term.low), _finite(term.high)) for term, v in zip(terms, values, strict=True)
        ]
        far = [_too_far(rule, term, v, data) for term, v in zip(terms, values, strict=True)]
        flag = any(far)
        if isinstance(rule, Proportion | Count | Measured):
            applies, broken = len(far), sum(far)
    else:
        flag = broken > 0 if rule.weight == "hard" else applies >= CASES and applies - broken < SHARE * applies
    worst = sorted((i for i, case in cases.items() if case.broken), key=lambda i: -cases[i].badness)
    return RuleCheck(
        text=rule.text,
        level=rule.level,
        weight=rule.shown_weight,
        applies=applies,
        obeys=applies - broken,
        share=(applies - broken) / applies if applies else None,
        flag=flag,
        measures=measures,
        examples=[_example(data[i], cases[i].broken[0]) for i in worst[:n_examples]],
    )


def _too_far(rule: Rule, term: Term, measured: float, data: list[_Labelled]) -> bool:
    """Whether a value is so far from its range that chance does not explain it."""
    distance = max(term.low - measured, measured - term.high)
    bound = term.low if measured < term.low else term.high
    return distance > POINTS * max(1.0, abs(bound)) and distance > ERRORS * _standard_error(rule, term, measured, data)


def _standard_error(rule: Rule, term: Term, ratio: float, data: list[_Labelled]) -> float:
    """The standard error of a ratio of two sums over sequences, from how much each sequence deviates from it."""

    def size(example: _Labelled) -> int:
        if term.per is None or term.per == "sequences":
            return 1
        return len(example.tokens) if term.per == "tokens" else len(term.per.places(example.tokens, example.labels))

    n, total, count = len(data), sum(map(size, data)), replace(term, per=None)
    if n < 2 or not total:
        return inf
    departures = [value(rule, count, e.tokens, e.labels, e.where) - ratio * size(e) for e in data]
    return sqrt(n / (n - 1) * sum(d * d for d in departures)) / total


def _finite(bound: float) -> float | None:
    return bound if isfinite(bound) else None


def _example(example: _Labelled, position: int | None) -> Counterexample:
    middle = position or 0
    start, end = max(middle - AROUND, 0), middle + AROUND + 1
    words = [word_of(token) for token in example.tokens[start:end]]
    return Counterexample(example.number, position, start, words, example.labels[start:end])


class CaseCounter:
    """Counts the cases of many rules in the same sequences X, all of them labelled y."""

    def __init__(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> None:
        self._data = [_Labelled(i, x, list(row)) for i, (x, row) in enumerate(zip(X, y, strict=True))]
        self.where = Occurrences(X)

    def of(self, rule: Rule, labels: Sequence[str]) -> dict[int, tuple[int, Sequence[int | None]]]:
        """(how many cases, the places of those that do not obey) by sequence, for those that have cases.

        labels  all labels; a place is None if it is the sequence as a whole
        """
        found = _cases(rule, rule.terms(labels), self._data, self.where)
        return {i: (case.n, case.broken) for i, case in found.items()}
