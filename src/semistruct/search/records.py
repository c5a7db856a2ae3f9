"""What the kernels read of a search under rules, as in `core/prefixes.hpp` and `core/search.hpp`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from semistruct.rules.records import TARGET, Events

GROWTH = 4  # of the widths of searches that follow each other


TERM = np.dtype([*TARGET.descr, ("cap", "i8"), ("more", "f8"), ("fewer", "f8")])
"""A term that is part of a state: its target, and

cap          counts above it are all alike
more, fewer  what a count that is one more, one less, can cost in the future (inf: any amount)
"""


LIMIT = np.dtype([("term", "i8"), ("least", "i8"), ("most", "i8"), ("least_price", "f8"), ("most_price", "f8")])
"""What rules say of the blocks of a label.

term                     the term that counts them, or -1
least, most              how many there may be
least_price, most_price  what every missing and every surplus block costs at least
"""


class Track(NamedTuple):
    """The terms that are part of a state, numbered g.

    events      in which only these terms are left
    terms (G,)  TERM records; limits (Y,) LIMIT records
    starts (G,)  the label whose blocks a term counts, if that is all it does: no more such blocks, no more costs; or -1
    size        of a row
    longest     block lengths above it are all alike
    hits        room for the terms that have an event at one token
    """

    events: Events
    terms: np.ndarray
    limits: np.ndarray
    starts: np.ndarray
    size: int
    longest: int
    hits: int


class Scores(NamedTuple):
    """Of one sequence: unary (T, Y), step (K, Y, Y), kind (T,) as in `chain.kernels`, less the costs of local rules.

    first  the number of its first token
    """

    unary: np.ndarray
    step: np.ndarray
    kind: np.ndarray
    first: int


class Bound(NamedTuple):
    """On the value of labellings, and the labels of those that are worth looking at.

    multiplier (Y,)          paid for every start of a block
    ahead (T, Y)             the best score of what follows a label, multipliers paid
    label (T, Y), many (T,)  the labels that token t can have: label[t, :many[t]]
    """

    multiplier: np.ndarray
    ahead: np.ndarray
    label: np.ndarray
    many: np.ndarray


PREFIX = np.dtype([("score", "f8"), ("rest", "f8"), ("run", "i8"), ("label", "i8"), ("parent", "i8")])
"""A labelling of the first tokens of a sequence.

score   of the prefix, its penalty subtracted
rest    what a rest can add at most
run     the length of the last block, label its label, parent the prefix without its last token
"""


class Prefixes(NamedTuple):
    """Several prefixes: PREFIX records, and what the module calls their rows."""

    state: np.ndarray
    rows: np.ndarray


class Scoring(NamedTuple):
    """How sequences are scored for a search:  scale * score of the model + bonus - costs of local rules.

    costs   of the rules, by class
    step    (kinds of steps * classes of steps, Y, Y) scaled, with the costs of local rules
    bonus   (n_tokens, Y), or empty
    known   (n_tokens,) labels, or empty: other labels than a known one are forbidden
    """

    scorer: NamedTuple
    costs: NamedTuple
    step: np.ndarray
    scale: float
    bonus: np.ndarray
    known: np.ndarray
