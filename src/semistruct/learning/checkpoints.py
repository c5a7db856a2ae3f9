"""Checkpoints of methods that follow a path: files that are moved to their places when complete.

One holds where a path starts, with the C that was chosen; one how far the path has been followed.  A path from a
second start, and the last stage with the whole of a large pool, have folders of their own.

A file holds arrays and, in its metadata, `format`, `state` (JSON) and `seal`, a digest of the state and all arrays.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as save_arrays

from semistruct.base.errors import DataError
from semistruct.base.files import make_folder, replacing
from semistruct.core.batch import SequenceBatch
from semistruct.core.chain.inference import ChainWeights
from semistruct.learning.choice import Choice, Point, Start
from semistruct.learning.rounds import Run, State
from semistruct.learning.task import DevData, Task

NAME, START = "path.checkpoint", "start.checkpoint"
FORMAT = 3


@dataclass(frozen=True)
class Folder:
    """Where the states of a fit are kept, if anywhere, and whether it goes on from there.

    about  what must be the same where a fit goes on: parameters by name
    """

    path: str | os.PathLike[str] | None = None
    resume: bool = False
    about: dict[str, str] = field(default_factory=dict)
    dev: DevData | None = None

    def start(self, task: Task, learn: Callable[[], Start | None], part: str = "") -> Start | None:
        """Where a path starts: what is in a part of the folder, or else what `learn` gives, which is then kept."""
        if self.path is None:
            return learn()
        file = self._file(part, START, task, ())
        Y = len(task.labels)
        shape = ChainWeights(np.zeros((task.batch.n_features, Y)), np.zeros((task.batch.n_kinds, Y, Y)))
        found = file.load(shape) if self.resume else None
        if found is None:
            if (start := learn()) is not None:
                choice = start.choice
                file.save(State(start.chain, history=choice.rows, extra={"C": np.array([choice.C])}), [])
            return start
        state = found[0]
        C = state.extra.get("C", np.empty(0))
        if C.shape != (1,) or not C[0] > 0:
            raise DataError.at(file.path, None, "not a checkpoint, or damaged (its C is no number above 0)")
        return Start(state.chain, Choice(float(C[0]), state.history, []))

    def attach(self, run: Run, task: Task, points: list[Point], part: str) -> None:
        """Save the state and the points of a run in a part of the folder; first go on from what is there."""
        if self.path is None:
            return
        file = self._file(part, NAME, task, run.stages)
        run.save = lambda state: file.save(state, points)
        if self.resume and (found := file.load(run.state.chain)) is not None:
            run.state = found[0]
            points[:] = found[1] or points

    def _file(self, part: str, name: str, task: Task, stages: Sequence[float]) -> Checkpoint:
        assert self.path is not None
        path = Path(self.path) / part / name
        make_folder(path.parent)
        vocabulary = np.frombuffer("\n".join(task.encoder.vocabulary).encode("utf-8", "surrogatepass"), np.uint8)
        rules = *map(np.asarray, task.tables.events), task.tables.targets
        about = {
            **self.about,
            "dev data": "none" if self.dev is None else _digest(self.dev.batch, self.dev.known),
            "data": _digest(task.batch, vocabulary, task.known, task.weight, *rules),
            "stages": repr(stages),
        }
        return Checkpoint(path, about, task.batch.n_tokens - task.first_open, len(stages))


def parameters_of(estimator: Any) -> dict[str, str]:
    """The parameters of an estimator as texts; those that do not change the result are left out."""
    # functions and random states show where they are in memory, which is elsewhere in another process
    given = {k: re.sub(r" at 0x\w+", "", repr(v)) for k, v in estimator.get_params().items() if k != "n_jobs"}
    return {**given, "method": type(estimator).__name__}


def progress_in(folder: str | os.PathLike[str]) -> str | None:
    """How far a fit has come that has its checkpoints in a folder, as a sentence; None if there are none."""
    files = [Path(folder) / part / name for part in ("all", "rules", "") for name in (NAME, START)]
    file = next((path for path in files if path.exists()), None)
    if file is None:
        return None
    if file.name == START:
        return f"continuing from {file}: C and the first model are known"
    with _refusing_damage(file):
        record, _ = _content(file)
        place, stages = record["place"], record["stages"]
        rounds = "1 round" if place["round"] == 1 else f"{place['round']} rounds"
        return f"continuing from {file}: stage {min(place['stage'] + 1, stages)} of {stages}, {rounds} of it done"


@dataclass(frozen=True)
class Checkpoint:
    """A file with a state, and the run it belongs to.

    about     parameters and digests, by name
    n_open    tokens of the open sequences
    n_stages  of the path
    """

    path: Path
    about: dict[str, str]
    n_open: int
    n_stages: int

    def save(self, state: State, points: list[Point]) -> None:
        """Write the state; a process that is killed later loses only what came after."""
        arrays = {**_arrays("", state.chain, state.labels), **{f"extra.{k}": a for k, a in state.extra.items()}}
        for i, chain in enumerate(state.models):
            arrays |= _arrays(f"model{i}.", chain)
        for i, point in enumerate(points):
            arrays |= _arrays(f"point{i}.", point.chain, point.labels)
        record = {
            "about": self.about,
            "place": {"stage": state.stage, "round": state.round, "settled": state.settled},
            "stages": self.n_stages,
            "history": state.history,
            "points": [point.row("place") for point in points],
            "models": len(state.models),
        }
        arrays, text = {k: np.ascontiguousarray(v) for k, v in arrays.items()}, json.dumps(record)
        metadata = {"format": str(FORMAT), "state": text, "seal": _seal(text, arrays)}
        with replacing(self.path) as file:
            file.write(save_arrays(arrays, metadata))

    def load(self, like: ChainWeights) -> tuple[State, list[Point]] | None:
        """The saved state and points, None if there are none; refuses those of another run and other shapes."""
        if not self.path.exists():
            return None
        with _refusing_damage(self.path):
            record, arrays = _content(self.path)
            for name in self.about | record["about"]:  # parameters first: they also change what is seen of the data
                ours, theirs = self.about.get(name), record["about"].get(name)
                if ours != theirs:
                    problem = f"belongs to another run: {name} was {theirs!s:.60} and is now {ours!s:.60}"
                    raise DataError.at(self.path, None, f"the checkpoint {problem}")
            return self._read(record, arrays, like)

    def _read(
        self, record: dict[str, Any], arrays: dict[str, np.ndarray], like: ChainWeights
    ) -> tuple[State, list[Point]]:
        """The state and the points, whose arrays have the shapes of `like` and of the open sequences."""

        def chain(prefix: str = "") -> ChainWeights:
            found = ChainWeights(arrays[f"{prefix}tokens"], arrays[f"{prefix}trans"])
            _check(found.tokens, like.tokens.shape, "tokens")
            _check(found.trans, like.trans.shape, "trans")
            return found

        def labels(prefix: str = "") -> np.ndarray | None:
            found = arrays.get(f"{prefix}labels")
            if found is not None:
                _check(found, (self.n_open,), "labels", most=like.n_labels - 1)
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


@contextmanager
def _refusing_damage(path: Path) -> Iterator[None]:
    """Errors in the content of a file as one DataError."""
    try:
        yield
    except DataError:
        raise
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError) as err:
        raise DataError.at(path, None, f"not a checkpoint, or damaged ({err})") from None


def _content(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(the record, the arrays), as they were written."""
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
        if int(metadata["format"]) != FORMAT:
            problem = f"checkpoint format {metadata['format']} of another version; this version reads {FORMAT}"
            raise DataError.at(path, None, problem)
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if metadata["seal"] != _seal(metadata["state"], arrays):
        raise ValueError("its content does not match its seal")
    return json.loads(metadata["state"]), arrays


def _arrays(prefix: str, chain: ChainWeights, labels: np.ndarray | None = None) -> dict[str, np.ndarray]:
    own = {} if labels is None else {f"{prefix}labels": labels}
    return {f"{prefix}tokens": chain.tokens, f"{prefix}trans": chain.trans, **own}


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
