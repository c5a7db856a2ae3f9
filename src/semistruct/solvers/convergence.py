"""The warning that a solver stopped before it was done."""

from __future__ import annotations

import warnings


def warn_unconverged(text: str) -> None:
    """Warn for the caller's caller, with the warning of scikit-learn, which is not imported before."""
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(text, ConvergenceWarning, stacklevel=3)
