"""The folder of a workbench: which files it has, who has it open, and its settings."""

from __future__ import annotations

import json
import os
import re
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from semistruct.errors import DataError, ParameterError, quoted
from semistruct.files import make_folder, reason, replacing, take_lock
from semistruct.labels import OUTSIDE
from semistruct.tokens import WORDS, checked_tokens

SETTINGS, LABELS, RULES, HISTORY, MODELS, LOCK = (
    "settings.json", "labels.jsonl", "rules.yaml", "history.jsonl", "models", ".lock"
)  # fmt: skip
POOL = "pool.jsonl"  # what is written; any pool.* is read
KEYS = "abcdefghijklmnopqrstuvwxyz123456789"
MOST_FIELDS = 25
LONGEST_NAME = 60
ID = re.compile(r"[0-9a-f]{16}")


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
    tokens       how running text is cut (`semistruct.tokens`)
    train_every  after how many new labels a model is learned
    blind_every  each sequence of this number is drawn at random and shown without proposals
    models       the number of the last model, whose file may be gone
    """

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    fields: tuple[Field, ...] = ()
    tokens: str = WORDS
    train_every: int = 3
    blind_every: int = 8
    models: int = 0

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.fields]

    def content(self) -> str:
        """What stands in the file of the settings."""
        return json.dumps({"workbench": 1, **asdict(self)}, ensure_ascii=False, indent=1) + "\n"

    def with_names(self, names: list[str]) -> Settings:
        """With these fields: those that are there keep key and colour, new ones get free ones."""
        known = {one.name: one for one in self.fields}
        kept = [known[name] for name in names if name in known]
        keys, colours = {one.key for one in kept}, {one.colour for one in kept}
        out = []
        for name in checked_names(names):
            if name not in known:
                key, colour = free_key(name, keys), next(k for k in range(MOST_FIELDS + 1) if k not in colours)
                keys.add(key)
                colours.add(colour)
                known[name] = Field(name, key, colour)
            out.append(known[name])
        return replace(self, fields=tuple(out))


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


def free_key(name: str, taken: set[str]) -> str:
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

    def say_where(self, address: str) -> None:
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
        found = sorted(self.path.glob("pool.*"), key=lambda path: (path.name != POOL, path.name))
        return next((path for path in found if path.is_file()), None)

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
        found = [path for path in (self.path / MODELS).glob("*.model") if path.stem.isdecimal()]
        return sorted(found, key=lambda path: int(path.stem))

    @property
    def has_settings(self) -> bool:
        return (self.path / SETTINGS).exists()

    def _refuse_strangers(self) -> None:
        ours = {SETTINGS, LABELS, RULES, HISTORY, MODELS, LOCK, f"{LABELS}.cut", f"{HISTORY}.cut"}
        others = [
            name
            for name in sorted(os.listdir(self.path))
            if name not in ours and not name.startswith("pool.") and not name.startswith(".")
        ]
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
        path = self.path / SETTINGS
        if not self.has_settings:
            return Settings()
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            settings = _settings(data)
        except (ValueError, KeyError, TypeError, AttributeError) as err:
            raise DataError.at(path, None, f"not the settings of a workbench ({err})") from None
        if data.get("id") != settings.id:
            self.save_settings(settings)
        return settings


def _settings(data: dict[str, Any]) -> Settings:
    if data["workbench"] != 1:
        raise ValueError("of a newer version")
    fields = tuple(Field(str(one["name"]), str(one["key"]), int(one["colour"])) for one in data["fields"])
    checked_names([one.name for one in fields])
    train, blind = (max(1, int(data[key])) for key in ("train_every", "blind_every"))
    tokens, models = checked_tokens(data["tokens"]), max(0, int(data.get("models", 0)))
    made = Settings(fields=fields, tokens=tokens, train_every=train, blind_every=blind, models=models)
    return replace(made, id=data["id"]) if ID.fullmatch(str(data.get("id"))) else made
