"""The best labellings under instance rules, exact where the search can be.

Rules that see one token or two neighbouring labels become part of the scores; the others (blocks of a label, order,
lengths, squared counts) are searched for, see `search_kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semistruct.batch import UNKNOWN, SequenceBatch
from semistruct.chain.inference import NOWHERE, ChainWeights, scorer_of
from semistruct.rules.event_kernels import ALONE, ITSELF, Events
from semistruct.rules.events import StartEvent
from semistruct.rules.tables import ANY_LENGTH, RuleTables, most_hits
from semistruct.search.k_best_kernels import k_best_sequences
from semistruct.search.search_kernels import Scoring, Track, search_sequences
from semistruct.threads import spread

WIDTH = 1024
"""How many states a search keeps before it gives up being exact; narrower ones come first."""

NARROWEST, GROWTH = 4, 4  # of the widths
ANY_NUMBER = np.iinfo(np.int32).max


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


@dataclass(frozen=True)
class Aim:
    """What the best labelling is best at:  scale * score(y) + bonus(y) - penalty(y).

    bonus  (n_tokens, Y) for having a label
    known  (n_tokens,) labels that are fixed, UNKNOWN elsewhere
    """

    scale: float = 1.0
    bonus: np.ndarray | None = None
    known: np.ndarray | None = None


def find_best(
    batch: SequenceBatch,
    weights: ChainWeights,
    tables: RuleTables,
    aim: Aim | None = None,
    *,
    k: int = 1,
    width: int = WIDTH,
    n_jobs: int | None = None,
) -> Found:
    """The k best labellings of every sequence.

    width  states that are kept; if there are more, the result for that sequence is not marked as exact
    """
    aim = Aim() if aim is None else aim
    costs, scorer = tables.event_costs, scorer_of(batch, weights)
    step = aim.scale * scorer.step[:, None] - costs.step[None, :, :-1]
    scoring = Scoring(
        scorer=scorer, costs=costs, step=step.reshape(-1, *step.shape[2:]), scale=aim.scale,
        bonus=np.empty((0, weights.n_labels)) if aim.bonus is None else aim.bonus,
        known=NOWHERE if aim.known is None else aim.known,
    )  # fmt: skip
    labels = np.full((k, batch.n_tokens), UNKNOWN, np.int16)
    values, ceiling = np.full((len(batch), k), -np.inf), np.full(len(batch), np.inf)
    args = np.arange(len(batch)), scoring, tracked(tables), growing_widths(k, max(k, width))
    if k == 1:
        spread(search_sequences, *args, labels[0], values.ravel(), ceiling, n_jobs=n_jobs)
    else:
        spread(k_best_sequences, *args, labels, values, ceiling, n_jobs=n_jobs)
    return Found(labels, values, ceiling)


def growing_widths(k: int, width: int) -> np.ndarray:
    """Of searches one after the other: each finds a floor below which the next, wider one need not look."""
    widths = [min(max(k, NARROWEST), width)]
    while 2 * GROWTH * widths[-1] <= width:
        widths.append(GROWTH * widths[-1])
    return np.unique([*widths, width])


def tracked(tables: RuleTables) -> Track:
    """The terms of instance rules that are not part of the scores."""
    term = np.array([k for k in tables.instance if not tables.event_price[k]], np.int64)
    events, t = only(tables.events, term), tables.targets[term]
    cap = np.full(len(term), ANY_NUMBER, np.int64)
    for g in np.flatnonzero(t["per"] == ITSELF):
        if t["group"][g] != ALONE or t["power"][g] == 1 or t["high"][g] == np.inf:
            bounds = [bound for bound in (t["low"][g], t["high"][g]) if np.isfinite(bound)]
            cap[g] = int(np.ceil(max(bounds))) + 1
    more, fewer = _future_prices(t)
    n_marks = int(events.mark.max(initial=-1)) + 1
    finite = events.most[events.most < ANY_LENGTH]
    return Track(
        events=events,
        targets=t,
        cap=cap,
        more=np.append(more, [np.inf] * n_marks),
        fewer=np.append(fewer, [0.0] * n_marks),
        **_block_limits(tables, t, term, cap),
        longest=int(max([1, *events.least.tolist(), *(finite + 1).tolist()])),
        hits=max(most_hits(events), 1),
    )


def only(events: Events, terms: np.ndarray) -> Events:
    """The events of some terms, which are numbered anew."""
    lists = (events.token_term, events.step_term, events.length_term, events.order_term, terms)
    number = np.full(max(part.max(initial=-1) for part in lists) + 1, -1, np.int64)
    number[terms] = np.arange(len(terms))

    def kept(ptr: np.ndarray, term: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        stays = number[term] >= 0
        return np.append(0, np.cumsum(stays))[ptr], stays

    parts: dict[str, np.ndarray] = {}
    for name, others in (("token", ()), ("step", ()), ("length", ("least", "most")), ("order", ("order_mark",))):
        term = getattr(events, f"{name}_term")
        ptr, stays = kept(getattr(events, f"{name}_ptr"), term)
        parts |= {f"{name}_ptr": ptr, f"{name}_term": number[term[stays]]}
        parts |= {other: getattr(events, other)[stays] for other in others}
    return events._replace(**parts)


def _future_prices(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(more, fewer) of Track: an absolute penalty grows by its weight, a squared one by any amount.

    Terms of a group are paid for once, when they leave their range: those with fewer events have that before them.
    """
    price = np.where((t["power"] == 1) & (t["per"] == ITSELF), t["weight"] * t["unit"], np.inf)
    fewer = (t["low"] > -np.inf) | (t["group"] != ALONE)
    return np.where(t["high"] < np.inf, price, 0.0), np.where(fewer, price, 0.0)


def _block_limits(tables: RuleTables, t: np.ndarray, term: np.ndarray, cap: np.ndarray) -> dict[str, np.ndarray]:
    """What tracked terms say of the blocks of each label."""
    Y = len(tables.labels)
    blocks, least, most = np.full(Y, -1, np.int64), np.zeros(Y, np.int64), np.full(Y, ANY_NUMBER, np.int64)
    least_price, most_price = np.zeros(Y), np.zeros(Y)
    for g, k in enumerate(term):
        event = tables.terms[k].event
        if not isinstance(event, StartEvent) or t["group"][g] != ALONE:
            continue
        z, low, high = tables.labels.index(event.label), t["low"][g], t["high"][g]
        if blocks[z] < 0 or cap[g] > cap[blocks[z]]:
            blocks[z] = g
        if low > least[z] and low == np.floor(low):
            least[z], least_price[z] = low, t["weight"][g]
        if high < most[z] and high == np.floor(high):
            most[z], most_price[z] = high, t["weight"][g]
    return {
        "blocks": blocks, "least": least, "most": most, "least_price": least_price, "most_price": most_price,
    }  # fmt: skip
