"""Checkpoints of methods that follow a path: files that are moved to their places when complete.

One holds where a path starts, with the C that was chosen; one how far the path has been followed.

A file holds arrays and, in its metadata, `format`, `state` (JSON) and `seal`, a digest of the state and all arrays.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
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

NAME, START = "path.checkpoint", "start.checkpoint"
FORMAT = 2


@dataclass(frozen=True)
class Checkpoint:
    """Where the state is saved, and the run it belongs to.

    about     parameters and digests, by name
    n_open    tokens of the open sequences
    n_stages  of the path
    """

    path: Path
    about: dict[str, str]
    n_open: int
    n_stages: int

    @classmethod
    def of(cls, place: Path, estimator: Any, task: Task, stages: Sequence[float], dev: DevData | None) -> Checkpoint:
        """That of a run in a file, whose folder is made."""
        make_folder(place.parent)
        # functions and random states show where they are in memory, which is elsewhere in another process
        about = {
            k: re.sub(r" at 0x\w+", "", repr(v))
            for k, v in estimator.get_params().items()
            if k not in ("n_jobs", "actors")
        }
        about["method"] = type(estimator).__name__
        names = np.frombuffer("\n".join(task.encoder.vocabulary).encode("utf-8", "surrogatepass"), np.uint8)
        rules = *map(np.asarray, task.tables.events), task.tables.targets
        about["dev data"] = "none" if dev is None else _digest(dev.batch, dev.known)
        about["data"] = _digest(task.batch, names, task.known, task.weight, *rules)
        about["stages"] = repr(stages)
        return cls(place, about, task.batch.n_tokens - task.first_open, len(stages))

    def save(self, state: State, points: list[Point]) -> None:
        """Write the state; a process that is killed later loses only what came after."""
        arrays = {"tokens": state.chain.tokens, "trans": state.chain.trans}
        arrays |= {f"extra.{name}": array for name, array in state.extra.items()}
        if state.labels is not None:
            arrays["labels"] = state.labels
        for i, chain in enumerate(state.models):
            arrays |= {f"model{i}.tokens": chain.tokens, f"model{i}.trans": chain.trans}
        for i, point in enumerate(points):
            arrays |= {f"point{i}.tokens": point.chain.tokens, f"point{i}.trans": point.chain.trans}
            if point.labels is not None:
                arrays[f"point{i}.labels"] = point.labels
        place = {"stage": state.stage, "round": state.round, "settled": state.settled}
        rows = [point.row("place") for point in points]
        record = {"about": self.about, "place": place, "history": state.history, "points": rows}
        record["models"] = len(state.models)
        arrays, text = {k: np.ascontiguousarray(v) for k, v in arrays.items()}, json.dumps(record)
        metadata = {"format": str(FORMAT), "state": text, "seal": _seal(text, arrays)}
        with replacing(self.path) as file:
            file.write(save_arrays(arrays, metadata))

    def load(self, start: State) -> tuple[State, list[Point]]:
        """The saved state, or `start` and no points if there is none; refuses the state of another run."""
        if not self.path.exists():
            return start, []
        try:
            record, arrays = self._content()
            self._refuse_other(record["about"])
            return self._read(record, arrays, start)
        except DataError:
            raise
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError) as err:
            raise DataError.at(self.path, None, f"not a checkpoint, or damaged ({err})") from None

    def _content(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """(the record, the arrays), as they were written."""
        with safe_open(self.path, framework="numpy") as file:
            metadata = file.metadata()
            if int(metadata["format"]) != FORMAT:
                problem = f"checkpoint format {metadata['format']} of another version; this version reads {FORMAT}"
                raise DataError.at(self.path, None, problem)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if metadata["seal"] != _seal(metadata["state"], arrays):
            raise ValueError("its content does not match its seal")
        return json.loads(metadata["state"]), arrays

    def _read(self, record: dict[str, Any], arrays: dict[str, np.ndarray], start: State) -> tuple[State, list[Point]]:
        """The state and the points, whose arrays have the shapes of `start` and of the open sequences."""

        def chain(prefix: str = "") -> ChainWeights:
            found = ChainWeights(arrays[f"{prefix}tokens"], arrays[f"{prefix}trans"])
            _check(found.tokens, start.chain.tokens.shape, "tokens")
            _check(found.trans, start.chain.trans.shape, "trans")
            return found

        def labels(prefix: str = "") -> np.ndarray | None:
            found = arrays.get(f"{prefix}labels")
            if found is not None:
                _check(found, (self.n_open,), "labels", most=start.chain.n_labels - 1)
            return found

        extra = {name.removeprefix("extra."): a for name, a in arrays.items() if name.startswith("extra.")}
        models = [chain(f"model{i}.") for i in range(record["models"])]
        state = State(chain(), labels(), history=record["history"], extra=extra, models=models, **record["place"])
        if not 0 <= state.stage <= self.n_stages:
            raise ValueError(f"it is at stage {state.stage} of {self.n_stages}")
        points = [
            Point(chain=chain(f"point{i}."), labels=labels(f"point{i}."), **row)
            for i, row in enumerate(record["points"])
        ]
        return state, points

    def _refuse_other(self, about: dict[str, str]) -> None:
        for name in self.about | about:  # parameters first: they also change what is seen of the data
            ours, theirs = self.about.get(name), about.get(name)
            if ours != theirs:
                problem = f"the checkpoint belongs to another run: {name} was {theirs!s:.60} and is now {ours!s:.60}"
                raise DataError.at(self.path, None, problem)


def _check(array: np.ndarray, shape: tuple[int, ...], name: str, most: int | None = None) -> None:
    """Refuse an array of another shape, of numbers that are not finite, or of labels beyond `most`."""
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    if not np.isfinite(array).all() or (most is not None and ((array < 0) | (array > most)).any()):
        raise ValueError(f"{name} holds a value that cannot be")


def _seal(text: str, arrays: dict[str, np.ndarray]) -> str:
    sha = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        sha.update(f"{name} {array.dtype.str} {array.shape}".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()


def _digest(batch: SequenceBatch, *arrays: np.ndarray) -> str:
    sha = hashlib.sha256()
    for array in (batch.indptr, batch.indices, batch.values, batch.offsets, batch.kind, *arrays):
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()[:16]
