"""Are the rules true?  How often they apply to labelled data and hold there, and which contradict each other.

The data speaks

    at instance level  for a rule, or says that it is loose or false, as training would judge (`evidence`); it
                       also speaks against a rule that is hard if one case does not obey
    at corpus level    against a rule if a value lies outside its range by more than 5 points (5% of a bound above
                       one) and by more than two standard errors
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite, sqrt
from typing import Any

from semistruct.base.errors import DataError
from semistruct.features.encoder import form_of
from semistruct.features.words import word_of
from semistruct.rules.base import Rule
from semistruct.rules.contradictions import Contradiction, contradictions
from semistruct.rules.events import Term
from semistruct.rules.evidence import CaseCounter, Cases, Credibility, Labelled, count
from semistruct.rules.ruleset import Rules

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
    """One rule on labelled data.

    weight   a number, "hard" or "open"
    share    None if it never applies
    verdict  "true", "loose", "false", "broken" (it is hard, but not always obeyed), "far" (from its range) or "unseen"
    """

    text: str
    level: str
    weight: float | str
    applies: int
    obeys: int
    share: float | None
    verdict: str
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
    counter = CaseCounter(X, y)
    data, found, breaking = counter.data, [], set[int]()
    _check_data(data)
    labels = rules.all_labels({*(labels or ()), *(label for example in data for label in example.labels)})
    for rule in rules:
        cases = counter.of(rule, labels)
        found.append(_judged(rule, rule.terms(labels), data, cases, n_examples))
        if rule.level == "instance":
            breaking.update(i for i, case in cases.items() if case.broken)
    return CheckedRules(
        rules=found,
        contradictions=contradictions(rules, [example.tokens for example in data], labels, counter.texts),
        sequences=len(data),
        skipped=len(X) - len(data),
        obeying=len(data) - len(breaking),
    )


def _check_data(data: list[Labelled]) -> None:
    if not data:
        raise DataError("no sequence is fully labelled, so there is nothing to compare the rules with")
    for example in data:
        if len(example.tokens) != len(example.labels):
            raise DataError(f"{example.where}: {len(example.tokens)} tokens but {len(example.labels)} labels")
    if form_of([example.tokens for example in data]) != "tokens":
        raise DataError("rules can be compared with labelled tokens only, but this data holds features")


# ---- the judgement


def _judged(rule: Rule, terms: list[Term], data: list[Labelled], cases: dict[int, Cases], n_examples: int) -> RuleCheck:
    applies, obeys = count(cases)
    measures: list[Measure] = []
    if rule.level == "corpus":
        X, y = [example.tokens for example in data], [example.labels for example in data]
        values = [term.corpus_value(X, y) for term in terms]
        measures = [
            Measure(term.text, v, _finite(term.low), _finite(term.high)) for term, v in zip(terms, values, strict=True)
        ]
        far = [_too_far(term, v, data) for term, v in zip(terms, values, strict=True)]
        verdict = "far" if any(far) else "true"
        if rule.of_sequences:
            applies, obeys = len(far), len(far) - sum(far)
    elif rule.weight == "hard" and obeys < applies:
        verdict = "broken"
    else:
        verdict = Credibility(applies, obeys).kind if applies else "unseen"
    worst = sorted((i for i, case in cases.items() if case.broken), key=lambda i: -cases[i].badness)
    return RuleCheck(
        text=rule.text,
        level=rule.level,
        weight=rule.shown_weight,
        applies=applies,
        obeys=obeys,
        share=obeys / applies if applies else None,
        verdict=verdict,
        measures=measures,
        examples=[_example(data[i], cases[i].broken[0]) for i in worst[:n_examples]],
    )


def _too_far(term: Term, measured: float, data: list[Labelled]) -> bool:
    """Whether a value is so far from its range that chance does not explain it."""
    distance = max(term.low - measured, measured - term.high)
    bound = term.low if measured < term.low else term.high
    return distance > POINTS * max(1.0, abs(bound)) and distance > ERRORS * _standard_error(term, measured, data)


def _standard_error(term: Term, ratio: float, data: list[Labelled]) -> float:
    """The standard error of a ratio of two sums over sequences, from how much each sequence deviates from it."""
    sizes = [term.size(example.tokens, example.labels) for example in data]
    if len(data) < 2 or not sum(sizes):
        return inf
    counts = [term.event.number(example.tokens, example.labels, example.where) for example in data]
    departures = [count - ratio * size for count, size in zip(counts, sizes, strict=True)]
    return sqrt(len(data) / (len(data) - 1) * sum(d * d for d in departures)) / sum(sizes)


def _finite(bound: float) -> float | None:
    return bound if isfinite(bound) else None


def _example(example: Labelled, position: int | None) -> Counterexample:
    middle = position or 0
    start, end = max(middle - AROUND, 0), middle + AROUND + 1
    words = [word_of(token) for token in example.tokens[start:end]]
    return Counterexample(example.number, position, start, words, example.labels[start:end])
