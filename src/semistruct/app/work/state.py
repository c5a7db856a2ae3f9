"""What a workbench has in memory: pool, labels, rules, proposals and the newest model."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from threading import RLock
from typing import Any

from semistruct.app.work.folder import HISTORY, LABELS, SETTINGS, Folder, Settings
from semistruct.app.work.labels import Decisions, read_steps
from semistruct.app.work.limits import RECENT_CHANGES
from semistruct.app.work.messages import Change, ChangeKind
from semistruct.app.work.pool import Pool, read_pool
from semistruct.app.work.proposals import Proposal, Queue
from semistruct.app.work.rules_text import EMPTY, read_text
from semistruct.app.work.tasks import Material, Model, Sample
from semistruct.base.errors import DataError, SemistructError, some_of
from semistruct.data.labels import OUTSIDE
from semistruct.data.tokens import WHITESPACE


class ChangeLog:
    """The last changes, counted from 1, so that every window hears of them."""

    def __init__(self) -> None:
        self.now = 0
        self._recent: deque[Change] = deque(maxlen=RECENT_CHANGES)

    def add(self, kind: ChangeKind, **about: Any) -> None:
        self.now += 1
        self._recent.append(Change(n=self.now, kind=kind, **about))

    def since(self, n: int) -> list[Change]:
        return [change for change in self._recent if change.n > n]


class State:
    """The contents of a folder; one call at a time (`lock`).

    steps        that can be undone, the last one first to go
    notices      sentences for every window, also for those that are opened later
    proposals    the newest for each sequence, by its number
    is_learning  whether a model is being learned
    """

    def __init__(self, folder: Folder) -> None:
        self.folder, self.lock, self.changes = folder, RLock(), ChangeLog()
        path = folder.pool_file()
        self.pool = Pool(tokens=folder.settings.tokens) if path is None else read_pool(path, folder.settings.tokens)
        self.notices: list[str] = []
        self.decisions = self._read_decisions()
        self.steps, notices = read_steps(folder.path / HISTORY)
        for words in [*self.decisions.notices, *notices]:
            self.notify(words)
        self._adopt_strange_labels()
        self.rules_text = folder.rules_text() or EMPTY
        self.rules_version = 1
        self.proposals: dict[int, Proposal] = {}
        self.queue = Queue(self.decisions)
        self.model: Model | None = None
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

    def _adopt_strange_labels(self) -> None:
        """Labels that are no fields become fields: settings were lost, or labels edited elsewhere; say so."""
        had, names = self.folder.has_settings, self.settings.names
        strangers = sorted(name for name in self.field_counts() if name not in [*names, OUTSIDE])
        if not strangers and (had or not (self.decisions.last or self.folder.models())):
            return
        seen = f"{LABELS} has labels that are no fields: {some_of(strangers)}" if had else f"{SETTINGS} is gone"
        try:
            self.folder.save_settings(self.settings.with_names([*names, *strangers]))
        except SemistructError as err:
            self.notify(f"{seen}; they cannot become fields: {err}")
        else:
            self.notify(f"{seen}; they are fields now" if had else f"{seen}; the fields are those of the labels")

    def notify(self, words: str) -> None:
        """Have every window say something, also those that are opened later."""
        self.notices.append(words)
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

    def usable_rules(self) -> str:
        """The text of the rules to learn with: none of them if the text has an error, or names what is no field."""
        try:
            read_text(self.rules_text, self.folder.path).active(self.settings.names)
        except SemistructError:
            return EMPTY
        return self.rules_text

    def material(self, most: int, seed: int = 0, *, whole: bool = False) -> Material:
        """What there is to learn from, with so many sequences of the pool.

        whole  leave out sequences of which not all labels are known
        """
        with self.lock:
            decisions = [one for one in self.decisions.labelled() if not whole or None not in (one.labels or ())]
            return Material(
                [one.cut(self.pool).tokens for one in decisions], [list(one.labels or ()) for one in decisions],
                [one.number for one in decisions], self.sample(most, seed), self.usable_rules(), self.folder.path,
                self.settings.names,
            )  # fmt: skip

    def sample(self, most: int, seed: int) -> Sample:
        """Sequences that are still to be labelled, at random."""
        numbers = self.pool.sample(most, {n for n in self.decisions.last if not self.decisions.is_open(n)}, seed)
        return Sample(numbers, [self.pool.cut(i).tokens for i in numbers])
