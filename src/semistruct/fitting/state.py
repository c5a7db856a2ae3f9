"""How far a method on a path has come: the content of a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semistruct.chain.inference import ChainWeights

Row = dict[str, Any]


@dataclass
class State:
    """Stage and round are the next ones to do; settled means that this stage needs no further rounds.

    labels  of the open sequences, None before the first round
    models  those whose mean the chain is (see `crossing`), if it is one
    extra   what else the method needs to continue: dual variables, multipliers, ...
    """

    chain: ChainWeights
    labels: np.ndarray | None = None
    stage: int = 0
    round: int = 0
    settled: bool = False
    history: list[Row] = field(default_factory=list)
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    models: list[ChainWeights] = field(default_factory=list)

    def next_stage(self) -> None:
        self.stage, self.round, self.settled = self.stage + 1, 0, False
