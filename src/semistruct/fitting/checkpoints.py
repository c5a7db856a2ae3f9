"""Checkpoints of methods that follow a path: one file per folder, moved to its place when complete."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as save_arrays

from semistruct.batch import SequenceBatch
from semistruct.chain.inference import ChainWeights
from semistruct.errors import DataError
from semistruct.files import make_folder, replacing
from semistruct.fitting.data import DevData
from semistruct.fitting.points import Point
from semistruct.fitting.state import State
from semistruct.fitting.task import Task

NAME = "path.checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """Where the state is saved, and the run it belongs to: parameters and digests, by name."""

    path: Path
    about: dict[str, str]

    @classmethod
    def of(
        cls, folder: str | os.PathLike[str], estimator: Any, task: Task, stages: list[float], dev: DevData | None
    ) -> Checkpoint:
        path = make_folder(folder)
        # functions and random states show where they are in memory, which is elsewhere in another process
        about = {k: re.sub(r" at 0x\w+", "", repr(v)) for k, v in estimator.get_params().items() if k != "n_jobs"}
        about["method"] = type(estimator).__name__
        names = np.frombuffer("\n".join(task.encoder.vocabulary).encode("utf-8", "surrogatepass"), np.uint8)
        about["data"] = _digest(task.batch, names, task.known, task.weight, *task.tables.events, task.tables.targets)
        about["dev data"] = "none" if dev is None else _digest(dev.batch, dev.known)
        about["stages"] = repr(stages)
        return cls(path / NAME, about)

    def save(self, state: State, points: list[Point]) -> None:
        """Write the state; a process that is killed later loses only what came after."""
        arrays = {"tokens": state.chain.tokens, "trans": state.chain.trans}
        arrays |= {f"extra.{name}": array for name, array in state.extra.items()}
        if state.labels is not None:
            arrays["labels"] = state.labels
        for i, point in enumerate(points):
            arrays |= {f"point{i}.tokens": point.chain.tokens, f"point{i}.trans": point.chain.trans}
            if point.labels is not None:
                arrays[f"point{i}.labels"] = point.labels
        place = {"stage": state.stage, "round": state.round, "settled": state.settled}
        rows = [point.row("place") for point in points]
        record = {"about": self.about, "place": place, "history": state.history, "points": rows}
        with replacing(self.path) as file:
            file.write(
                save_arrays({k: np.ascontiguousarray(v) for k, v in arrays.items()}, {"state": json.dumps(record)})
            )

    def load(self, start: State) -> tuple[State, list[Point]]:
        """The saved state, or `start` and no points if there is none; refuses the state of another run."""
        if not self.path.exists():
            return start, []
        try:
            with safe_open(self.path, framework="numpy") as file:
                record = json.loads(file.metadata()["state"])
                about = record["about"]
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as err:
            raise DataError.at(self.path, None, f"not a checkpoint, or damaged ({err})") from None
        self._refuse_other(about)
        extra = {name.removeprefix("extra."): a for name, a in arrays.items() if name.startswith("extra.")}
        chain = ChainWeights(arrays["tokens"], arrays["trans"])
        state = State(chain, arrays.get("labels"), history=record["history"], extra=extra, **record["place"])
        points = [
            Point(
                ChainWeights(arrays[f"point{i}.tokens"], arrays[f"point{i}.trans"]),
                row["place"],
                arrays.get(f"point{i}.labels"),
                row["dev_accuracy"],
                row["mistakes"],
            )
            for i, row in enumerate(record["points"])
        ]
        return state, points

    def _refuse_other(self, about: dict[str, str]) -> None:
        for name in self.about | about:  # parameters first: they also change what is seen of the data
            ours, theirs = self.about.get(name), about.get(name)
            if ours != theirs:
                problem = f"the checkpoint belongs to another run: {name} was {theirs!s:.60} and is now {ours!s:.60}"
                raise DataError.at(self.path, None, problem)


def _digest(batch: SequenceBatch, *arrays: np.ndarray) -> str:
    sha = hashlib.sha256()
    for array in (batch.indptr, batch.indices, batch.values, batch.offsets, batch.kind, *arrays):
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()[:16]
