"""How far probabilities agree with what happens, and how right the surest answers are."""

from __future__ import annotations

from typing import Any

import numpy as np

BINS = 10
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def reliability(p: np.ndarray, right: np.ndarray, n_bins: int = BINS) -> list[dict[str, float]]:
    """Answers sorted by probability, in parts of equal size: their number, mean probability and share of right ones."""
    order = np.argsort(p, kind="stable")
    parts = [part for part in np.array_split(order, n_bins) if len(part)]
    return [
        {"n": len(part), "probability": float(p[part].mean()), "right": float(right[part].mean())} for part in parts
    ]


def calibration_error(bins: list[dict[str, float]]) -> float:
    """The expected calibration error: by how much probability and share of right answers differ, on average."""
    total = sum(one["n"] for one in bins)
    return sum(one["n"] * abs(one["probability"] - one["right"]) for one in bins) / total if total else 0.0


def by_chance(p: np.ndarray, n_bins: int = BINS) -> float:
    """About the calibration error that perfect probabilities would show, as so few answers agree with them by chance.

    The mean of a part differs from its expectation by 0.8 standard deviations on average.
    """
    order = np.argsort(p, kind="stable")
    parts = [p[part] for part in np.array_split(order, n_bins) if len(part)]
    return float(sum(np.sqrt(2 / np.pi * np.sum(part * (1 - part))) for part in parts)) / max(len(p), 1)


def coverage(p: np.ndarray, right: np.ndarray) -> list[dict[str, Any]]:
    """Of the surest tenth, two tenths, ... of the answers: how many are right."""
    order = np.argsort(-p, kind="stable")
    hits = np.cumsum(right[order])
    out = []
    for share in SHARES:
        n = max(round(share * len(p)), 1)
        out.append({"share": share, "n": n, "right": float(hits[n - 1] / n), "probability": float(p[order[n - 1]])})
    return out
