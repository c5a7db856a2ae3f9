"""The best labellings under instance rules, exact where the search can be.

Rules that see one token or two neighbouring labels become part of the scores; the others (blocks of a label, order,
lengths, squared counts) are searched for, see `core/search.hpp`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from semistruct.base.threads import spread
from semistruct.core.batch import UNKNOWN, SequenceBatch
from semistruct.core.chain.inference import NOWHERE, ChainWeights, scorer_of
from semistruct.core.kernels import kernels
from semistruct.rules.building import ANY_LENGTH, Events
from semistruct.rules.tables import ALONE, ITSELF, NO_TERM, TARGET, RuleTables, only

WIDTH = 1024
"""How many states a search keeps before it gives up being exact; narrower ones come first."""

NARROWEST, GROWTH = 4, 4  # the first of the widths, and the factor between them
NARROW = 64  # of those for margins, which are as many as there are tokens
PIECE = 32  # sequences that a thread searches at a time
ANY_NUMBER = np.iinfo(np.int32).max

TERM = np.dtype([*TARGET.descr, ("cap", "i8"), ("more", "f8"), ("fewer", "f8")])
"""A term that is part of a state: `Term` in `core/prefixes.hpp`."""

LIMIT = np.dtype([("term", "i8"), ("least", "i8"), ("most", "i8"), ("least_price", "f8"), ("most_price", "f8")])
"""What rules say of the blocks of a label: `Limit` in `core/prefixes.hpp`."""


class Track(NamedTuple):
    """The terms that are part of a state of the search: `Track` in `core/prefixes.hpp`."""

    events: Events
    terms: np.ndarray
    limits: np.ndarray
    starts: np.ndarray
    size: int
    longest: int
    hits: int


class Scoring(NamedTuple):
    """How sequences are scored: scale * score of the model + bonus - costs of local rules (`core/search.hpp`)."""

    scorer: NamedTuple
    costs: NamedTuple
    step: np.ndarray
    scale: float
    bonus: np.ndarray
    known: np.ndarray


@dataclass(frozen=True)
class Found:
    """The k best labellings of n sequences.

    labels (k, n_tokens); values (n, k): score minus penalty; UNKNOWN and -inf where there are no more
    ceiling (n,): no labelling has a higher value; equal to the best value where the search was exact
    unseen (n,): no labelling that is not among these has a higher value
    """

    labels: np.ndarray
    values: np.ndarray
    ceiling: np.ndarray
    unseen: np.ndarray

    @property
    def exact(self) -> np.ndarray:
        """(n,): where the best labelling is certain to be the best."""
        return self.ceiling <= self.values[:, 0]


@dataclass(frozen=True)
class Aim:
    """What the best labelling is best at:  scale * score(y) + bonus(y) - penalty(y).

    bonus   (n_tokens, Y) for having a label
    known   (n_tokens,) labels that are fixed, UNKNOWN elsewhere
    within  of several labellings, those whose value is further below the best may be left out
    """

    scale: float = 1.0
    bonus: np.ndarray | None = None
    known: np.ndarray | None = None
    within: float = np.inf


def find_best(
    batch: SequenceBatch,
    weights: ChainWeights,
    tables: RuleTables,
    aim: Aim | None = None,
    *,
    k: int = 1,
    width: int = WIDTH,
    which: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Found:
    """The k best labellings of every sequence, or of those in `which`.

    width  states that are kept; if there are more, the result for that sequence is not marked as exact
    """
    aim = aim or Aim()
    scoring = scoring_of(batch, weights, tables, aim)
    labels = np.full((k, batch.n_tokens), UNKNOWN, np.int16)
    values = np.full((len(batch), k), -np.inf)
    ceiling, unseen = np.full(len(batch), np.inf), np.full(len(batch), np.inf)
    which = np.arange(len(batch)) if which is None else which
    args = which, scoring, tracked(tables), growing_widths(k, max(k, width)), aim.within
    spread(kernels.search_sequences, *args, labels, values, ceiling, unseen, n_jobs=n_jobs, piece=PIECE)
    return Found(labels, values, ceiling, unseen)


def find_margins(
    batch: SequenceBatch, weights: ChainWeights, tables: RuleTables, path: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """(n_tokens,): by how much the best labelling with the label of `path` at a token beats the best one without it.

    Never negative for the best labelling, as far as the searches are exact.
    """
    margin, scoring = np.empty(batch.n_tokens), scoring_of(batch, weights, tables, Aim())
    args = np.arange(len(batch)), scoring, tracked(tables), growing_widths(1, NARROW)
    spread(kernels.margins_under, *args, path, margin, n_jobs=n_jobs, piece=1)
    return margin


def scoring_of(batch: SequenceBatch, weights: ChainWeights, tables: RuleTables, aim: Aim) -> Scoring:
    """Sequences, model and local rules as the kernels read them."""
    costs, scorer = tables.event_costs, scorer_of(batch, weights)
    step = aim.scale * scorer.step[:, None] - costs.step[None, :, :-1]
    return Scoring(
        scorer=scorer, costs=costs, step=step.reshape(-1, *step.shape[2:]), scale=aim.scale,
        bonus=np.empty((0, weights.n_labels)) if aim.bonus is None else aim.bonus,
        known=NOWHERE if aim.known is None else aim.known,
    )  # fmt: skip


def growing_widths(k: int, width: int) -> np.ndarray:
    """Of searches one after the other: each finds a floor below which the next, wider one need not look."""
    widths = [min(max(k, NARROWEST), width)]
    while 2 * GROWTH * widths[-1] <= width:
        widths.append(GROWTH * widths[-1])
    return np.unique([*widths, width])


def tracked(tables: RuleTables) -> Track:
    """The terms of instance rules that are not part of the scores."""
    which = np.array([k for k in tables.instance if not tables.event_price[k]], np.int64)
    conditions = np.unique([tables.targets[name][which] for name in ("needs", "bars")])
    which = np.append(which, conditions[conditions >= 0])
    events, terms = only(tables.events, which), np.zeros(len(which), TERM)
    for name in TARGET.fields or ():
        terms[name] = tables.targets[name][which]
    for name in ("needs", "bars"):
        terms[name] = np.where(terms[name] >= 0, np.searchsorted(which, terms[name]), NO_TERM)
    terms["cap"] = ANY_NUMBER
    is_condition = which >= len(tables.terms)
    for g in np.flatnonzero((terms["per"] == ITSELF) & ~is_condition):
        term = terms[g]
        # what could be barred is paid for at the end, by the whole count
        if term["group"] != ALONE or (term["power"] == 1 and term["bars"] < 0) or term["high"] == np.inf:
            term["cap"] = int(np.ceil(max(bound for bound in (term["low"], term["high"]) if np.isfinite(bound)))) + 1
    # An absolute penalty grows by its weight, a squared one by any amount.  Terms of a group are paid for once, when
    # they leave their range: those with fewer events have that before them.
    linear = (terms["power"] == 1) & (terms["per"] == ITSELF)
    price = np.where(linear, terms["weight"] * terms["unit"], np.inf)
    terms["more"] = np.where(terms["high"] < np.inf, price, 0.0)
    terms["fewer"] = np.where((terms["low"] > -np.inf) | (terms["group"] != ALONE), price, 0.0)
    terms["cap"][is_condition], terms["more"][is_condition], terms["fewer"][is_condition] = 1, np.inf, np.inf
    Y = len(tables.labels)
    ends = events.entry[events.ptr[Y] : events.ptr[2 * Y]]
    longest = max([1, *ends["least"], *(ends["most"][ends["most"] < ANY_LENGTH] + 1)])
    return Track(
        events=events,
        terms=terms,
        limits=_limits(tables, terms, which),
        starts=_starts(tables, terms, which),
        size=len(terms) + int(events.mark.max(initial=-1)) + 1,
        longest=int(longest),
        hits=max(5 * int(np.diff(events.ptr).max(initial=0)), 1),  # at a token, its step, and the ends of blocks
    )


def _starts(tables: RuleTables, terms: np.ndarray, which: np.ndarray) -> np.ndarray:
    """The label whose blocks a term counts, and counts only for itself and always; -1 for all other terms."""
    starts = np.full(len(which), -1)
    for g, (term, k) in enumerate(zip(terms, which, strict=True)):
        if k >= len(tables.terms) or term["needs"] >= 0 or term["bars"] >= 0:
            continue
        label = tables.terms[k].event.blocks_of
        if label is not None and term["group"] == ALONE and term["per"] == ITSELF:
            starts[g] = tables.labels.index(label)
    return starts


def _limits(tables: RuleTables, terms: np.ndarray, which: np.ndarray) -> np.ndarray:
    """What tracked terms say of the blocks of each label: LIMIT records."""
    limits = np.zeros(len(tables.labels), LIMIT)
    limits["term"], limits["most"] = -1, ANY_NUMBER
    for g, z in enumerate(_starts(tables, terms, which)):
        if z < 0:
            continue
        term, limit = terms[g], limits[z]
        low, high = term["low"], term["high"]
        if limit["term"] < 0 or term["cap"] > terms["cap"][limit["term"]]:
            limit["term"] = g
        if low > limit["least"] and low == np.floor(low):
            limit["least"], limit["least_price"] = low, term["weight"]
        if high < limit["most"] and high == np.floor(high):
            limit["most"], limit["most_price"] = high, term["weight"]
    return limits
