"""Rules as bits, one per place a rule speaks of: 1 where a labelling obeys it; see `core/bits.hpp`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from semistruct.base.errors import ParameterError
from semistruct.base.threads import spread
from semistruct.core.batch import SequenceBatch, starts
from semistruct.core.chain.inference import ChainWeights, decode, scorer_of
from semistruct.core.kernels import kernels
from semistruct.rules.base import Rule
from semistruct.rules.search import PIECE, tracked
from semistruct.rules.tables import RuleTables, shifted
from semistruct.rules.vocabulary.measured import Measured

UNLIMITED = 2**31 - 1
WIDTHS = (4, 32)  # of the beam; a wider one costs more than the few better labellings it finds are worth


class BitTables(NamedTuple):
    """Where the bits are: `BitTables` in `core/bits.hpp`."""

    start: np.ndarray
    events: NamedTuple
    token_bits: np.ndarray
    step_bits: np.ndarray
    bit: np.ndarray
    label: np.ndarray
    low: np.ndarray
    high: np.ndarray
    track: NamedTuple
    widths: np.ndarray


@dataclass(frozen=True)
class Bits:
    """The bits of the last sequences of a batch, those that the rules were compiled for; the first ones have none.

    which  the sequences that have bits
    """

    batch: SequenceBatch
    which: np.ndarray
    tables: BitTables

    @classmethod
    def of(cls, batch: SequenceBatch, rules: RuleTables, which: np.ndarray) -> Bits:
        """The rules speak of the last len(rules) sequences, of which `which` (numbered as in the batch) get bits."""
        places, blocks = _sorted(rules)
        hard = [rule.model_copy(update={"weight": "hard", "penalty": "absolute"}) for rule in blocks.rules]
        shift = batch.n_tokens - int(rules.offsets[-1])
        if places.costs(np.ones(places.n_terms)).step[:, -1].any():
            raise ParameterError("this method has no bits for rules about steps into the first token")
        events, searched = shifted(places.events, shift), tracked(blocks.reweighted(hard))
        token_bits, step_bits = np.zeros((2, batch.n_tokens), np.int64)
        token_bits[shift:] = places.token_tests.sum(axis=1)[places.token_class]
        step_bits[shift:] = places.step_tests.sum(axis=1)[places.step_class]
        step_bits[batch.offsets[:-1]] = 0
        sizes = np.zeros(len(batch), np.int64)
        sizes[which] = np.add.reduceat(token_bits + step_bits, batch.offsets[:-1])[which] + 1
        number = {label: y for y, label in enumerate(rules.labels)}
        return cls(
            batch,
            which,
            BitTables(
                start=starts(sizes),
                events=events,
                token_bits=token_bits,
                step_bits=step_bits,
                bit=_numbered(places),
                label=np.array([number[term.event.blocks_of or ""] for term in blocks.terms], np.int64),
                low=np.array([max(np.ceil(term.low), 0) for term in blocks.terms], np.int64),
                high=np.array([min(np.floor(term.high), UNLIMITED) for term in blocks.terms], np.int64),
                track=searched._replace(events=shifted(searched.events, shift)),
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
        scorer = scorer_of(self.batch, weights)
        spread(
            kernels.best_priced_sequences,
            self.which,
            scorer,
            self.tables,
            price,
            labels,
            values,
            n_jobs=n_jobs,
            piece=PIECE,
        )
        return labels, values

    def worth(
        self, weights: ChainWeights, price: np.ndarray, labels: np.ndarray, n_jobs: int | None = None
    ) -> np.ndarray:
        """(n,): score + price . bits of given labels."""
        _, values = decode(self.batch, weights, known=labels, n_jobs=n_jobs)
        ruled = np.zeros(len(self.batch), bool)
        ruled[self.which] = True
        return np.where(ruled, values + self.sums(price * self.held(labels, n_jobs)), 0.0)


def _sorted(tables: RuleTables) -> tuple[RuleTables, RuleTables]:
    """(rules about single tokens and steps, rules about blocks); all others are refused."""
    found: dict[str, list[int]] = {"places": [], "blocks": []}
    for r, rule in enumerate(tables.rules):
        kind = kind_of_bits(rule, tables.labels)
        if kind is None:
            raise ParameterError(
                f"rule {rule.text!r}: this method can use only instance rules about the labels of single tokens, about "
                "transitions between labels, or about the number of blocks; remove this rule"
            )
        found[kind].append(r)
    return tables.some(found["places"]), tables.some(found["blocks"])


def kind_of_bits(rule: Rule, labels: Sequence[str]) -> str | None:
    """What a rule has bits for: "places" or "blocks"; None if it has none."""
    terms = [] if isinstance(rule, Measured) or rule.level != "instance" else rule.terms(labels)
    if not terms or any(term.has_condition for term in terms):
        return None
    if all(term.event.blocks_of is not None for term in terms):
        return "blocks"
    return "places" if all(term.forbids and term.event.has_indicators for term in terms) else None


def _numbered(places: RuleTables) -> np.ndarray:
    """Which of the bits of a token, or of the step into it, each entry of the events is: they are numbered in order."""
    ptr, Y, classes = places.events.ptr, len(places.labels), len(places.token_tests)
    cell = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)) - 2 * Y
    row = np.where(cell < classes * Y, cell // Y, classes + (cell - classes * Y) // ((Y + 1) * Y))
    rank = np.cumsum(np.concatenate([places.token_tests, places.step_tests]), axis=1) - 1
    return rank[row, places.events.entry["term"]]
