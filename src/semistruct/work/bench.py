"""The workbench: what can be done with a folder.  Everything that changes it is undoable, and told to all windows."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from semistruct.errors import DataError, ParameterError, meant, quoted
from semistruct.labels import OUTSIDE
from semistruct.work.decisions import Decision, now, without_labels
from semistruct.work.folder import HISTORY, LABELS, POOL, RULES, SETTINGS, Field, Folder, Settings
from semistruct.work.history import UNDONE, History, Step
from semistruct.work.importing import Found, sequences
from semistruct.work.pool import Pool, reading
from semistruct.work.rulebook import EMPTY, renamed
from semistruct.work.stock import Stock
from semistruct.work.trainer import Trainer
from semistruct.work.writing import Records, write_together

RESERVED = 300  # seconds for which a sequence that a window shows is not given to another


class Bench(Stock):
    """A folder that is open, and what can be done with it."""

    def __init__(self, folder: Folder, *, jobs: int | None = None) -> None:
        super().__init__(folder)
        self.history = History(folder.path / HISTORY)
        self.blind: set[int] = set()
        self._shown: dict[int, tuple[str, float]] = {}
        self._hindered = ""
        self.trainer = Trainer(self, jobs)
        for words in self.history.told:
            self.tell(words)

    def start(self) -> None:
        """Begin to learn in the background."""
        self.trainer.resume()

    def close(self) -> None:
        self.trainer.stop()
        with self.lock:
            self.decisions.tidy()
            self.folder.close()

    # ---- settings and pool

    def add_pool(self, found: Found, *, with_labels: bool) -> dict[str, Any]:
        """Add the sequences of a file; those that read like one that is there are not added again."""
        with self.lock:
            known, rows, numbers = self.pool.readings() if with_labels else {}, list[Any](), list[int]()
            for row, example in zip(found.rows, found.examples, strict=True):
                text = reading(Pool([row], self.pool.tokens).text(0)) if with_labels else None
                if text is not None and text in known:
                    numbers.append(known[text])
                    continue
                if text is not None and example.labels is not None:
                    known[text] = len(self.pool) + len(rows)
                numbers.append(len(self.pool) + len(rows))
                rows.append(row)
            pool = Pool([*self.pool.rows, *rows], self.pool.tokens)
            given, told = self._given(found, numbers, pool) if with_labels else ([], [])
            names = sorted({str(y) for one in given for y in one.labels or () if y not in (None, OUTSIDE)})
            settings = self.settings.with_names([*self.settings.names, *names])
            step = Step(f"{len(given)} labelled sequences taken from a file", self._before(given)) if given else None
            self._do(step, given, settings=settings, pool=pool)
            self.changes.add("pool", n=len(self.pool))
        return {"added": len(rows), "labelled": len(given), "told": [*found.told, *told]}

    def _given(self, found: Found, numbers: Sequence[int], pool: Pool) -> tuple[list[Decision], list[str]]:
        """Labels that a file gives, as decisions; and what is to be told of those that are not taken."""
        given, known, unlike = list[Decision](), 0, 0
        for number, example in zip(numbers, found.examples, strict=True):
            if example.labels is None:
                continue
            cut, offsets = pool.cut(number), None
            is_same = [*example.tokens] == cut.tokens
            if not is_same and example.offsets is not None and example.text == cut.text:
                offsets = tuple(example.offsets)
            if number in self.decisions.last:
                known += 1
            elif not is_same and offsets is None:
                unlike += 1
            else:
                given.append(Decision(number, tuple(example.labels), "given", offsets=offsets))
        told = [
            (known, "decided about before"),
            (unlike, "other tokens than the same text has in the pool"),
        ]
        return given, [f"labels of {sequences(n)} in the file left out: {words}" for n, words in told if n]

    # ---- fields

    def set_fields(self, names: list[str], tokens: str | None = None) -> None:
        """Name the fields, and say how text is cut.

        Fields in use cannot go in this way; text is cut in another way only before anything is labelled.
        """
        with self.lock:
            tokens = tokens or self.settings.tokens
            if tokens != self.settings.tokens and self.decisions.last:
                raise ParameterError("text cannot be cut in another way when some is labelled already")
            missing = [name for name in self.field_counts() if name not in names and name != OUTSIDE]
            if missing:
                raise ParameterError(f"the field {quoted(missing[0])} is in use; merge or remove it instead")
            self._do(None, [], settings=replace(self.settings.with_names(names), tokens=tokens))

    def field_use(self, name: str) -> dict[str, int]:
        """Where a field is used."""
        rows = [one.labels or () for one in self.decisions.last.values()]
        return {
            "sequences": sum(name in row for row in rows),
            "tokens": sum(y == name for row in rows for y in row),
            "rules": renamed(self.rules_text, name, name, self.folder.path)[1],
        }

    def rename_field(self, old: str, new: str | None) -> dict[str, int]:
        """Give a field another name, which may be that of another field; without a name its labels become unknown."""
        with self.lock:
            self.look_at_rules()
            field = self._field(old)
            use = self.field_use(old)
            names = [name if name != old else new for name in self.settings.names]
            kept = [name for k, name in enumerate(names) if name is not None and name not in names[:k]]
            fields = self.settings.with_names(kept)
            if new is not None and new not in self.settings.names:  # it keeps its key and colour
                same = tuple(replace(field, name=one.name) if one.name == new else one for one in fields.fields)
                fields = replace(fields, fields=same)
            text = self.rules_text if new is None else renamed(self.rules_text, old, new, self.folder.path)[0]
            changed = [
                replace(one, labels=tuple(new if y == old else y for y in one.labels), origin="renamed", time=now())
                for one in self.decisions.last.values()
                if one.labels is not None and old in one.labels
            ]
            words = f"field {old} {'removed' if new is None else 'renamed to ' + new}"
            self.record(changed, words, rules=text, fields=fields)
            return use

    def _field(self, name: str) -> Field:
        found = {one.name: one for one in self.settings.fields}
        if name not in found:
            raise ParameterError(f"there is no field {quoted(name)}; {meant(name, found)}")
        return found[name]

    # ---- decisions

    def decide(self, one: Decision, *, window: str = "", seen: int | None = None) -> dict[str, Any]:
        """Keep a decision; the last one wins, and whoever saw an older state is told."""
        with self.lock:
            self._check_number(one.number)
            one.check(len(one.cut(self.pool).tokens))
            for label in {*(one.labels or ())} - {None, OUTSIDE}:
                self._field(str(label))
            before = self.decisions.versions.get(one.number, 0)
            one = replace(one, blind=one.number in self.blind)
            if seen is not None and one.repeats(self.decisions.last.get(one.number)):
                return {"version": before, "overwrote": False}
            words = {"skipped": "skipped", "noted": "noted"}.get(one.origin, "labelled")
            self.record([one], f"sequence {one.number + 1} {words}", window=window)
            overwrote = seen is not None and seen < before
            if overwrote:
                self.changes.add("overwritten", number=one.number, window=window)
            return {"version": self.decisions.versions[one.number], "overwrote": overwrote}

    def record(
        self,
        made: Iterable[Decision],
        words: str,
        *,
        rules: str | None = None,
        fields: Settings | None = None,
        window: str = "",
    ) -> None:
        """Do one step: decisions, and perhaps other rules and fields, that can be undone together."""
        with self.lock:
            made = list(made)
            rules = None if rules == self.rules_text else rules
            old = None if fields is None else tuple(asdict(one) for one in self.settings.fields)
            step = Step(words, self._before(made), None if rules is None else self.rules_text, old)
            self._do(step, made, rules=rules, settings=fields, window=window)

    def _do(
        self,
        step: Step | None,
        made: list[Decision],
        *,
        rules: str | None = None,
        settings: Settings | None = None,
        pool: Pool | None = None,
        window: str = "",
        undo: bool = False,
    ) -> None:
        """Write everything that changes, and only then have it in memory: both stay as they were if that fails.

        step  what is done, or taken back with `undo`; None for what cannot be undone
        """
        home, texts = self.folder.path, dict[Path, str]()
        if pool is not None:
            texts[home / POOL] = pool.content()
        if settings is not None:
            texts[home / SETTINGS] = settings.content()
        if rules is not None and rules != self.folder.rules_text():
            texts[home / RULES] = rules
        lines = dict[Path, Records]()
        if made:
            lines[home / LABELS] = [one.record(pool or self.pool) for one in made]
        if step is not None:
            lines[home / HISTORY] = [UNDONE if undo else step.line()]
        write_together(texts, lines)
        if pool is not None:
            self.pool.rows = pool.rows
        if settings is not None:
            self._have_settings(settings)
        for one in made:
            self.decisions.count(one)
        if step is not None:
            if undo:
                self.history.steps.pop()
            else:
                self.history.steps.append(step)
            self._tell_of(made, f"undone: {step.words}" if undo else step.words, window)
        if rules is not None:
            self.rules_text = rules
            self.rules_version += 1
            self.changes.add("rules", version=self.rules_version)
        if step is not None:
            self.trainer.wish(rules=rules is not None)
        if settings is not None:
            self.trainer.look_for_first()

    def _have_settings(self, settings: Settings) -> None:
        if settings.tokens != self.pool.tokens:
            self.pool.tokens = settings.tokens
            self.proposals.clear()
        self.folder.settings = settings
        self.changes.add("fields")

    def _before(self, made: Iterable[Decision]) -> tuple[dict[str, Any], ...]:
        """The records of sequences as they are, before something else is decided about them."""
        last = self.decisions.last
        return tuple(
            last[one.number].record(self.pool) if one.number in last else {"id": one.number} for one in made
        )  # fmt: skip

    def _tell_of(self, made: list[Decision], words: str, window: str) -> None:
        numbers = [one.number for one in made]
        if len(numbers) == 1:
            self.changes.add("decided", number=numbers[0], window=window)
        elif numbers:
            self.changes.add("bulk", numbers=numbers[:1000], words=words, window=window)

    def undo(self) -> dict[str, Any]:
        """Take the last step back."""
        with self.lock:
            self.look_at_rules()
            if not self.history.steps:
                raise ParameterError("there is nothing to undo")
            step = self.history.steps[-1]
            made = [self._as_before(record) for record in step.before]
            settings = None
            if step.fields is not None:
                settings = replace(self.settings, fields=tuple(Field(**one) for one in step.fields))
            self._do(step, made, rules=step.rules, settings=settings, undo=True)
            return {"words": step.words, "numbers": [one.number for one in made], "left": len(self.history.steps)}

    def _as_before(self, record: dict[str, Any]) -> Decision:
        number = record["id"]
        if "meta" in record:
            return Decision.of(record, self.pool)
        return without_labels(self.decisions.last.get(number, Decision(number, None, "undone")), "undone")

    def _check_number(self, number: int) -> None:
        if not 0 <= number < len(self.pool):
            raise DataError(f"the pool has no sequence {number}; it has {len(self.pool)}")

    # ---- what comes next

    def next(self, window: str, shown: set[int]) -> dict[str, Any] | None:
        """The sequence to label next and why; None if nothing is left.  `shown` are on the page already."""
        with self.lock:
            moment = time.monotonic()
            elsewhere = {
                n for n, (who, when) in self._shown.items() if who != window and moment - when < RESERVED
            } | shown  # fmt: skip
            done = sum(one.is_labelled for one in self.decisions.last.values()) + sum(map(self.is_open, shown))
            turn = done % self.settings.blind_every == self.settings.blind_every - 1
            found = self._blind(elsewhere, done) if turn and self.model is not None else None
            found = found or self._queued(elsewhere) or self._any(elsewhere)
            if found is not None:
                self._shown[found["number"]] = window, moment
            return found

    def _queued(self, elsewhere: set[int]) -> dict[str, Any] | None:
        self.queue = [one for one in self.queue if self.is_open(one["number"])]
        if len(self.queue) < 5:
            self.trainer.look_for_first()
        return next(({**one, "blind": False} for one in self.queue if one["number"] not in elsewhere), None)

    def _blind(self, elsewhere: set[int], turn: int) -> dict[str, Any] | None:
        number = self._draw(elsewhere, turn)
        if number is None:
            return None
        self.blind.add(number)
        reason = "drawn at random and shown without proposals, so that the estimate of the accuracy stays honest"
        return {"number": number, "reason": reason, "blind": True}

    def _any(self, elsewhere: set[int]) -> dict[str, Any] | None:
        number = self._draw(elsewhere, 0)
        return None if number is None else {"number": number, "reason": "drawn at random", "blind": False}

    def _draw(self, elsewhere: set[int], seed: int) -> int | None:
        draw = random.Random(seed * 7919 + len(self.decisions.last))
        for _ in range(50):
            number = draw.randrange(len(self.pool)) if len(self.pool) else 0
            if number not in elsewhere and number < len(self.pool) and self.is_open(number):
                return number
        left = (i for i in range(len(self.pool)) if i not in elsewhere and self.is_open(i))
        return next(left, None)

    # ---- rules

    def look_at_rules(self) -> None:
        """Take the rules from their file if somebody has changed them there; that can be undone, as all else."""
        with self.lock:
            text = self.folder.rules_text()
            if text is not None and (text or EMPTY) != (self.rules_text or EMPTY):
                step = Step("rules.yaml changed in the folder", (), self.rules_text)
                self._do(step, [], rules=text or EMPTY)
                words = "rules.yaml was changed in the folder: its rules count now; undo brings those before back"
                self.changes.add("told", words=words)

    def notice_rules(self) -> None:
        """The same again and again: what stands in its way is told once."""
        try:
            self.look_at_rules()
        except DataError as err:
            if str(err) != self._hindered:
                self.changes.add("told", words=str(err))
            self._hindered = str(err)

    def set_rules(self, text: str, words: str = "rules changed") -> None:
        """Keep the text of the rules, which may have errors; what is learned uses the last text without."""
        with self.lock:
            self.look_at_rules()
            text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")  # as it is read
            if text != self.rules_text:
                self.record([], words, rules=text)


def open_bench(path: Path, *, jobs: int | None = None) -> Bench:
    """The workbench on a folder; it is closed again if it cannot be read."""
    folder = Folder.open(path)
    try:
        return Bench(folder, jobs=jobs)
    except BaseException:
        folder.close()
        raise
