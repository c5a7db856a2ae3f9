"""Lines of text in and out of files; errors of the system become one sentence."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TextIO

from semistruct.base.errors import DataError, ParameterError, WriteError, quoted

PathLike = str | os.PathLike[str]
_unfinished: set[Path] = set()


def source_name(path: PathLike) -> str:
    """What messages call the file at `path`."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"{quoted(path)} is not the path of a file")
    return "<stdin>" if os.fspath(path) == "-" else os.fspath(path)


def read_lines(path: PathLike, encoding: str, *, raw: bool = False) -> Iterator[str]:
    """The lines of a text file ("-" is standard input), each with its "\\n"; never the whole file at once.

    raw  line ends stay as they are, and NUL characters are refused in the first line only
    """
    source, number = source_name(path), 0
    try:
        with _opened(path, checked_encoding(encoding), "" if raw else None) as file:
            for number, line in enumerate(file, 1):
                if "\0" in line and not (raw and number > 1):
                    raise DataError.at(source, number, f"a NUL byte: {_wide(line)}")
                yield line
    except UnicodeError as err:
        # Lines are handed out before the next block of bytes is decoded, so the block that failed
        # begins inside the line after the last one seen.
        skipped = err.object[: err.start].count(b"\n") if isinstance(err, UnicodeDecodeError) else 0
        wide = number == 0 and isinstance(err, UnicodeDecodeError) and err.object[:2] in (b"\xff\xfe", b"\xfe\xff")
        hint = "name the encoding of the file with --encoding, e.g. latin-1"
        hint = "it begins as UTF-16 text does: use --encoding utf-16" if wide else hint
        problem = f"not {encoding.upper()} text; {hint}"
        raise DataError.at(source, number + 1 + skipped, problem) from err
    except OSError as err:
        raise DataError.at(source, None, f"cannot read: {reason(err)}") from err


def all_lines(path: PathLike) -> list[str]:
    """The lines of a file of UTF-8 text, without their ends."""
    try:
        return Path(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise DataError.at(path, None, "not UTF-8 text") from None
    except OSError as err:
        raise DataError.at(path, None, f"cannot read: {reason(err)}") from None


def state_of(path: PathLike) -> tuple[int, int, int] | None:
    """What shows that a file has changed: which one it is, its size and its time; None for what is no file."""
    if os.fspath(path) == "-" or not os.path.isfile(path):
        return None
    about = os.stat(path)
    return about.st_ino, about.st_size, about.st_mtime_ns


def _wide(line: str) -> str:
    """What a line with NUL characters may be: UTF-16 has them at every other place."""
    for first, encoding in ((0, "utf-16-be"), (1, "utf-16-le")):
        if {*line.rstrip("\n")[first::2]} == {"\0"} and len(line) > 3:
            return f"this is UTF-16 text without a mark; use --encoding {encoding}"
    return "a binary file, or text in another encoding (see --encoding)"


def refuse_overwriting(output: PathLike | None, inputs: Iterable[PathLike | None]) -> None:
    """Refuse an output that is one of the inputs, however its path is spelled; None and "-" are not files."""
    if output is None or os.fspath(output) == "-" or not Path(output).is_file():
        return
    for path in inputs:
        if path is not None and os.fspath(path) != "-" and Path(path).is_file() and os.path.samefile(path, output):
            raise DataError.at(output, None, "is also an input and would be overwritten; choose another output")


def make_folder(path: PathLike) -> Path:
    """The folder, created if it does not exist."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise WriteError.at(path, None, f"cannot write: {reason(err)}") from None
    return Path(path)


@contextmanager
def replacing(path: PathLike, encoding: str | None = None) -> Iterator[IO[Any]]:
    """A file to write to, which replaces `path` once it is complete and is deleted otherwise.

    Text in `encoding`, or bytes if that is None.
    """
    options: dict[str, Any] = {"mode": "wb"}
    if encoding is not None:
        options = {"mode": "w", "encoding": checked_encoding(encoding), "newline": "\n"}
    try:
        target = Path(path).resolve()
        # A device or a pipe is written to; putting a file in its place would destroy it.
        special = target.exists() and not target.is_file()
    except (OSError, ValueError) as err:
        problem = reason(err) if isinstance(err, OSError) else "not the name of a file"
        raise DataError.at(path, None, f"cannot write: {problem}") from None
    temporary = target if special else target.with_name(f".{target.name}.{os.getpid()}.tmp")
    if not special:
        _unfinished.add(temporary)
    try:
        with open(temporary, **options) as file:
            try:
                yield file
                file.flush()
                if not special:
                    os.fsync(file.fileno())
                file.close()
                if not special:
                    os.replace(temporary, target)
                    sync_folder(target.parent)
            except BaseException:
                if not special:
                    temporary.unlink(missing_ok=True)
                raise
            finally:
                _unfinished.discard(temporary)
    except OSError as err:
        raise WriteError.at(path, None, f"cannot write: {reason(err)}") from err


def take_lock(file: IO[Any]) -> bool:
    """Take the lock on an open file, which ends with the file or the process; False if another process has it.

    True also where the system cannot lock.
    """
    try:
        if os.name == "nt":  # pragma: no cover
            import msvcrt

            file.seek(0)  # it locks bytes from here on
            getattr(msvcrt, "locking")(file.fileno(), getattr(msvcrt, "LK_NBLCK"), 1)  # noqa: B009
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def abandon() -> None:
    """Delete all files that are not complete, of a process that ends without further ado."""
    for path in list(_unfinished):
        path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Have the names of files on the disk, where the system can do that for a folder."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _opened(path: PathLike, encoding: str, newline: str | None) -> Iterator[TextIO]:
    # "utf-8-sig" is UTF-8 that skips a byte order mark.
    encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    if os.fspath(path) != "-":
        with open(path, encoding=encoding, newline=newline) as file:
            yield file
        return
    stdin = io.TextIOWrapper(sys.stdin.buffer, encoding, newline=newline)
    try:
        yield stdin
    finally:
        stdin.detach()  # leaves standard input open


def checked_encoding(encoding: str) -> str:
    """The name of a text encoding, "utf-8" in this one spelling."""
    try:
        "".encode(encoding)
    except (LookupError, TypeError, ValueError):
        raise DataError(f"there is no text encoding {quoted(encoding)}; try utf-8 or latin-1") from None
    return "utf-8" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding


def reason(err: OSError) -> str:
    """What the system says about an error, as a part of a sentence."""
    return (err.strerror or str(err)).lower()
