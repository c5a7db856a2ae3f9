"""Suggestions: the candidates that hold, without what is said already, sorted by what they would gain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from semistruct.corpus import listed
from semistruct.errors import DataError, ParameterError, quoted
from semistruct.features.encoder import form_of
from semistruct.fitting.data import check_data
from semistruct.fitting.labeller import SequenceLabeller
from semistruct.methods.ssvm import SSVM
from semistruct.rules import (
    AtMostOnce,
    ChangeOnlyOn,
    MaxLength,
    MinLength,
    NeverFollows,
    Order,
    Pattern,
    Present,
    Rule,
    Rules,
    StartsWith,
    Words,
)
from semistruct.rules.files import dump_rule
from semistruct.suggesting.evidence import Evidence, Seen
from semistruct.suggesting.sayings import Sayings
from semistruct.suggesting.structure import MOSTLY, OFTEN, Candidate, made, structure
from semistruct.suggesting.suggestions import Suggestion, Suggestions
from semistruct.suggesting.words import vocabulary

HABITS = (AtMostOnce, ChangeOnlyOn, Order, StartsWith)
"""Rules about how such texts are built, and how people label: less evidence is enough for them."""

HABITUAL, CERTAIN, DOUBTFUL = 0.75, 0.9, 0.5
"""The least bound of a habit and of another rule that is suggested, and of a rule that is mentioned."""

JOINED: dict[type[Rule], str] = {
    Words: "words", Pattern: "are_not", Present: "present", MinLength: "labels", MaxLength: "labels"
}  # fmt: skip
"""The entries of which rules that are otherwise the same become one."""

MENTIONED = 20
"""How many doubtful rules are mentioned at most."""

Show = Callable[[str], None]


def suggest(
    X: Sequence[Any],
    y: Sequence[Sequence[str | None] | None],
    *,
    pool: Sequence[Any] | None = None,
    model: SequenceLabeller | None = None,
    rules: Rules | None = None,
    show: Show | None = None,
) -> Suggestions:
    """Suggest rules from sequences X with labels y, and from what a model sees in a pool.

    Sequences whose labels are not all known count as pool.

    pool   sequences without labels
    model  a fitted estimator; default: an `SSVM` trained on the labelled sequences
    rules  what is known already, and not suggested again
    show   called with a few words when a new step begins

    Examples
    --------
    >>> X = [["Ann", "Lee", "1984"], ["Bo", "Fox", "1987"]] * 5
    >>> found = suggest(X, [["name", "name", "year"]] * 10)
    >>> print(found.rules.rules[0].text)
    starts with name
    """
    show = show or (lambda text: None)
    X, y = check_data(X, y)
    whole = [row is not None and len(row) > 0 and None not in row for row in y]
    free = [x for x, known in zip(X, whole, strict=True) if not known] + ([] if pool is None else listed(pool, "pool"))
    X, y = ([one for one, known in zip(rows, whole, strict=True) if known] for rows in (X, y))
    _check(X, model, rules)
    if model is None:
        show("learning a model")
        own = SSVM()
        own.calibrates = False
        estimator: SequenceLabeller = own.fit(X, y)
    else:
        estimator = model
    labels = (rules or Rules([])).all_labels({*chain.from_iterable(y), *estimator.classes_})
    show("labelling the pool")
    labelled_by_model = estimator.predict(free)
    margins = [one.token for one in estimator.model_.sureness(free, labelled_by_model, estimator.n_jobs)]
    seen = Seen(X, y, free, labelled_by_model, margins, labels)
    show("looking for rules")
    found = _chosen(seen, rules or Rules([])) if len(labels) > 1 else []
    return Suggestions(found, labels, len(X), len(free), model is None)


def _check(X: list[Any], model: Any, rules: Any) -> None:
    if not X:
        raise DataError("no sequence is fully labelled, so there is nothing to learn rules from")
    if form_of(X) != "tokens":
        raise DataError("rules can be suggested for labelled tokens only, but this data holds features")
    if model is not None and not isinstance(model, SequenceLabeller):
        raise ParameterError(f"model={quoted(model)}: expected a fitted estimator of semistruct")
    if rules is not None and not isinstance(rules, Rules):
        raise ParameterError(f"rules={quoted(rules)}: expected Rules")


def _chosen(seen: Seen, given: Rules) -> list[Suggestion]:
    """The certain suggestions and then the doubtful ones, each part sorted."""
    said = Sayings([*seen.X, *seen.pool], seen.labels, given)
    judged = [(candidate, _evidence(seen, candidate)) for candidate in _candidates(seen)]
    parts = []
    for certain in (True, False):
        kept: list[tuple[Candidate, Evidence]] = []
        for candidate, evidence in judged:
            fits = evidence.bound >= DOUBTFUL and _is_certain(candidate, evidence) == certain
            if fits and _matters(candidate.rule, evidence, seen) and not said.imply(candidate.rule):
                said.add(candidate.rule)
                kept.append((candidate, evidence))
        merged = [Suggestion(one.rule, _evidence(seen, one), certain) for one in _merged(kept)]
        parts.append(sorted(merged, key=lambda one: (-one.evidence.gain, -one.evidence.bound)))
    return parts[0] + parts[1][:MENTIONED]


def _evidence(seen: Seen, candidate: Candidate) -> Evidence:
    return seen.evidence(candidate.rule, candidate.surprises, candidate.weakest)


def _candidates(seen: Seen) -> Iterable[Candidate]:
    return chain(structure(seen), vocabulary(seen))


def _is_certain(candidate: Candidate, evidence: Evidence) -> bool:
    rule = candidate.rule
    habit = isinstance(rule, HABITS) or (isinstance(rule, MinLength) and rule.labels is None)
    enough = evidence.bound >= (HABITUAL if habit else CERTAIN) - 1e-9
    return enough and evidence.share >= MOSTLY and min(evidence.sequences, candidate.weakest or OFTEN) >= OFTEN


def _matters(rule: Rule, evidence: Evidence, seen: Seen) -> bool:
    """Whether it is worth a line: of the kinds of which there are many, only what the model does not yet obey."""
    many = isinstance(rule, Words | Pattern | MinLength | MaxLength | NeverFollows)
    return not seen.pool or evidence.broken > 0 or not many


def _merged(judged: list[tuple[Candidate, Evidence]]) -> list[Candidate]:
    """Rules that say the same of several words or labels become one, which is as certain as the weakest of them."""
    groups: dict[str, list[tuple[Candidate, Evidence]]] = {}
    for one, evidence in judged:
        joined = JOINED.get(type(one.rule))
        rest = {key: value for key, value in dump_rule(one.rule).items() if key != joined}
        groups.setdefault(f"{one.rule.key} {rest}" if joined else str(id(one)), []).append((one, evidence))
    return [_joined(group) if len(group) > 1 else group[0][0] for group in groups.values()]


def _joined(group: list[tuple[Candidate, Evidence]]) -> Candidate:
    surprises, weakest = sum(one.surprises for one, _ in group), min(evidence.sequences for _, evidence in group)
    return Candidate(_union([one.rule for one, _ in group]), surprises, weakest)


def _union(rules: list[Rule]) -> Rule:
    joined = JOINED[type(rules[0])]
    values = [value for rule in rules for value in getattr(rule, joined) or ()]
    if not values:
        return rules[0]
    return made(**{**dump_rule(rules[0]), joined: values})
