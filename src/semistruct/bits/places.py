"""Rules as bits, one per place a rule speaks of: 1 where a labelling obeys it; see `bits_kernels`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from semistruct.batch import SequenceBatch, starts
from semistruct.bits import bits_kernels as kernels
from semistruct.chain.inference import ChainWeights
from semistruct.errors import ParameterError
from semistruct.rules import Rules
from semistruct.rules.base import Rule, Term
from semistruct.rules.events import StartEvent, StepEvent, TokenEvent
from semistruct.rules.tables import Events, RuleTables
from semistruct.rules.vocabulary.function import Function
from semistruct.search.best import scorer_of, tracked
from semistruct.threads import spread

UNLIMITED = kernels.UNLIMITED
WIDTHS = (4, 32)  # of the beam; a wider one costs more than the few better labellings it finds are worth


@dataclass(frozen=True)
class Bits:
    """The bits of the last sequences of a batch, those that the rules were compiled for; the first ones have none.

    which  the sequences that have bits
    """

    batch: SequenceBatch
    which: np.ndarray
    tables: kernels.BitTables

    @classmethod
    def of(cls, batch: SequenceBatch, rules: RuleTables, which: np.ndarray) -> Bits:
        """The rules speak of the last len(rules) sequences, of which `which` (numbered as in the batch) get bits."""
        local, blocks = _sorted(rules)
        terms = [(term, rule) for rule in blocks for term in rule.terms(rules.labels)]
        hard = [rule.model_copy(update={"weight": "hard", "penalty": "absolute"}) for rule in blocks]
        X, shift = rules.X, batch.n_tokens - int(rules.offsets[-1])
        events = _shifted(Rules(local).compile(X, rules.labels).events, shift)
        searched = Rules(hard).compile(X, rules.labels)
        per_token = np.diff(events.token_ptr) + np.diff(events.step_ptr)
        sizes = np.zeros(len(batch), np.int64)
        sizes[which] = np.add.reduceat(per_token, batch.offsets[:-1])[which] + 1
        number = {label: y for y, label in enumerate(rules.labels)}
        return cls(
            batch,
            which,
            kernels.BitTables(
                start=starts(sizes),
                local=events,
                label=np.array([number[_label(term)] for term, _ in terms], np.int64),
                low=np.array([max(np.ceil(term.low), 0) for term, _ in terms], np.int64),
                high=np.array([min(np.floor(term.high), UNLIMITED) for term, _ in terms], np.int64),
                events=_shifted(searched.events, shift),
                targets=searched.targets,
                track=tracked(searched),
                widths=np.array(WIDTHS),
            ),
        )

    @cached_property
    def n(self) -> int:
        """The number of all bits."""
        return int(self.tables.start[-1])

    def sums(self, values: np.ndarray) -> np.ndarray:
        """(n sequences,): the sum of values over the bits of each sequence."""
        total = np.concatenate([[0.0], np.cumsum(values)])
        return np.diff(total[self.tables.start])

    def held(self, labels: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """The bits of labels (n_tokens,) of the batch."""
        out = np.empty(self.n)
        spread(kernels.bits_of_sequences, self.which, self.batch.offsets, self.tables, labels, out, n_jobs=n_jobs)
        return out

    def best(
        self, weights: ChainWeights, price: np.ndarray, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The best labelling of each sequence by  score + price . bits: (labels (n_tokens,), values (n,))."""
        labels, values = np.zeros(self.batch.n_tokens, np.int16), np.zeros(len(self.batch))
        rows = scorer_of(self.batch, weights)
        spread(
            kernels.best_priced_sequences, self.which, rows, rows.tokens, rows.step, self.tables, price, labels, values,
            n_jobs=n_jobs,
        )  # fmt: skip
        return labels, values

    def worth(
        self, weights: ChainWeights, price: np.ndarray, labels: np.ndarray, n_jobs: int | None = None
    ) -> np.ndarray:
        """(n,): score + price . bits of given labels."""
        values, rows = np.zeros(len(self.batch)), scorer_of(self.batch, weights)
        spread(
            kernels.value_of_sequences, self.which, rows, rows.tokens, rows.step, self.tables, price, labels, values,
            n_jobs=n_jobs,
        )  # fmt: skip
        return values


def _sorted(tables: RuleTables) -> tuple[list[Rule], list[Rule]]:
    """(rules about single tokens and steps, rules about blocks); all others are refused."""
    found: dict[str, list[Rule]] = {"places": [], "blocks": []}
    for rule in (*tables.rules, *tables.functions):
        kind = kind_of_bits(rule, tables.labels)
        if kind is None:
            raise ParameterError(
                f"rule {rule.text!r}: this method knows rules that forbid labels of single tokens or steps, and rules "
                "about the number of blocks, each for every sequence"
            )
        found[kind].append(rule)
    return found["places"], found["blocks"]


def kind_of_bits(rule: Rule, labels: Sequence[str]) -> str | None:
    """What a rule has bits for: "places" or "blocks"; None if it has none."""
    terms = [] if isinstance(rule, Function) or rule.level != "instance" else rule.terms(labels)
    if terms and all(isinstance(term.event, StartEvent) for term in terms):
        return "blocks"
    return "places" if terms and all(_forbids(term) for term in terms) else None


def _forbids(term: Term) -> bool:
    """The term should not count anything, and what it counts is seen at single places."""
    event = term.event
    somewhere = isinstance(event, StepEvent) or (
        isinstance(event, TokenEvent) and bool(event.place != "any" or event.word or event.before or event.after)
    )
    return somewhere and term.low == -np.inf and term.high == 0 and term.per is None


def _label(term: Term) -> str:
    assert isinstance(term.event, StartEvent)
    return term.event.label


def _shifted(events: Events, shift: int) -> Events:
    """The same events for a corpus with `shift` tokens before."""
    empty = np.zeros(shift, np.int64)
    return events._replace(
        token_ptr=np.concatenate([empty, events.token_ptr]), step_ptr=np.concatenate([empty, events.step_ptr])
    )
