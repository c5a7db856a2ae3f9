"""Smooth functions minimised by L-BFGS-B, and why that ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

LIMIT_REACHED = 1  # of scipy


@dataclass(frozen=True)
class Minimum:
    """Where the minimisation ended.

    stop  "converged", "max_iterations", or "line_search": no step was found that lowers the value
    """

    x: np.ndarray
    value: float
    gradient: np.ndarray
    stop: str


def minimise(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    *,
    max_iterations: int,
    memory: int = 10,
    fall: float = 1e7 * float(np.finfo(float).eps),
    slope: float = 1e-5,
    bounds: np.ndarray | None = None,
    done: Callable[[float], bool] | None = None,
) -> Minimum:
    """Minimise a function that gives its value and its gradient, within bounds (n, 2).

    memory  how many pairs of differences are remembered
    fall    it has converged if the value falls by less than this share in an iteration,
    slope   if no entry of the projected gradient is larger,
    done    or if this says so, called with the value after every iteration
    """
    from scipy.optimize import minimize

    is_done = False

    def note(intermediate_result: Any) -> None:
        nonlocal is_done
        is_done = done is not None and done(float(intermediate_result.fun))
        if is_done:
            raise StopIteration

    options = {"maxiter": max_iterations, "maxfun": 10**9, "maxcor": memory, "ftol": fall, "gtol": slope}
    with threadpool_limits(1, user_api="blas"):  # for vectors of this size its threads cost more than they bring
        found = minimize(function, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=note, options=options)
    stop = "converged"
    if not found.success and not is_done:
        stop = "max_iterations" if found.status == LIMIT_REACHED else "line_search"
    return Minimum(found.x, float(found.fun), found.jac, stop)
