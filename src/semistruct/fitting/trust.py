"""How far rules are trusted: the weights of instance rules without a weight.

A rule is as credible as its cases in the labelled data and in dev data say (`rules.credibility`).  If there is none,
the pool can raise a doubt: the share of the cases there in which the supervised model is sure of a label that breaks
the rule.  False rules fade: they are left out.

The strength of true rules is less the more labels there are, as a model that has learned from many knows the exceptions
better than the rules do; in prediction it is what is best on dev data, if there is some.  Only true rules are used in
matching: what is learned from the pool repeats the mistakes of the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any

import numpy as np

from semistruct import metrics
from semistruct.batch import UNKNOWN
from semistruct.chain.inference import ChainWeights, token_margins
from semistruct.errors import RuleWarning, UncertainWarning, quoted
from semistruct.features.encoder import form_of
from semistruct.fitting.data import Pairs
from semistruct.fitting.task import Task
from semistruct.model import Model
from semistruct.rules import Rules
from semistruct.rules.base import OPEN_WEIGHT, weight_text
from semistruct.rules.cases import CaseCounter, count
from semistruct.rules.conditions import InText
from semistruct.rules.credibility import Credibility
from semistruct.rules.events import TokenEvent
from semistruct.rules.terms import Term
from semistruct.rules.vocabulary.function import Function

TOLD = 5  # rules that are told to be false, one by one
SURE = 0.5  # the margin from which on the model is sure; one token costs 1 in training
GRID = (1.0, 2.0, 4.0, 8.0, 16.0, OPEN_WEIGHT)  # of strengths to try on dev data
BASE = 40.0  # the strength for one labelled sequence


def strength_by_labels(n_labelled: int) -> float:
    """The strength of rules by the number of labelled sequences."""
    return max(1.0, BASE / sqrt(max(n_labelled, 1)))


@dataclass(frozen=True)
class Trust:
    """Rules, and how credible each is."""

    rules: Rules
    credibility: tuple[Credibility, ...]

    @classmethod
    def of(cls, rules: Rules | None, data: Iterable[Pairs | None], labels: Sequence[str]) -> Trust:
        """From the labelled sequences of all these data; where they hold features, their cases are not counted."""
        rules = Rules([]) if rules is None else rules
        counts = np.zeros((len(rules), 2), np.int64)
        for X, y in filter(None, data):
            if form_of(X) == "tokens":
                counter = CaseCounter(X, y)
                for r, rule in enumerate(rules):
                    if not isinstance(rule, Function):  # of a user: it has no cases
                        counts[r] += count(counter.of(rule, labels))
        return cls(rules, tuple(Credibility(int(n), int(k)) for n, k in counts))

    def doubted(self, task: Task, chain: ChainWeights, n_jobs: int | None) -> Trust:
        """With the doubts of a model about rules for single tokens without a labelled case, whose labels it knows."""
        seen = {task.labels[y] for y in np.unique(task.known) if y != UNKNOWN}
        open_ = [r for r, one in enumerate(self.credibility) if not one.applies and self._is_about_tokens(r, seen)]
        if not open_ or not len(task.opened):
            return self
        path, found = task.decoded(chain, n_jobs), list(self.credibility)
        sure = token_margins(task.opened, chain, path, n_jobs=n_jobs) > SURE
        tables = Rules([self.rules.rules[r] for r in open_]).compile(task.tables.X, task.labels)
        holds = np.repeat(tables.matters(tables.count(path, n_jobs)), np.diff(tables.offsets), axis=0)
        cases, broken = np.zeros(len(open_)), np.zeros(len(open_))
        for k, here in zip(tables.instance, holds.T, strict=True):
            r, labels = tables.rule_of[k], _forbidden(tables.terms[k]) or ()
            of_term = tables.token_tests[tables.token_class, k] & here
            wrong = np.isin(path, [y for y, label in enumerate(task.labels) if label in labels])
            cases[r] += of_term.sum()
            broken[r] += np.sum(of_term & wrong & sure)
        for r, doubt in zip(open_, broken / np.maximum(cases, 1), strict=True):
            found[r] = Credibility(doubt=float(doubt))
        return replace(self, credibility=tuple(found))

    def _is_about_tokens(self, r: int, labels: set[str]) -> bool:
        """Whether all that a rule does is to forbid labels of certain tokens; it names no label but these."""
        rule = self.rules.rules[r]
        if not rule.can_be_weighed or not rule.all_mentioned() <= labels:
            return False
        return all(_forbidden(term) is not None for term in rule.terms(sorted(labels)))

    def believed(self) -> Trust:
        """Without the open rules that are not true."""
        pairs = zip(self.rules, self.credibility, strict=True)
        kept = [(rule, one) for rule, one in pairs if one.kind == "true" or not rule.can_be_weighed]
        return Trust(Rules([rule for rule, _ in kept], self.rules.labels), tuple(one for _, one in kept))

    def weighted(self, strength: float) -> Rules:
        """The rules with their weights, without those that fade."""
        return self.rules.weighted([one.weight(strength) for one in self.credibility])

    def rows(self, strength: float) -> list[dict[str, Any]]:
        """For reports: each rule, its weight (a number, or "hard"), and why it weighs that."""
        out = []
        for rule, one in zip(self.rules, self.credibility, strict=True):
            weight, why = (one.weight(strength), one.why) if rule.can_be_weighed else (rule.shown_weight, "as given")
            counts = {"applies": one.applies, "obeys": one.obeys}
            out.append({"rule": rule.text, "weight": weight, "kind": one.kind, **counts, "why": why})
        return out

    def warn(self) -> None:
        """One line for each rule that is probably false or doubted, of which only some are told."""
        found = list(self.contradicted())
        for problem in found[:TOLD]:
            warnings.warn(problem, RuleWarning, stacklevel=3)
        if (more := len(found) - TOLD) > 0:
            warnings.warn(f"{more} more rules are probably false or doubted", RuleWarning, stacklevel=3)

    def contradicted(self) -> Iterator[str]:
        """Rules, with a weight or without, that are probably false, and those that only the model doubts."""
        for rule, one in zip(self.rules, self.credibility, strict=True):
            if rule.level != "instance" or one.kind != "false":
                continue
            if not one.applies:
                yield f"the rule {quoted(rule.text)} is left out: {one.why}; give it a weight to keep it"
            else:
                done = "it is left out" if rule.weight_is_open else f"its weight stays {weight_text(rule.weight)}"
                yield f"the rule {quoted(rule.text)} is probably false, so {done}: {one.why}"


def _forbidden(term: Term) -> frozenset[str] | None:
    """The labels that a term forbids certain tokens to have; None if it does something else."""
    event = term.event.event if isinstance(term.event, InText) else term.event
    if not isinstance(event, TokenEvent) or term.per is not None or (term.low, term.high) != (-inf, 0):
        return None
    return event.labels


def best_strength(
    trust: Trust, model: Model, n_labelled: int, dev: Pairs | None, metric: str, n_jobs: int | None
) -> float:
    """The strength for prediction: the best of a grid on dev data, the largest among equals; else by the labels."""
    if dev is None:
        return strength_by_labels(n_labelled)

    def rank(strength: float) -> tuple[float, float, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncertainWarning)  # good enough to choose by
            found = model.predict(dev[0], n_jobs, trust.weighted(strength))
        return *metrics.rank(metrics.standing(dev[1], found, metric), metric), strength

    return max(GRID, key=rank)
