"""Solvers: functions of encoded sequences and weights C_i that give the weights of a model and how they were found."""

from __future__ import annotations

import warnings


def warn_unconverged(text: str) -> None:
    """Warn, for the caller of a solver, with the warning of scikit-learn, which is not imported before."""
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(text, ConvergenceWarning, stacklevel=3)
