"""What to run: one configuration per fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from semistruct.errors import ParameterError, meant, quoted
from semistruct.experiments.lineup import applying, lists_of
from semistruct.experiments.material import ALL, Material

SETTINGS = ("inductive", "transductive")
CURVE_OF, CURVE_SHARES, CURVE_DRAWS = "annealed", (0.0, 0.1, 0.3), 3  # of the curve over the size of the pool
QUICK_METHODS, QUICK_SIZES, QUICK_DRAWS = ("crf", "ssvm", "annealed"), ("5", "20"), 2


@dataclass(frozen=True)
class Frame:
    """What all runs of a folder have in common.

    features  "paper", with the rules that methods were published with; "default", with one list of rules for all
    setting   "inductive", or "transductive": the reported sequences are in the pool, without their labels
    quick     with little data and few stages
    """

    corpus: str
    features: str = "paper"
    setting: str = "inductive"
    quick: bool = False


@dataclass(frozen=True)
class Config:
    """One run.  method is a line of the line-up; pool is the size of the pool, None for all of it."""

    method: str
    size: str
    seed: int
    pool: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def planned(
    material: Material, methods: Sequence[str], sizes: Sequence[str], draws: int, *, quick: bool = False
) -> list[Config]:
    """All runs, draw by draw, so that an early stop leaves complete draws; then the curve over the size of the pool."""
    out = [
        Config(method, size, seed)
        for seed in range(draws)
        for size in sizes
        for method in methods
        if seed == 0 or material.differs(size)
    ]
    if CURVE_OF in methods:
        smallest = min(sizes, key=material.labelled)
        counts = sorted({int(share * len(material.pool)) for share in CURVE_SHARES})
        n = min(draws, 1 if quick else CURVE_DRAWS) if material.differs(smallest) else 1
        out += [Config(CURVE_OF, smallest, seed, pool) for seed in range(n) for pool in counts]
    return out


def chosen_methods(frame: Frame, wanted: str | None) -> list[str]:
    """The chosen lines, in the order of the tables."""
    there = applying(lists_of(frame.corpus, frame.features))
    if wanted is None:
        return [name for name in there if name in QUICK_METHODS or not frame.quick]
    asked = [part.strip() for part in wanted.split(",") if part.strip()]
    for name in asked:
        if name not in there:
            raise ParameterError(f"there is no method {quoted(name)} for {frame.corpus}; {meant(name, there)}")
    if not asked:
        raise ParameterError(f"--methods is empty; there are {', '.join(there)}")
    return [name for name in there if name in asked]


def chosen_sizes(material: Material, wanted: str | None, quick: bool) -> list[str]:
    """Sizes as texts, without repetition, the smallest first."""
    parts = [part.strip() for part in wanted.split(",")] if wanted else [*(QUICK_SIZES if quick else ("5", "20", ALL))]
    for part in parts:
        if part != ALL and not (part.isdecimal() and int(part) > 0):
            raise ParameterError(f"--sizes: {quoted(part)} is neither a number > 0 nor '{ALL}'")
    unique = {material.labelled(part): part for part in (p if p == ALL else str(int(p)) for p in parts)}
    return [unique[n] for n in sorted(unique)]
