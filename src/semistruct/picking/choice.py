"""Choosing one sequence after the other, each for what it adds to those chosen before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from semistruct.picking.signals import Signals
from semistruct.picking.traits import Traits

TINY = 1e-12


@dataclass(frozen=True)
class Worth:
    """How much each reason to label a sequence weighs.

    cover  traits that many sequences of the pool have, and few labelled ones
    doubt  labels that the model is not sure of
    rare   labels that it proposes here, and that few labelled sequences have
    power  of the length, by which all that grows with the length is divided
    fade   what is left of the worth of a trait each time it is covered: nothing without a model; a model may still be
           in doubt about it
    """

    cover: float = 1.0
    doubt: float = 0.1
    rare: float = 0.5
    power: float = 0.5
    fade: float = 0.5


COST = {"sequence": 0.0, "token": 0.5}
"""What is paid for, and the power of the length by which the worth of a sequence is divided for it."""


@dataclass
class Choice:
    """Sequences of a pool, and what has been labelled or chosen of them.

    traits   of the n sequences of the pool, and of the labelled ones after them
    lengths  (n,)
    open     (n,) the sequences that may be chosen
    signals  of the n sequences, None without a model
    seen     (Y,) how many labelled sequences have each label of the model
    n_seen   how many labelled sequences there are
    doubtful (N,) how likely the label of each token of the pool is wrong; 0 where nobody asked; None without a model
    """

    traits: Traits
    lengths: np.ndarray
    open: np.ndarray
    signals: Signals | None
    seen: np.ndarray
    cost: str = "sequence"
    worth: Worth = Worth()
    doubtful: np.ndarray | None = None
    n_seen: float = 0.0

    def __post_init__(self) -> None:
        n = len(self.lengths)
        self.has = csr_array(self.traits.counts[:n] > 0, dtype=float)
        self.covered = np.asarray((self.traits.counts[n:] > 0).sum(axis=0)).ravel()
        self.size = self.lengths**self.worth.power
        self.frequent = self.traits.frequent(self.doubtful)
        full = self.has @ self.frequent / self.size
        self.unit = float(full[self.open].mean()) if self.open.any() else 1.0
        self.directions = self.traits.directions()
        self.density = _density(self.directions)
        self.alike = np.zeros(n)  # how much a sequence resembles one of those chosen

    def new(self) -> np.ndarray:
        """(F,): what it is worth to see each trait once more."""
        fade = 0.0 if self.signals is None else self.worth.fade
        return self.frequent * fade**self.covered

    def parts(self) -> dict[str, np.ndarray]:
        """(n,) for each reason: how much it speaks for a sequence now."""
        out = {"cover": self.worth.cover * (self.has @ self.new()) / self.size / max(self.unit, TINY)}
        if self.signals is not None:
            alone = self.density * (1 - self.alike)
            out["doubt"] = self.worth.doubt * alone * self.signals.doubt / self.size
            out["rare"] = self.worth.rare * (self.signals.has @ (1 / (1 + self.seen)))
        paid = self.lengths ** COST[self.cost]
        return {reason: part / paid for reason, part in out.items()}

    def next(self) -> tuple[int, dict[str, float]]:
        """The best sequence, and by how much each reason speaks more for it than for half of the others."""
        parts = self.parts()
        total = np.where(self.open, np.sum(list(parts.values()), axis=0), -np.inf)
        i = int(np.argmax(total))
        return i, {reason: float(part[i] - np.median(part[self.open])) for reason, part in parts.items()}

    def take(self, i: int) -> None:
        """Count a sequence as labelled, with the labels that the model proposes."""
        self.open[i] = False
        self.covered[self.has[[i]].indices] += 1
        self.alike = np.maximum(self.alike, self.directions @ self.directions[[i]].toarray().ravel())
        if self.signals is not None:
            self.seen = self.seen + self.signals.has[i]
            self.n_seen += 1


def _density(directions: csr_array) -> np.ndarray:
    """(n,): from 0 for a sequence unlike all others to 1 for those that resemble others as half of the pool do."""
    near = directions @ np.asarray(directions.sum(axis=0)).ravel()
    return np.minimum(near / max(float(np.median(near)), TINY), 1.0) if len(near) else near
