"""The records of a folder, seen by method, size and decoding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from semistruct.experiments import statistics
from semistruct.experiments.lineup import LINEUP
from semistruct.experiments.records import Record

SIGNIFICANT = 0.05
IN_WORDS = {"plain": "plain", "rules": "under the rules"}
CHOICES = {
    "dev": "on dev data",
    "labels-free": "without labels",
    "best-test": "best on the reported labels (peeks)",
}


@dataclass(frozen=True)
class Against:
    """A method compared with the best one: the difference of means over the draws that both have, and two p values."""

    difference: float
    draws: int
    flip: float
    bootstrap: float

    @property
    def significant(self) -> bool:
        return self.bootstrap < SIGNIFICANT


@dataclass(frozen=True)
class View:
    """Records and a way to choose the point of a path."""

    records: list[Record]
    select: str = "dev"
    decode: str = "both"
    frame: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", self.records[0]["frame"])

    @property
    def corpus(self) -> str:
        return str(self.frame["corpus"])

    @property
    def synthetic(self) -> bool:
        return bool(self.records[0]["data"]["synthetic"])

    @property
    def title(self) -> str:
        marked = self.synthetic and self.corpus != "synthetic"
        name = "synthetic citations" if self.corpus == "synthetic" else self.corpus
        return f"{name} (synthetic)" if marked else name

    @property
    def decodings(self) -> tuple[str, ...]:
        return ("plain", "rules") if self.decode == "both" else (self.decode,)

    @property
    def main(self) -> str:
        """The decoding that methods are ranked by."""
        return self.decodings[-1]

    @cached_property
    def whole(self) -> list[Record]:
        """The runs with the whole pool."""
        return [record for record in self.records if record["config"]["pool"] is None]

    @cached_property
    def sizes(self) -> dict[str, int]:
        """{size: number of labelled sequences}, the smallest first."""
        found = {record["config"]["size"]: record["data"]["labelled"] for record in self.whole}
        return dict(sorted(found.items(), key=lambda item: item[1]))

    @cached_property
    def methods(self) -> list[str]:
        there = {record["config"]["method"] for record in self.whole}
        return [name for name in LINEUP if name in there]

    def name_of(self, size: str) -> str:
        return f"all ({self.sizes[size]})" if size == "all" else size

    def runs(self, method: str, size: str) -> dict[int, Record]:
        """{seed: record}."""
        found = {
            record["config"]["seed"]: record
            for record in self.whole
            if (record["config"]["method"], record["config"]["size"]) == (method, size)
        }
        return dict(sorted(found.items()))

    def has_path(self, method: str) -> bool:
        return any(len(run["points"]) > 1 for size in self.sizes for run in self.runs(method, size).values())

    def scores(self, method: str, size: str, decoding: str, select: str | None = None) -> list[float]:
        return [accuracy(run, decoding, select or self.select) for run in self.runs(method, size).values()]

    def mean(self, method: str, size: str, decoding: str, select: str | None = None) -> float:
        return statistics.mean(self.scores(method, size, decoding, select))

    def seconds(self, method: str, size: str) -> float:
        """The mean of what a run took to learn."""
        runs = self.runs(method, size).values()
        return statistics.mean([run["seconds"]["fit"] for run in runs])

    def ranked(self, size: str, decoding: str) -> list[str]:
        """The methods that have runs of a size, the best first."""
        there = [method for method in self.methods if self.runs(method, size)]
        return sorted(there, key=lambda method: -self.mean(method, size, decoding))

    def against(self, better: str, method: str, size: str, decoding: str) -> Against:
        """A method compared with a better one."""
        ours, theirs = self.runs(better, size), self.runs(method, size)
        common = [seed for seed in ours if seed in theirs]
        differences = [
            accuracy(ours[s], decoding, self.select) - accuracy(theirs[s], decoding, self.select) for s in common
        ]
        rights = [self._pooled((runs[s] for s in common), decoding) for runs in (ours, theirs)]
        tokens = statistics.pooled([(ours[s]["sequences"], ours[s]["tokens"]) for s in common])
        columns = [np.array([of[i] for i in tokens]) for of in (*rights, tokens)]
        return Against(
            statistics.mean(differences),
            len(common),
            statistics.sign_flip(differences),
            statistics.paired_bootstrap(*columns),
        )

    def _pooled(self, runs: Iterable[Record], decoding: str) -> dict[int, int]:
        return statistics.pooled(
            [(run["sequences"], outcome(run, decoding, self.select)["right"]) for run in runs]
        )  # fmt: skip


def accuracy(run: Record, decoding: str, select: str) -> float:
    return float(run["points"][run["chosen"][decoding][select]][decoding])


def outcome(run: Record, decoding: str, select: str) -> dict[str, Any]:
    found: dict[str, Any] = run["outcomes"][decoding][str(run["chosen"][decoding][select])]
    return found
