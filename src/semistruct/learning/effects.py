"""What rules do: each of them to the labels of a model, and all of them, with the pool, in a fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semistruct.core.chain.inference import ChainWeights
from semistruct.learning.task import Task
from semistruct.learning.trust import strength_by_labels
from semistruct.model.model import Model
from semistruct.rules import Rule, Rules
from semistruct.rules.evidence import Credibility
from semistruct.rules.files import dump_rule

EXAMPLES = 2  # changes that are shown of each rule
LEARNED = "learned from other sequences"
Rows = list[list[str]]


@dataclass(frozen=True)
class Right:
    """How many tokens and whole sequences have the right labels."""

    tokens: int
    sequences: int

    def __sub__(self, other: Right) -> Right:
        return Right(self.tokens - other.tokens, self.sequences - other.sequences)


@dataclass(frozen=True)
class Change:
    """A run of tokens of a sequence that gets other labels because of a rule, which is then the only one."""

    sequence: int
    start: int
    tokens: list[Any]
    before: list[str]
    after: list[str]


@dataclass(frozen=True)
class Effect:
    """What one rule does.

    alone     the gain if it is the only rule, None without gold labels; beside: the gain over all rules but this one
    changed   how many sequences get other labels if it is the only rule
    """

    rule: str
    weight: float | str
    alone: Right | None
    beside: Right | None
    changed: int
    examples: list[Change]

    @property
    def hurts(self) -> bool:
        """The labels are better without it, beside the other rules."""
        return self.beside is not None and (self.beside.tokens, self.beside.sequences) < (0, 0)


def effects_of(
    model: Model, rules: Rules, X: Sequence[Any], y: Sequence[Any] | None, n_labelled: int, n_jobs: int | None = None
) -> list[Effect]:
    """The effect of every instance rule on the labels of X, those that help most first.

    y           gold labels, None where they are unknown
    n_labelled  the number of sequences that the model was trained on: rules without a weight that it does not know
                weigh accordingly
    """
    rules = weighed_like(rules, model, n_labelled)
    instance = [rule for rule in rules if rule.level == "instance"]

    def labels(some: list[Rule]) -> Rows:
        return model.predict(X, n_jobs, Rules(some, rules.labels) if some else None)

    plain, together = labels([]), labels(instance)
    found = []
    for rule in instance:
        only, others = labels([rule]), labels([other for other in instance if other is not rule])
        changes = list(_changes(X, plain, only))
        pairs = (only, plain), (together, others)
        alone, beside = (None if y is None else _right(y, a) - _right(y, b) for a, b in pairs)
        found.append(Effect(rule.text, rule.shown_weight, alone, beside, len(changes), changes[:EXAMPLES]))
    return sorted(found, key=_order)


def weighed_like(rules: Rules, model: Model, n_labelled: int) -> Rules:
    """Rules without a weight with that which they have in the model, or with that of a rule without labelled cases."""
    known = {_content(rule): rule.cost for rule in model.rules or ()}
    unseen = Credibility().weight(strength_by_labels(n_labelled))
    return rules.weighted([known.get(_content(rule), unseen) for rule in rules])


def _content(rule: Rule) -> str:
    return repr({key: value for key, value in dump_rule(rule).items() if key != "weight"})


def _right(y: Sequence[Any], found: Rows) -> Right:
    """Tokens and sequences whose known labels were found."""
    tokens = whole = 0
    for gold, row in zip(y, found, strict=True):
        right = [a == b for a, b in zip(gold or (), row, strict=False) if a is not None]
        tokens += sum(right)
        whole += bool(right) and all(right)
    return Right(tokens, whole)


def _changes(X: Sequence[Any], before: Rows, after: Rows) -> Iterator[Change]:
    """The first run of changed labels of each sequence that has one."""
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        places = [t for t, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
        if places:
            start = end = places[0]
            while end + 1 < len(old) and old[end + 1] != new[end + 1]:
                end += 1
            run = slice(start, end + 1)
            yield Change(i, start, list(X[i][run]), old[run], new[run])


def _order(effect: Effect) -> tuple[int, ...]:
    gains = [gain for gain in (effect.beside, effect.alone) if gain is not None]
    return *(-n for gain in gains for n in (gain.tokens, gain.sequences)), -effect.changed


def explain(task: Task, start: ChainWeights, labels: np.ndarray, n_jobs: int | None) -> dict[str, Any]:
    """How the labels of the open sequences differ from those of the supervised model.

    rules   for each instance rule, how many sequences broke it before and how many break it now
    moved   for each pair of labels, how many tokens went from one to the other
    causes  for the sequences that changed, which rules they broke before and obey now; a sequence that
            obeys no more rules than before changed because of what was learned from others
    """
    batch, tables, names = task.opened, task.tables, task.labels
    if not len(batch):
        return {"rules": [], "moved": [], "causes": []}
    before = task.decoded(start, n_jobs)
    broke, breaks = tables.broken(before, n_jobs), tables.broken(labels, n_jobs)
    rules = [
        {"rule": rule.text, "before": int(broke[:, r].sum()), "after": int(breaks[:, r].sum())}
        for r, rule in enumerate(tables.rules)
        if rule.level == "instance"
    ]
    different = before != labels
    moved = Counter(zip(before[different].tolist(), labels[different].tolist(), strict=True))
    changed = np.add.reduceat(different, batch.offsets[:-1]) > 0
    mended = broke & ~breaks & changed[:, None]
    causes = {tables.rules[r].text: int(mended[:, r].sum()) for r in range(len(tables.rules)) if mended[:, r].any()}
    learned = int((changed & ~mended.any(axis=1)).sum())
    causes |= {LEARNED: learned} if learned else {}
    return {
        "rules": rules,
        "moved": [{"from": names[a], "to": names[b], "tokens": n} for (a, b), n in moved.most_common()],
        "causes": [{"because": k, "sequences": n} for k, n in sorted(causes.items(), key=lambda item: -item[1])],
    }
