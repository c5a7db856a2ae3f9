"""The records of runs: one line of JSON each, in a file that grows; runs with a record are not repeated."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from semistruct._version import __version__
from semistruct.errors import DataError, quoted
from semistruct.experiments.plan import Config, Frame

Record = dict[str, Any]


@dataclass
class Results:
    """The file of records of a frame and some data; refuses records of others."""

    path: Path
    frame: Frame
    digest: str
    records: list[Record] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path, frame: Frame, digest: str, *, resume: bool) -> Results:
        """Without `resume` there must be no records yet."""
        results = cls(path, frame, digest)
        if not path.exists():
            return results
        if not resume:
            problem = "there are already results; continue with --resume, or choose another folder"
            raise DataError.at(path, None, problem)
        results.records = results._read()
        return results

    def find(self, config: Config) -> Record | None:
        wanted = config.to_dict()
        return next((record for record in self.records if record["config"] == wanted), None)

    def add(self, record: Record) -> None:
        """Append a record; it is on the disk when this returns."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.records.append(record)

    def _read(self) -> list[Record]:
        """The records; an incomplete last line, left by a killed process, is cut off."""
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        out = []
        for number, line in enumerate(whole.split(b"\n")[:-1], 1):
            try:
                record = json.loads(line)
                self._check(record, number)
            except (ValueError, KeyError, TypeError, AttributeError) as err:
                if isinstance(err, DataError):
                    raise
                raise DataError.at(self.path, number, "not a record of a run") from None
            out.append(record)
        if whole != content:
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        return out

    def _check(self, record: Record, number: int) -> None:
        wanted = asdict(self.frame)
        for key, value in record["frame"].items():
            if value != wanted[key]:
                raise DataError.at(
                    self.path, number, f"these are results with {key} {quoted(value)}, not {quoted(wanted[key])}"
                )
        if record["digest"] != self.digest:
            raise DataError.at(self.path, number, "these are results on other data (its checksum differs)")


def versions() -> dict[str, str]:
    """The versions of everything that may change a number."""
    libraries = {name: version(name) for name in ("numpy", "scipy")}
    return {"semistruct": __version__, "python": platform.python_version(), **libraries}
