"""Which files rules may have read: regular ones below folders that somebody named, and no others."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from semistruct.errors import DataError, shortened
from semistruct.files import source_name

LARGEST = 1_000_000_000  # bytes of a file that rules name


@dataclass(frozen=True)
class Reach:
    """What rules may read.

    base     the folder that paths are relative to
    folders  those below which files may be read; links that lead out of them are not followed
    hint     what to do about a file elsewhere, for messages
    """

    base: Path = Path()
    folders: tuple[Path, ...] = ()
    hint: str = ""

    @classmethod
    def of_file(cls, path: str, may_read: str | os.PathLike[str] | None) -> Reach:
        """That of a rules file: its folder, and another one."""
        folder = Path(path).parent
        further = () if may_read is None else (Path(source_name(may_read)),)
        hint = "; --rules-may-read DIR, or may_read in Python, allows another folder"
        return cls(folder, (folder, *further), hint)

    @classmethod
    def of_text(cls, may_read: str | os.PathLike[str] | None) -> Reach:
        """That of a text: nothing, unless a folder is named, to which paths are relative."""
        if may_read is None:
            return cls(hint="; may_read names a folder for those of a text")
        folder = Path(source_name(may_read))
        return cls(folder, (folder,))

    def file(self, name: str) -> Path:
        """The file that rules name; a DataError if they must not read it."""
        path = self.base / name
        try:
            real = path.resolve()
            if not any(real.is_relative_to(folder.resolve()) for folder in self.folders):
                problem = f"a file that rules read must be in the folder of the rules{self.hint}"
                raise DataError(f"{shortened(name)}: {problem}")
            if not real.exists():
                raise DataError(f"there is no file {path}")
            if not real.is_file():
                raise DataError.at(path, None, "not a regular file, which rules must not read")
            if real.stat().st_size > LARGEST:
                raise DataError.at(path, None, f"more than {LARGEST} bytes, too long for a file that rules read")
        except (OSError, RuntimeError) as err:  # such as links in a circle
            raise DataError.at(path, None, f"cannot read: {getattr(err, 'strerror', None) or err}") from None
        except ValueError as err:
            if isinstance(err, DataError):
                raise
            raise DataError(f"{shortened(name)}: not the name of a file") from None
        return path
