"""The folder of a workbench: settings, token and lock; files that are changed together or not at all."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Annotated, Any

from pydantic import AfterValidator, NonNegativeInt, PositiveInt, TypeAdapter, ValidationError

from semistruct.app.work.limits import LONGEST_NAME, MOST_FIELDS
from semistruct.base.errors import DataError, ParameterError, WriteError, quoted
from semistruct.base.files import make_folder, reason, replacing, sync_folder, take_lock
from semistruct.data.labels import OUTSIDE
from semistruct.data.tokens import WORDS, checked_tokens

SETTINGS, LABELS, RULES, HISTORY, MODELS, LOCK, TOKEN = (
    "settings.json", "labels.jsonl", "rules.yaml", "history.jsonl", "models", ".lock", ".token"
)  # fmt: skip
POOL = "pool.jsonl"  # what is written; any pool.* is read
KEYS = "abcdefghijklmnopqrstuvwxyz123456789"


@dataclass(frozen=True)
class Field:
    """A label that people give: its name, the key that sets it, and the number of its colour."""

    name: str
    key: str
    colour: int


@dataclass(frozen=True)
class Settings:
    """What a workbench remembers besides labels and rules.

    id           of the folder, made once: browsers keep what they could not send under it
    tokens       how running text is cut (`semistruct.data.tokens`)
    train_every  after how many new labels a model is learned
    blind_every  each sequence of this number is drawn at random and shown without proposals
    models       the number of the last model, whose file may be gone
    """

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    fields: tuple[Field, ...] = ()
    tokens: Annotated[str, AfterValidator(checked_tokens)] = WORDS
    train_every: PositiveInt = 3
    blind_every: PositiveInt = 8
    models: NonNegativeInt = 0

    @property
    def names(self) -> list[str]:
        return [known.name for known in self.fields]

    def content(self) -> str:
        """What stands in the file of the settings."""
        return json.dumps({"workbench": 1, **asdict(self)}, ensure_ascii=False, indent=1) + "\n"

    def with_names(self, names: list[str]) -> Settings:
        """With these fields: those that are there keep key and colour, new ones get free ones."""
        known = {old.name: old for old in self.fields}
        kept = [known[name] for name in names if name in known]
        keys, colours = {old.key for old in kept}, {old.colour for old in kept}
        for name in checked_names(names):
            if name not in known:
                key, colour = _free_key(name, keys), next(k for k in range(MOST_FIELDS + 1) if k not in colours)
                keys.add(key)
                colours.add(colour)
                known[name] = Field(name, key, colour)
        return replace(self, fields=tuple(known[name] for name in checked_names(names)))


def checked_names(names: list[str]) -> list[str]:
    """Names of fields, each once; refuses what cannot be one."""
    out = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    for name in out:
        if name == OUTSIDE:
            raise ParameterError(f"{OUTSIDE} is the label of text in no field; choose another name")
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise ParameterError(f"{quoted(name)} cannot be the name of a field: use at most {LONGEST_NAME} characters")
    if len(out) > MOST_FIELDS:
        raise ParameterError(f"{len(out)} fields, more than the {MOST_FIELDS} that can be told apart")
    return out


def _free_key(name: str, taken: set[str]) -> str:
    """A letter of the name that no other field has, or else any."""
    wanted = [letter for letter in name.lower() if letter in KEYS]
    return next(key for key in [*wanted, *KEYS] if key not in taken)


@dataclass
class Folder:
    """An open folder; no other workbench has it open."""

    path: Path
    settings: Settings = field(default_factory=Settings)
    _lock: IO[str] | None = None

    @classmethod
    def open(cls, path: Path) -> Folder:
        """The folder, made if there is none; refused if it holds other things, or another server has it open."""
        folder = cls(make_folder(path).resolve())
        try:
            folder._refuse_strangers()
            folder._take_lock()
            folder.settings = folder._read_settings()
            (folder.path / MODELS).mkdir(exist_ok=True)
        except OSError as err:
            raise DataError.at(path, None, f"cannot use the folder: {reason(err)}") from None
        return folder

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            with suppress(OSError):
                (self.path / LOCK).unlink()
            self._lock = None

    def write_address(self, address: str) -> None:
        """Tell a second server where this one is."""
        if self._lock is not None:
            self._lock.seek(0)
            self._lock.truncate()
            self._lock.write(address)
            self._lock.flush()

    def save_settings(self, settings: Settings) -> None:
        with replacing(self.path / SETTINGS, "utf-8") as file:
            file.write(settings.content())
        self.settings = settings

    def pool_file(self) -> Path | None:
        """The file that holds the pool, if there is one."""
        files = sorted(self.path.glob("pool.*"), key=lambda path: (path.name != POOL, path.name))
        return next((path for path in files if path.is_file()), None)

    def rules_text(self) -> str | None:
        """The rules as they stand in their file."""
        try:
            return (self.path / RULES).read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise DataError.at(self.path / RULES, None, "not UTF-8 text, which a rules file must be") from None
        except OSError as err:
            raise DataError.at(self.path / RULES, None, f"cannot read: {reason(err)}") from None

    def models(self) -> list[Path]:
        """The model files, oldest first."""
        files = [path for path in (self.path / MODELS).glob("*.model") if path.stem.isdecimal()]
        return sorted(files, key=lambda path: int(path.stem))

    def token(self) -> str:
        """Whoever has the token may use the workbench.  It outlives the server, so that open pages go on.

        A new one is made if there is none, it is damaged, or others could have read it.
        """
        path = self.path / TOKEN
        with suppress(OSError):
            open_to_others = os.name == "posix" and path.stat().st_mode & 0o077
            kept = re.fullmatch(rb"[\w-]{32}", path.read_bytes().strip())
            if kept is not None and not open_to_others:
                return kept[0].decode()
        token = secrets.token_urlsafe(24)
        with suppress(OSError):  # without a file, the token is good until the server ends
            path.unlink(missing_ok=True)
            with open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(token)
        return token

    @property
    def has_settings(self) -> bool:
        return (self.path / SETTINGS).exists()

    def _refuse_strangers(self) -> None:
        ours = {SETTINGS, LABELS, RULES, HISTORY, MODELS, f"{LABELS}.cut", f"{HISTORY}.cut"}
        others = sorted(name for name in os.listdir(self.path) if name not in ours and name[:5] != "pool.")
        others = [name for name in others if not name.startswith(".")]
        if others and not self.has_settings:
            problem = f"holds {quoted(others[0])} and is no folder of a workbench; name an empty or a new folder"
            raise DataError.at(self.path, None, problem)

    def _take_lock(self) -> None:
        file = open(self.path / LOCK, "a+", encoding="utf-8")  # noqa: SIM115
        if not take_lock(file):
            file.seek(0)
            where = file.read(200).strip()
            file.close()
            problem = f"another workbench has the folder open{', at ' + where if where else ''}; close that one first"
            raise DataError.at(self.path, None, problem)
        self._lock = file

    def _read_settings(self) -> Settings:
        if not self.has_settings:
            return Settings()
        path = self.path / SETTINGS
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data.pop("workbench") != 1:
                raise ValueError("of a newer version")
            settings = TypeAdapter(Settings).validate_python(data)
            checked_names(settings.names)
        except (ValueError, KeyError, TypeError, AttributeError) as err:
            what = "{loc[0]}: {msg}".format(**err.errors()[0]) if isinstance(err, ValidationError) else str(err)
            raise DataError.at(path, None, f"not the settings of a workbench ({what})") from None
        if "id" not in data:
            self.save_settings(settings)
        return settings


Record = dict[str, Any]
"""An object of a JSON line."""


def line_of(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def write_together(texts: Mapping[Path, str], lines: Mapping[Path, Sequence[Record]]) -> None:
    """Give files other texts, and add lines to files; all is on the disk when this returns, or nothing has changed.

    All that needs room is written before the first file is replaced.
    """
    ready = {path.resolve(): path.with_name(f".{path.name}.tmp") for path in texts}
    before = {path: path.stat().st_size if path.exists() else 0 for path in lines}
    try:
        for temporary, (path, text) in zip(ready.values(), texts.items(), strict=True):
            temporary.unlink(missing_ok=True)
            _append(temporary, text.encode(), path)
        for path, records in lines.items():
            _append(path, "".join(map(line_of, records)).encode())
        for path, temporary in ready.items():
            os.replace(temporary, path)
    except BaseException as err:
        for temporary in ready.values():
            temporary.unlink(missing_ok=True)
        for path, size in before.items():
            if path.exists():
                _truncate(path, size)
        if isinstance(err, OSError):
            raise WriteError.at(next(iter(texts)).parent, None, f"cannot write: {reason(err)}") from err
        raise
    for folder in {path.parent for path in [*texts, *lines]}:
        sync_folder(folder)


def read_journal(path: Path) -> tuple[list[str], list[str]]:
    """The lines of a file to which lines are added, and notices about its end.

    A last line without a line end counts if it is a whole record.  A torn one is moved to a file beside this one.
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
        _truncate(path, len(whole + rest))
        _append(path, b"\n")
        return _filled(whole + rest), [f"{path.name}: the last line had no end; it is whole, and counts"]
    notices = []
    if rest.strip():
        side = path.with_name(path.name + ".cut")
        _append(side, rest + b"\n")
        notices = [f"{path.name}: the last line was cut off; what there is of it is in {side.name}"]
    _truncate(path, len(whole))
    return _filled(whole), notices


def _append(path: Path, data: bytes, called: Path | None = None) -> None:
    """Add to a file, made if there is none; the data is on the disk when this returns.  Errors name `called`."""
    try:
        with open(path, "ab", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
    except OSError as err:
        raise WriteError.at(called or path, None, f"cannot write: {reason(err)}") from err


def _truncate(path: Path, size: int) -> None:
    try:
        os.truncate(path, size)
    except OSError as err:
        raise WriteError.at(path, None, f"cannot write: {reason(err)}") from err


def _filled(data: bytes) -> list[str]:
    return [line for line in data.decode("utf-8", "replace").split("\n") if line.strip("\0 \r")]


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode()), dict)
    except (ValueError, RecursionError):
        return False
