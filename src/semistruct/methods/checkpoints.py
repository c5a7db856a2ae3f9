"""Checkpoints of annealing: one file per folder, written beside its place and moved there when complete."""

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
from semistruct.files import replacing
from semistruct.methods.annealing import State, Task
from semistruct.methods.points import Point
from semistruct.methods.search import Known
from semistruct.solvers.sdm import DualState
from semistruct.solvers.sdm_kernels import Sets

NAME = "annealing.checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """Where the state is kept, and what it belongs to: parameters and digests, by name."""

    path: Path
    about: dict[str, str]

    @classmethod
    def of(
        cls, folder: str | os.PathLike[str], estimator: Any, data: Any, schedule: list[float], dev: Known | None
    ) -> Checkpoint:
        path = Path(folder)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as err:
            raise DataError.at(path, None, f"cannot write: {(err.strerror or str(err)).lower()}") from None
        task: Task = data.task
        # functions and random states show where they are in memory, which is elsewhere in another process
        about = {k: re.sub(r" at 0x\w+", "", repr(v)) for k, v in estimator.get_params().items() if k != "n_jobs"}
        about["method"] = type(estimator).__name__
        names = np.frombuffer("\n".join(data.encoder.vocabulary).encode("utf-8", "surrogatepass"), np.uint8)
        about["data"] = _digest(task.batch, names, task.known, task.weight, *task.tables.events)
        about["dev data"] = "none" if dev is None else _digest(*dev)
        about["weights of unlabelled data"] = repr(schedule)
        return cls(path / NAME, about)

    def save(self, state: State, points: list[Point]) -> None:
        """Write the state; a process that is killed loses no more than what came after."""
        arrays = {"chain.tokens": state.chain.tokens, "chain.trans": state.chain.trans}
        if state.labels is not None:
            arrays["labels"] = state.labels
        if state.dual is not None:
            arrays |= {f"dual.{name}": array for name, array in state.dual.sets._asdict().items()}
            arrays |= {
                "dual.tokens": state.dual.chain.tokens,
                "dual.trans": state.dual.chain.trans,
                "dual.weight": state.dual.weight,
            }
        for i, point in enumerate(points):
            arrays |= {f"point{i}.tokens": point.chain.tokens, f"point{i}.trans": point.chain.trans}
            if point.labels is not None:
                arrays[f"point{i}.labels"] = point.labels
        place = {"temperature": state.temperature, "round": state.round, "settled": state.settled}
        rows = [point.row() for point in points]
        told = {"about": self.about, "place": place, "history": state.history, "points": rows}
        with replacing(self.path) as file:
            file.write(
                save_arrays({k: np.ascontiguousarray(v) for k, v in arrays.items()}, {"state": json.dumps(told)})
            )

    def load(self, start: State, task: Task) -> tuple[State, list[Point]]:
        """The state that was saved, or `start` and no points if there is none; refuses that of another run."""
        if not self.path.exists():
            return start, []
        try:
            with safe_open(self.path, framework="numpy") as file:
                told = json.loads(file.metadata()["state"])
                about = told["about"]
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as err:
            raise DataError.at(self.path, None, f"not a checkpoint, or damaged ({err})") from None
        self._refuse_other(about)
        dual = None
        if "dual.tokens" in arrays:
            sets = Sets(*(arrays[f"dual.{name}"] for name in Sets._fields))
            dual = DualState(sets, ChainWeights(arrays["dual.tokens"], arrays["dual.trans"]), arrays["dual.weight"])
        chain = ChainWeights(arrays["chain.tokens"], arrays["chain.trans"])
        state = State(chain, dual=dual, labels=arrays.get("labels"), history=told["history"], **told["place"])
        points = [
            Point(
                ChainWeights(arrays[f"point{i}.tokens"], arrays[f"point{i}.trans"]),
                arrays.get(f"point{i}.labels"),
                row["C_u"],
                row["dev_accuracy"],
                row["mistakes"],
            )
            for i, row in enumerate(told["points"])
        ]
        return state, points

    def _refuse_other(self, about: dict[str, str]) -> None:
        for name in self.about | about:  # parameters first: they also change what is seen of the data
            ours, theirs = self.about.get(name), about.get(name)
            if ours != theirs:
                problem = f"the checkpoint is of another run: {name} was {theirs!s:.60}, is {ours!s:.60}"
                raise DataError.at(self.path, None, problem)


def _digest(batch: SequenceBatch, *arrays: np.ndarray) -> str:
    sha = hashlib.sha256()
    for array in (batch.indptr, batch.indices, batch.values, batch.offsets, batch.kind, *arrays):
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()[:16]
