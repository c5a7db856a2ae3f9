"""Files of a workbench: lines that are added to them, and several of them changed together or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from semistruct.errors import DataError, WriteError
from semistruct.files import reason, sync_folder

Records = list[dict[str, Any]]


def line_of(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def write_together(texts: Mapping[Path, str], lines: Mapping[Path, Records]) -> None:
    """Give files other texts, and add lines to files; all is on the disk when this returns, or nothing has changed.

    All that needs room is written before the first file is replaced.
    """
    ready = {path.resolve(): path.with_name(f".{path.name}.tmp") for path in texts}
    before = {path: path.stat().st_size if path.exists() else 0 for path in lines}
    try:
        for temporary, (path, text) in zip(ready.values(), texts.items(), strict=True):
            temporary.unlink(missing_ok=True)
            _write(temporary, text.encode(), path)
        for path, records in lines.items():
            _write(path, "".join(map(line_of, records)).encode())
        for path, temporary in ready.items():
            os.replace(temporary, path)
    except BaseException as err:
        for temporary in ready.values():
            temporary.unlink(missing_ok=True)
        for path, size in before.items():
            if path.exists():
                _cut(path, size)
        if isinstance(err, OSError):
            raise WriteError.at(next(iter(texts)).parent, None, f"cannot write: {reason(err)}") from err
        raise
    for folder in {path.parent for path in [*texts, *lines]}:
        sync_folder(folder)


def _write(path: Path, data: bytes, called: Path | None = None) -> None:
    """Add to a file, made if there is none; the data is on the disk when this returns.  Errors name `called`."""
    try:
        with open(path, "ab", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
    except OSError as err:
        raise WriteError.at(called or path, None, f"cannot write: {reason(err)}") from err


def whole_lines(path: Path) -> tuple[list[str], list[str]]:
    """The lines of a file to which lines are added, and what is to be told of its end.

    A last line without its end counts if it is whole.  What was cut off goes into a file beside it.
    """
    try:
        data = path.read_bytes() if path.exists() else b""
    except OSError as err:
        raise DataError.at(path, None, f"cannot read: {reason(err)}") from None
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) == len(data):
        return _filled(whole), []
    rest = data[len(whole) :].rstrip(b"\0")
    if _is_record(rest):
        _cut(path, len(whole + rest))
        _write(path, b"\n")
        return _filled(whole + rest), [f"{path.name}: the last line had no end; it is whole, and counts"]
    side = path.with_name(path.name + ".cut")
    told = [f"{path.name}: the last line was cut off; what there is of it is in {side.name}"] if rest.strip() else []
    if told:
        _write(side, rest + b"\n")
    _cut(path, len(whole))
    return _filled(whole), told


def _filled(data: bytes) -> list[str]:
    return [line for line in data.decode("utf-8", "replace").split("\n") if line.strip("\0 \r")]


def _cut(path: Path, size: int) -> None:
    try:
        os.truncate(path, size)
    except OSError as err:
        raise WriteError.at(path, None, f"cannot write: {reason(err)}") from err


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode()), dict)
    except (ValueError, RecursionError):
        return False
