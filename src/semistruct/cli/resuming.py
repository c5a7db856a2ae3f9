"""The unfinished output of `predict --resume`: what is done stays in a file beside, and the next command goes on there.

OUTPUT.part holds whole chunks of sequences; OUTPUT.part.json says how many, and what they were made from.  A chunk
counts when both are on the disk, so whatever happens, at most the chunks that were under way are lost.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from semistruct._version import __version__
from semistruct.cli.options import Reading
from semistruct.corpus import Example
from semistruct.errors import DataError, ParameterError, some_of
from semistruct.files import reason, refuse_overwriting, replacing, take_lock
from semistruct.formats import FORMATS, Written, form_named
from semistruct.rules import Rules

HEAD = 1 << 16  # bytes of an input by which it is known again
BLOCK = 1 << 20
FULL = (errno.ENOSPC, errno.EDQUOT)


def refuse_unresumable(inputs: Sequence[str], output: str, model: Path) -> None:
    """Refuse inputs that cannot be read twice, and an output that cannot be continued."""
    if output == "-":
        raise ParameterError("--resume needs an output file: --output (-o)")
    if Path(output).exists() and not Path(output).is_file():
        raise ParameterError(f"--resume cannot continue {output}, which is not a file")
    for path in inputs:
        if path == "-" or (Path(path).exists() and not Path(path).is_file()):
            name = "standard input" if path == "-" else path
            raise ParameterError(f"--resume needs files as inputs; {name} cannot be read a second time")
    for written in _beside(output):
        refuse_overwriting(written, [model, *inputs])


def _beside(output: str) -> tuple[Path, Path]:
    """The part and its record, in the folder of the file that is written."""
    path = Path(output)
    path = path.resolve() if path.is_symlink() else path
    return path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.part.json")


def origin(
    model: Path, inputs: Sequence[str], reading: Reading, rules: Rules | bool, further: dict[str, Any]
) -> dict[str, Any]:
    """What labels are made from: the same of everything gives the same labels.

    further  options that are in no group
    """
    chosen = rules.to_dict() if isinstance(rules, Rules) else rules
    options = {f"--{name.replace('_', '-')}": value for name, value in reading.options().items()}
    options |= {"rules": hashlib.sha256(json.dumps(chosen, default=repr).encode()).hexdigest(), **further}
    return {
        "version": __version__,
        "model": _digest(model),
        "options": json.loads(json.dumps(options, default=str)),
        "inputs": [_fingerprint(path) for path in inputs],
    }


def _digest(path: Path) -> str:
    with _reading(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fingerprint(path: str) -> dict[str, Any]:
    with _reading(path) as file:
        about, head = os.fstat(file.fileno()), hashlib.sha256(file.read(HEAD)).hexdigest()
    return {"path": os.path.realpath(path), "size": about.st_size, "changed": about.st_mtime_ns, "head": head}


@contextmanager
def _reading(path: str | Path) -> Iterator[Any]:
    try:
        with open(path, "rb") as file:
            yield file
    except OSError as err:
        raise DataError.at(path, None, f"cannot read: {reason(err)}") from None


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """In which ways a part was started otherwise, each as the end of "it was started ..."."""
    out = [] if before["version"] == now["version"] else [f"by version {before['version']} of semistruct"]
    out += [] if before["model"] == now["model"] else ["with another model"]
    names = dict.fromkeys((*before["options"], *now["options"]))
    out += [f"with another {name}" if name.startswith("-") else f"with other {name}"
            for name in names if before["options"].get(name) != now["options"].get(name)]  # fmt: skip
    if [one["path"] for one in before["inputs"]] != [one["path"] for one in now["inputs"]]:
        return [*out, "for other inputs"]
    changed = [one["path"] for one, other in zip(now["inputs"], before["inputs"], strict=True) if one != other]
    return out + ([f"before {some_of(changed)} changed"] if changed else [])


@dataclass
class Reached:
    """How far a part is.

    checksum   of its bytes
    width      the number of columns of its tokens
    uncertain  sequences whose labels are not certain to be the best
    recut      sequences that will be read with other tokens
    """

    sequences: int = 0
    bytes: int = 0
    checksum: int = 0
    width: int = 0
    uncertain: int = 0
    recut: int = 0


class Part:
    """An output that is continued chunk by chunk.

    reached  how far it is
    """

    def __init__(self, output: str, made_from: dict[str, Any], format: str, scheme: str | None) -> None:
        form = form_named(format)
        if not form.end_to_end:
            fit = ", ".join(name for name, form in FORMATS.items() if form.end_to_end)
            raise ParameterError(f"--resume cannot continue a file in the format {format}; it can continue {fit}")
        self.made_from = made_from
        self.path, self.record = _beside(output)
        self._anew = f"delete {self.path} and {self.record.name} to start again"
        self.reached = self._found()
        self.written = Written(form, scheme, self.reached.sequences, self.reached.width, self.reached.recut)

    def _found(self) -> Reached:
        """What an earlier command has left."""
        if not self.record.exists():
            if self.path.exists():
                problem = f"exists, but was not written by --resume: there is no {self.record.name}; rename it"
                raise DataError.at(self.path, None, problem)
            return Reached()
        try:
            found = json.loads(self.record.read_text(encoding="utf-8"))
            reached, other = Reached(**found["reached"]), differences(found["made from"], self.made_from)
            damaged = not all(type(value) is int and value >= 0 for value in asdict(reached).values())
        except OSError as err:
            raise DataError.at(self.record, None, f"cannot read: {reason(err)}") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            damaged = True
        if damaged:
            raise DataError.at(self.record, None, f"is damaged; {self._anew}")
        if other:
            problem = f"was started {', '.join(other)}; give the command as it was then, or {self._anew}"
            raise DataError.at(self.path, None, problem)
        return reached if self.path.exists() else Reached()

    @contextmanager
    def continued(self) -> Iterator[None]:
        """Chunks can be added; when that ends well, the part becomes the output."""
        if not self.path.exists():
            self._note(self.reached)  # first, as a part without a record is not ours
        try:
            with open(self.path, "ab") as self._file:
                if os.name != "nt" and not take_lock(self._file):  # on Windows a locked file cannot be read
                    raise DataError.at(self.path, None, "another process is writing it")
                self._check()
                self._file.truncate(self.reached.bytes)
                with self._deleted_if_empty():
                    yield
            os.replace(self.path, self.path.with_name(self.path.name.removesuffix(".part")))
        except OSError as err:
            kept = self.kept("make room and " if err.errno in FULL else "")
            raise DataError.at(self.path, None, f"cannot write: {reason(err)}; {kept}") from err
        self.record.unlink(missing_ok=True)
        self.written.tell()

    @contextmanager
    def _deleted_if_empty(self) -> Iterator[None]:
        """What ends early leaves no part with nothing in it."""
        try:
            yield
        except BaseException:
            if not self.reached.sequences:
                with suppress(OSError):
                    self.path.unlink()
                    self.record.unlink()
            raise

    def kept(self, first: str = "") -> str:
        """What a command that ends early leaves, and what to do then."""
        n, again = self.reached.sequences, f"{first}give the same command again"
        if n == 0:
            return f"nothing was kept; {again}"
        done = "1 sequence is" if n == 1 else f"{n:,} sequences are"
        return f"{done} kept in {self.path}; {again} to continue"

    def add(self, examples: Iterable[Example], uncertain: int) -> None:
        """Write a chunk; `uncertain` counts all sequences so far whose labels are not certain to be the best."""
        buffer = io.BytesIO()
        text = io.TextIOWrapper(buffer, "utf-8", newline="\n")
        self.written.add(examples, text)
        text.flush()
        data, before = buffer.getvalue(), self.reached
        self._file.write(data)
        self._file.flush()
        os.fsync(self._file.fileno())
        reached = Reached(
            self.written.sequences, before.bytes + len(data), zlib.crc32(data, before.checksum), self.written.width,
            uncertain, self.written.recut,
        )  # fmt: skip
        try:
            self._note(reached)
        except DataError as err:
            raise err.__cause__ or err from None  # `continued` says what is kept
        self.reached = reached

    def _note(self, reached: Reached) -> None:
        with replacing(self.record, "utf-8") as file:
            json.dump({"made from": self.made_from, "reached": asdict(reached)}, file, indent=1)

    def _check(self) -> None:
        """Refuse a part that is not what was written."""
        left, checksum = self.reached.bytes, 0
        with open(self.path, "rb") as file:
            while left and (data := file.read(min(left, BLOCK))):
                left, checksum = left - len(data), zlib.crc32(data, checksum)
        if left or checksum != self.reached.checksum:
            raise DataError.at(self.path, None, f"has changed since it was written; {self._anew}")
