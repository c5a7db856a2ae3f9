"""Prediction under rules."""

from __future__ import annotations

import warnings

import numpy as np

from semistruct.batch import SequenceBatch
from semistruct.chain.inference import ChainWeights
from semistruct.errors import RuleWarning, UncertainWarning
from semistruct.rules import Rule, Rules
from semistruct.rules.tables import RuleTables
from semistruct.search.best import WIDTH, Found, find_best, find_margins
from semistruct.search.choosing import find_best_of_all
from semistruct.switching.matching import Matcher

SHOWN = 3  # sequences whose conflicts are reported


def decode_under(
    batch: SequenceBatch,
    weights: ChainWeights,
    tables: RuleTables,
    *,
    k: int = 1,
    within: float = np.inf,
    corpus: bool = False,
    first: int = 0,
    n_jobs: int | None = None,
) -> Found:
    """The k best labellings by score minus the penalty of the instance rules, as far as they are `within` the best.

    With corpus=True the corpus rules, as rules for this batch, change the best labellings further by span switching.
    Warns of hard rules that cannot all be obeyed; there, sequences are numbered from `first` on.  Warns, too, if some
    labellings are not certain to be the best, for other reasons than functions and corpus rules.
    """
    found = best_under(batch, weights, tables, k=k, within=within, n_jobs=n_jobs)
    if not tables.functions and not found.exact.all():
        warnings.warn(UncertainWarning(int((~found.exact).sum()), len(batch)), stacklevel=3)
    if corpus and len(tables.corpus):
        matcher = Matcher(batch, tables, loss=0.0, n_jobs=n_jobs)
        matched = matcher.match(weights, np.ones(len(batch)), start=found.labels[0])
        changed = np.add.reduceat(matched.labels != found.labels[0], batch.offsets[:-1]) > 0
        found = Found(matched.labels[None], found.values[:, :1], np.where(changed, np.inf, found.ceiling))
    _warn_of_clashes(found.labels[0], batch, weights, tables, first, n_jobs)
    return found


def margins_under(
    batch: SequenceBatch, weights: ChainWeights, tables: RuleTables, path: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """(n_tokens,): what another label than that of `path` would cost at each token; users' functions have no say."""
    return find_margins(batch, weights, tables, path, n_jobs=n_jobs)


def best_under(
    batch: SequenceBatch,
    weights: ChainWeights,
    tables: RuleTables,
    *,
    k: int = 1,
    within: float = np.inf,
    known: np.ndarray | None = None,
    width: int = WIDTH,
    n_jobs: int | None = None,
) -> Found:
    """`find_best` for all instance rules, those that measure whole sequences too."""
    return find_best_of_all(batch, weights, tables, known, k=k, width=width, within=within, n_jobs=n_jobs)


def _warn_of_clashes(
    y: np.ndarray, batch: SequenceBatch, weights: ChainWeights, tables: RuleTables, first: int, n_jobs: int | None
) -> None:
    """Warn of sequences that cannot obey all hard rules, and say which rules conflict."""
    hard = [rule for rule in tables.rules if rule.weight == "hard"]
    if not any(rule.level == "instance" for rule in hard):
        return
    broken = tables.broken(y, n_jobs) & np.array([rule.weight == "hard" for rule in tables.rules])
    stuck = np.flatnonzero(broken.any(axis=1))
    for i in stuck[:SHOWN]:
        breaks = ", ".join(repr(tables.rules[r].text) for r in np.flatnonzero(broken[i]))
        one = batch.take(np.array([i]))

        def obeyed_without(rule: Rule, i: int = i, one: SequenceBatch = one) -> bool:
            rest = Rules([other for other in hard if other is not rule]).compile([tables.X[i]], tables.labels)
            return not rest.broken(find_best(one, weights, rest, n_jobs=1).labels[0], n_jobs=1).any()

        clash = [repr(rule.text) for rule in hard if obeyed_without(rule)]
        conflict = f"the rules {' and '.join(clash)} conflict" if clash else "the hard rules conflict"
        if len(clash) == 1:
            conflict = f"the rule {clash[0]} cannot be obeyed"
        problem = f"{conflict}; the predicted labels break {breaks}"
        warnings.warn(RuleWarning(problem, sequence=first + int(i)), stacklevel=4)
    if (more := len(stuck) - SHOWN) > 0:
        have = "sequence has" if more == 1 else "sequences have"
        warnings.warn(RuleWarning(f"{more} more {have} the same problem"), stacklevel=4)
