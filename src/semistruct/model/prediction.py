"""Prediction under rules."""

from __future__ import annotations

import warnings

import numpy as np

from semistruct.base.errors import RuleWarning, UncertainWarning
from semistruct.core.batch import SequenceBatch
from semistruct.core.chain.inference import ChainWeights
from semistruct.rules import Rules
from semistruct.rules.search import WIDTH, Found
from semistruct.rules.switching import Matcher
from semistruct.rules.tables import RuleTables
from semistruct.rules.whole_sequences import find_best_of_all

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
    labellings are not certain to be the best, for other reasons than corpus rules.
    """
    found = best_under(batch, weights, tables, k=k, within=within, n_jobs=n_jobs)
    certain = found.exact
    if not certain.all():
        warnings.warn(UncertainWarning(int((~certain).sum()), len(batch)), stacklevel=3)
    if corpus and len(tables.corpus):
        matcher = Matcher(batch, tables, loss=0.0, n_jobs=n_jobs)
        matched = matcher.match(weights, np.ones(len(batch)), start=found.labels[0])
        changed = np.add.reduceat(matched.labels != found.labels[0], batch.offsets[:-1]) > 0
        ceiling = np.where(changed, np.inf, found.ceiling)
        found = Found(matched.labels[None], found.values[:, :1], ceiling, ceiling)
    _warn_of_clashes(found.labels[0], certain, batch, weights, tables, first)
    return found


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
    y: np.ndarray, certain: np.ndarray, batch: SequenceBatch, weights: ChainWeights, tables: RuleTables, first: int
) -> None:
    """Warn of sequences whose labels break hard rules, and say which rules conflict where that is certain."""
    hard = [r for r, rule in enumerate(tables.rules) if rule.weight == "hard" and rule.level == "instance"]
    if not hard:
        return
    broken = tables.some(hard).broken(y)
    stuck = np.flatnonzero(broken.any(axis=1))
    rules = Rules([tables.rules[r] for r in hard])
    for i in stuck[:SHOWN]:
        breaks = set(np.flatnonzero(broken[i]).tolist())
        conflict = "the search for labels that obey all hard rules was cut short"
        if certain[i]:
            one = rules.compile([tables.X[i]], tables.labels)
            clash = _clash(batch.take(np.array([i])), weights, one, breaks)
            conflict = f"the rules {' and '.join(clash)} conflict" if clash else "the hard rules conflict"
            if len(clash) == 1:
                conflict = f"the rule {clash[0]} cannot be obeyed"
        texts = ", ".join(repr(rules.rules[r].text) for r in sorted(breaks))
        problem = f"{conflict}; the predicted labels break {texts}"
        warnings.warn(RuleWarning(problem, sequence=first + int(i)), stacklevel=4)
    if (more := len(stuck) - SHOWN) > 0:
        have = "sequence has" if more == 1 else "sequences have"
        warnings.warn(RuleWarning(f"{more} more {have} the same problem"), stacklevel=4)


def _clash(one: SequenceBatch, weights: ChainWeights, tables: RuleTables, broken: set[int]) -> list[str]:
    """The rules each of which stands in the way of all others in one sequence, whose best labels break some of them."""

    def breaks(obeyed: set[int]) -> set[int]:
        """The rules that the best labels under some of them break."""
        found = best_under(one, weights, tables.some(obeyed), n_jobs=1)
        return set(np.flatnonzero(tables.broken(found.labels[0], n_jobs=1)[0]).tolist())

    # Rules that cannot all be obeyed: those that stand in the way are among them, and few others.
    every, core = set(range(len(tables.rules))), set(broken)
    while not core & (further := breaks(core)):
        if not further:
            return []
        core |= further
    alone = [r for r in sorted(core) if broken == {r} or not breaks(every - {r}) - {r}]
    return [repr(tables.rules[r].text) for r in alone]
