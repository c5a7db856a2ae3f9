"""How far rules are trusted: the weights of instance rules without a weight; and rules where none are given.

A rule is as credible as its cases in the labelled data and in dev data say (`rules.evidence`).  If there is none,
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
from math import sqrt
from typing import Any

import numpy as np

from semistruct.base.errors import RuleWarning, quoted
from semistruct.core.batch import UNKNOWN
from semistruct.core.chain.inference import ChainWeights, token_margins
from semistruct.learning import settings
from semistruct.learning.data import Data, Pairs, holds_words
from semistruct.learning.task import Task
from semistruct.rules import Order, Rules
from semistruct.rules.evidence import CaseCounter, Credibility, Examples, count
from semistruct.rules.suggesting import CERTAIN, Suggestion, candidates_of, chosen
from semistruct.rules.values import weight_text
from semistruct.rules.vocabulary.measured import Function


def strength_by_labels(n_labelled: int) -> float:
    """The strength of rules by the number of labelled sequences."""
    return max(1.0, settings.FIRST_STRENGTH / sqrt(max(n_labelled, 1)))


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
            if holds_words(X):
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
        sure = token_margins(task.opened, chain, path, n_jobs=n_jobs) > settings.SURE_MARGIN
        tables = task.tables.reweighted([self.rules.rules[r] for r in open_])
        holds = np.repeat(tables.matters(tables.count(path, n_jobs)), np.diff(tables.offsets), axis=0)
        cases, broken = np.zeros(len(open_)), np.zeros(len(open_))
        for k, here in zip(tables.instance, holds.T, strict=True):
            r, labels = tables.rule_of[k], tables.terms[k].forbidden_labels or ()
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
        return all(term.forbidden_labels is not None for term in rule.terms(sorted(labels)))

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
        for problem in found[: settings.WARNED]:
            warnings.warn(problem, RuleWarning, stacklevel=6)
        if (more := len(found) - settings.WARNED) > 0:
            warnings.warn(f"{more} more rules are probably false or doubted", RuleWarning, stacklevel=6)

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


# ---- rules where none are given


def suggested_rules(data: Data, task: Task, chain: ChainWeights, *, guarded: bool, n_jobs: int | None) -> Rules | None:
    """The rules that the fully labelled sequences and the labels of a model suggest; None if there are none.

    What a few labelled sequences show of how such texts are built (each label once, this one first, labels change only
    after punctuation) is rarely an accident, and a model that has seen only these does not obey it in the pool.

    guarded  dev data will tell whether they help; else there must be enough labelled sequences
    """
    n, least = data.n_whole, 1 if guarded else settings.SUGGEST_FROM
    if n < least or not len(task.free) or not data.has_words:
        return None
    some = task.part(task.free[:: -(-len(task.free) // settings.ENOUGH)])
    path = some.decoded(chain, n_jobs)
    labels = [row.tolist() for row in some.opened.split(np.array(task.labels, object)[path])]
    margins = some.opened.split(token_margins(some.opened, chain, path, n_jobs=n_jobs))
    examples = Examples(data.X[:n], data.y[:n], some.tables.X, labels, margins, task.labels)
    suggestions = [
        one
        for one in chosen(examples, Rules([]), candidates_of(examples, by_words=False))
        if one.certain and _is_safe(one)
    ]
    return Rules([one.rule for one in suggestions]) or None


def _is_safe(suggestion: Suggestion) -> bool:
    """Whether a rule may be used though nothing will tell whether it helps."""
    is_certain = isinstance(suggestion.rule, Order) and suggestion.evidence.bound >= CERTAIN
    return suggestion.rule.suggesting.safe or is_certain
