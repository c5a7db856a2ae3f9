"""What a workbench has: pool, labels, rules and model; what is learned, and what is shown, is made from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from typing import Any

from semistruct.corpus import Labels
from semistruct.errors import DataError, SemistructError, some_of
from semistruct.labels import OUTSIDE
from semistruct.tokens import WHITESPACE
from semistruct.work.changes import Changes
from semistruct.work.decisions import Decision, Decisions
from semistruct.work.folder import LABELS, SETTINGS, Folder, Settings
from semistruct.work.pool import Pool, read_pool
from semistruct.work.proposals import Proposals
from semistruct.work.rulebook import EMPTY, Rulebook, read_text


@dataclass
class Learned:
    """A model in a file, and what is known about it."""

    name: str
    path: Path
    about: dict[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.about["labels"])


class Stock:
    """The contents of a folder; one call at a time (`lock`).

    told         what windows are to say that are opened later
    queue        sequences to label next, with reasons
    is_learning  whether a model is being learned
    """

    def __init__(self, folder: Folder) -> None:
        self.folder, self.lock, self.changes = folder, RLock(), Changes()
        path = folder.pool_file()
        self.pool = Pool(tokens=folder.settings.tokens) if path is None else read_pool(path, folder.settings.tokens)
        self.told: list[str] = []
        self.decisions = self._read_decisions()
        for words in self.decisions.told:
            self.tell(words)
        self._take_strangers()
        self.rules_text = folder.rules_text() or EMPTY
        self.rules_version = 1
        self.proposals = Proposals()
        self.queue: list[dict[str, Any]] = []
        self.model: Learned | None = None
        self.is_learning = False

    def _read_decisions(self) -> Decisions:
        """The decisions; text is cut as they say if there are no settings."""
        path, folder = self.folder.path / LABELS, self.folder
        try:
            return Decisions(path, self.pool)
        except DataError as err:
            if folder.has_settings:
                raise
            self.pool.tokens = WHITESPACE
            folder.settings = replace(folder.settings, tokens=WHITESPACE)
            try:
                return Decisions(path, self.pool)
            except DataError:
                raise DataError(f"{err}; {SETTINGS}, which says how text is cut, is gone") from None

    def _take_strangers(self) -> None:
        """Labels that are no fields become fields: settings were lost, or labels edited elsewhere; say so."""
        had, names = self.folder.has_settings, self.settings.names
        strangers = sorted(name for name in self.field_counts() if name not in [*names, OUTSIDE])
        if not strangers and (had or not (self.decisions.last or self.folder.models())):
            return
        seen = f"{LABELS} has labels that are no fields: {some_of(strangers)}" if had else f"{SETTINGS} is gone"
        try:
            self.folder.save_settings(self.settings.with_names([*names, *strangers]))
        except SemistructError as err:
            self.tell(f"{seen}; they cannot become fields: {err}")
        else:
            self.tell(f"{seen}; they are fields now" if had else f"{seen}; the fields are those of the labels")

    def tell(self, words: str) -> None:
        """Have every window say something, also those that are opened later."""
        self.told.append(words)
        self.changes.add("told", words=words)

    @property
    def settings(self) -> Settings:
        return self.folder.settings

    @property
    def is_ready(self) -> bool:
        """Whether there is something to label, and with what."""
        return len(self.pool) > 0 and len(self.settings.fields) > 0

    def field_counts(self) -> Counter[str]:
        """How many sequences have each label."""
        return Counter(y for one in self.decisions.last.values() for y in {*(one.labels or ())} if y is not None)

    def labelled(self) -> tuple[list[Any], list[Labels], list[Decision]]:
        """What to learn from: tokens and labels of the sequences that have some, and the decisions."""
        with self.lock:
            some = [one for one in self.decisions.last.values() if one.is_labelled]
            return [one.cut(self.pool).tokens for one in some], [list(one.labels or ()) for one in some], some

    def is_open(self, number: int) -> bool:
        """Whether a sequence is still to be labelled: a note, or a few labels by a bulk change, do not close it."""
        found = self.decisions.last.get(number)
        return found is None or found.origin == "noted" or (found.origin == "applied" and not found.is_whole)

    def pool_fits(self, number: int, n: int) -> bool:
        """Whether a sequence has so many tokens."""
        return 0 <= number < len(self.pool) and len(self.pool.cut(number).tokens) == n

    def rulebook(self) -> Rulebook | None:
        """The rules, None while their text has an error."""
        try:
            return read_text(self.rules_text, self.folder.path)
        except SemistructError:
            return None

    def usable_rules(self) -> str:
        """The text of the rules to learn with: none of them if the text has an error, or names what is no field."""
        book = self.rulebook()
        try:
            return EMPTY if book is None or book.active(self.settings.names) is None else self.rules_text
        except SemistructError:
            return EMPTY

    def given(self, pool: int, seed: int = 0) -> dict[str, Any]:
        """What tasks are given: labels, so many sequences of the pool that are not labelled, and the rules."""
        X, y, _ = self.labelled()
        numbers = self.some_open(pool, seed)
        has_text = len(self.pool) > 0 and isinstance(self.pool.rows[0], str)
        return {
            "X": X, "y": y, "pool": [self.pool.cut(i).tokens for i in numbers], "numbers": numbers,
            "rules": self.usable_rules(), "folder": str(self.folder.path), "fields": self.settings.names,
            "tokens": self.settings.tokens if has_text else None,
        }  # fmt: skip

    def some_open(self, most: int, seed: int) -> list[int]:
        """Sequences that are still to be labelled, at random."""
        return self.pool.sample(most, {n for n in self.decisions.last if not self.is_open(n)}, seed)
