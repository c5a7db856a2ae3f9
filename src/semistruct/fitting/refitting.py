"""Learning again from training and dev data together, with what was chosen on the dev data."""

from __future__ import annotations

from typing import Any

from semistruct.errors import DataError, ParameterError
from semistruct.fitting.data import Pairs, check_data, checked_dev
from semistruct.rules import Rules


def chosen_C(method: Any) -> dict[str, float]:
    """The parameter with which a method, or the one inside of it that learns, has the C that was chosen."""
    C, given = getattr(method, "C_", None), method.get_params()
    return {name: C for name in ("C", "base__C") if name in given and C is not None}


def refitted(method: Any, data: Pairs, dev: Pairs | None, further: dict[str, Any]) -> Any:
    """A new estimator, fitted to both data with the C of `method` and as far along its path as was best."""
    X, y = check_data(*data)
    held_out = checked_dev(dev)
    if held_out is None or not held_out[0]:
        raise DataError("dev data: there is none, so there is nothing to learn again from")
    both = method.unfitted()
    both.ranks = False
    both.set_params(**chosen_C(method))
    if hasattr(method, "path_"):
        both.set_params(select="last", rules=Rules([]) if method.rules_ is None else method.rules_)
        both.begins = method.start_
        both.part_of_path = slice(0, next(k for k, point in enumerate(method.path_) if point["chosen"]))
    elif "pool" in further:
        raise ParameterError(f"{type(method).__name__} does not use a pool")
    both.fit([*X, *held_out[0]], [*y, *held_out[1]], **further)
    return both
