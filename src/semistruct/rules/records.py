"""What the kernels read of rules, as in `core/events.hpp`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ITSELF, PER_TOKEN, PER_SEQUENCE = -1, -2, -3
"""What a count is divided by, unless that is the count of another term: nothing, tokens, sequences."""


NO_TERM = -1  # where a term could be named


ALONE = -1  # the group of a term that has a penalty of its own


NO_MARK = -1  # of a label whose occurrence no rule needs to remember


TARGET = np.dtype(
    [
        ("low", "f8"), ("high", "f8"), ("unit", "f8"), ("weight", "f8"), ("power", "i8"), ("per", "i8"),
        ("group", "i8"), ("needs", "i8"), ("bars", "i8"),
    ]
)  # fmt: skip
"""A term should lie in [low, high]; outside it costs weight * (unit * distance)^power.

per    ITSELF, PER_TOKEN, PER_SEQUENCE, or the number of the term by whose count it is divided
group  terms of one group have one penalty, on the number of those that are out of range; or ALONE
needs  the number of a term whose count must not be 0 for this one to matter, or NO_TERM
bars   the number of one whose count must be 0, or NO_TERM
"""


ENTRY = np.dtype([("term", "i8"), ("least", "i8"), ("most", "i8"), ("mark", "i8")])
"""Term `term` has an event: where a block ends if it is shorter than least or longer than most, where one begins if the
mark was set before, and always at tokens and steps."""


class Events(NamedTuple):
    """What happens where: lists of entries in cells, those of cell c being entry[ptr[c]:ptr[c + 1]].

    z                               the cell of what happens where a block of label z begins
    Y + z                           ... where a block of label z ends
    cell_of_token + z               ... where the token has label z
    cell_of_steps + y * Y + z       ... where it has label z after label y at the token before; y = Y if it is the first
    token_class, step_class (N,)    of the tokens and of the steps into them; those of a class share their cells
    first_step                      the first cell of steps
    mark (Y,)                       the mark that a label sets by occurring, or NO_MARK
    """

    token_class: np.ndarray
    step_class: np.ndarray
    first_step: int
    ptr: np.ndarray
    entry: np.ndarray
    mark: np.ndarray
