"""The best labellings under instance rules, exact where the search can be.

Rules that see one token or two neighbouring labels become part of the scores; the others (blocks of a label, order,
lengths, squared counts) are searched for, see `search_kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semistruct.batch import UNKNOWN, SequenceBatch
from semistruct.chain.inference import ChainWeights
from semistruct.rules.tables import RuleTables
from semistruct.search.search_kernels import Scorer, Track, search_sequences
from semistruct.threads import spread

WIDTH = 1024
"""How many states a search keeps before it gives up being exact; narrower ones come first."""

NARROWEST, GROWTH = 4, 4  # of the widths

NOWHERE = np.empty(0, np.int16)


@dataclass(frozen=True)
class Found:
    """The k best labellings of n sequences.

    labels (k, n_tokens); values (n, k): score minus penalty; UNKNOWN and -inf where there are no more
    ceiling (n,): no labelling has a higher value; equal to the best value where the search was exact
    """

    labels: np.ndarray
    values: np.ndarray
    ceiling: np.ndarray

    @property
    def exact(self) -> np.ndarray:
        """(n,): where the best labelling is certain to be the best."""
        return self.ceiling <= self.values[:, 0]


def scorer_of(batch: SequenceBatch, weights: ChainWeights) -> Scorer:
    return Scorer(
        batch.offsets, batch.indptr, batch.indices, batch.values, batch.kind, weights.tokens, weights.step
    )  # fmt: skip


def find_best(
    batch: SequenceBatch,
    weights: ChainWeights,
    tables: RuleTables,
    *,
    k: int = 1,
    known: np.ndarray | None = None,
    scale: float = 1.0,
    bonus: np.ndarray | None = None,
    price: np.ndarray | None = None,
    width: int = WIDTH,
    n_jobs: int | None = None,
) -> Found:
    """The k best labellings y of every sequence by  scale * score(y) + bonus(y) - penalty(y).

    known  (n_tokens,) labels that are fixed, UNKNOWN elsewhere
    bonus  (n_tokens, Y) for having a label
    price  (K,) cost of every event of a term, besides the penalty: the multipliers of corpus rules
    width  states that are kept; if there are more, the result for that sequence is not marked as exact
    """
    costs = tables.potentials(tables.plain if price is None else tables.plain + price)
    scorer, track = scorer_of(batch, weights), tracked(tables)
    step = (scale * scorer.step[:, None] - costs.step[None]).reshape(-1, *costs.step.shape[1:])
    labels = np.full((k, batch.n_tokens), UNKNOWN, np.int16)
    values, ceiling = np.full((len(batch), k), -np.inf), np.full(len(batch), np.inf)
    extra = np.empty((0, weights.n_labels)) if bonus is None else bonus
    fixed = NOWHERE if known is None else known
    widths = growing_widths(k, max(k, width))
    spread(
        search_sequences, np.arange(len(batch)), scorer, step, costs, scale, extra, fixed,
        tables.events, tables.targets, track, widths, labels, values, ceiling, n_jobs=n_jobs,
    )  # fmt: skip
    return Found(labels, values, ceiling)


def growing_widths(k: int, width: int) -> np.ndarray:
    """Of searches one after the other: each finds a floor below which the next, wider one need not look."""
    widths = [min(max(k, NARROWEST), width)]
    while 2 * GROWTH * widths[-1] <= width:
        widths.append(GROWTH * widths[-1])
    return np.unique([*widths, width])


def tracked(tables: RuleTables) -> Track:
    """The terms of instance rules that are not part of the scores."""
    e, t = tables.events, tables.targets
    term = np.array([k for k in tables.instance if not tables.plain[k]], np.int64)
    slot = np.full(tables.n_terms, -1, np.int64)
    slot[term] = np.arange(len(term))
    cap = np.full(len(term), np.iinfo(np.int32).max, np.int64)
    for g, k in enumerate(term):
        bounds = [bound for bound in (t.low[k], t.high[k]) if np.isfinite(bound)]
        if t.per[k] == -1 and (t.group[k] >= 0 or t.power[k] == 1 or t.high[k] == np.inf):
            cap[g] = int(np.ceil(max(bounds))) + 1
    more, fewer = _future_prices(tables, term)
    marks = np.unique(e.order_then)
    seen = np.full(len(tables.labels), -1, np.int64)
    seen[marks] = len(term) + np.arange(len(marks))
    finite = e.most[e.most < np.iinfo(np.int32).max]
    longest = int(max([1, *e.least.tolist(), *(finite + 1).tolist()]))
    blocks, least, most, least_price, most_price = _block_limits(tables, slot, cap)
    return Track(
        term=term,
        slot=slot,
        cap=cap,
        more_price=np.append(more, [np.inf] * len(marks)),
        fewer_price=np.append(fewer, [0.0] * len(marks)),
        seen=seen,
        blocks=blocks,
        least=least,
        most=most,
        least_price=least_price,
        most_price=most_price,
        longest=longest,
        size=len(term) + len(marks),
    )


def _future_prices(tables: RuleTables, term: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(more_price, fewer_price) of Track: an absolute penalty grows by its weight, a squared one by any amount.

    Joint terms are paid for once, when they leave their range: those with fewer events have that before them.
    """
    t = tables.targets
    linear = (t.power[term] == 1) & (t.per[term] == -1)
    price = np.where(linear, t.weight[term] * t.unit[term], np.inf)
    fewer = (t.low[term] > -np.inf) | (t.group[term] >= 0)
    return np.where(t.high[term] < np.inf, price, 0.0), np.where(fewer, price, 0.0)


def _block_limits(tables: RuleTables, slot: np.ndarray, cap: np.ndarray) -> tuple[np.ndarray, ...]:
    """(blocks, least, most, least_price, most_price) of Track: what tracked terms say of the blocks of each label."""
    e, t, Y = tables.events, tables.targets, len(tables.labels)
    blocks, least, most = np.full(Y, -1, np.int64), np.zeros(Y, np.int64), np.full(Y, np.iinfo(np.int32).max, np.int64)
    least_price, most_price = np.zeros(Y), np.zeros(Y)
    for z in range(Y):
        for k in e.start_term[e.start_ptr[z] : e.start_ptr[z + 1]]:
            if slot[k] < 0 or t.group[k] >= 0:
                continue
            if blocks[z] < 0 or cap[slot[k]] > cap[blocks[z]]:
                blocks[z] = slot[k]
            if t.low[k] > least[z] and t.low[k] == np.floor(t.low[k]):
                least[z], least_price[z] = t.low[k], t.weight[k]
            if t.high[k] < most[z] and t.high[k] == np.floor(t.high[k]):
                most[z], most_price[z] = t.high[k], t.weight[k]
    return blocks, least, most, least_price, most_price
