"""What the kernels read of label switching, as in `core/switching.hpp` and `core/spans.hpp`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEAST = 1e-9  # relative improvement below which a switch is taken for rounding


REACH = 8  # chunks a span may run over


MOST = 20  # moves per sequence and pass


SWAP = -1  # in the place of a label: the two blocks of the window swap theirs


class Objective(NamedTuple):
    """What is lowered: sequences and their scores, rules, and the weight of the slack.

    instance, corpus  the terms of either level; room for counting them
    block_price (K,)  what a block of a wrong length costs
    scale (n,), loss  see the module
    """

    scorer: NamedTuple
    costs: NamedTuple
    events: NamedTuple
    targets: np.ndarray
    instance: np.ndarray
    corpus: np.ndarray
    block_price: np.ndarray
    scale: np.ndarray
    loss: float


class Ledger(NamedTuple):
    """What switching keeps up to date.

    counts (n, K) of every sequence, totals (K,) their sum; slack, instance (n,) penalty; corpus (1,) penalty
    """

    counts: np.ndarray
    totals: np.ndarray
    slack: np.ndarray
    instance: np.ndarray
    corpus: np.ndarray


class Current(NamedTuple):
    """A sequence with its labels y and the messages for them; new is equal to y but for the window being tried.

    first                 number of its first token; scale the weight of its slack
    rival (T,)            the labelling z of the slack
    along (Y, T + 1)      along[c, e] - along[c, s] = score of label c at s..e-1, with loss where the rival has it too
    before (T + 1,)       the same for the labels y
    cost_along, cost_before   the same for the costs of local rules
    odd_before, odd_after (T + 1,)   the costs of blocks of wrong lengths that a window from s on, or up to e, does not
                          touch: those that end before s - 1, and those that begin after e
    """

    first: int
    scale: float
    unary: np.ndarray
    kind: np.ndarray
    y: np.ndarray
    new: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    rival: np.ndarray
    along: np.ndarray
    before: np.ndarray
    cost_along: np.ndarray
    cost_before: np.ndarray
    odd_before: np.ndarray
    odd_after: np.ndarray
