"""The workbench: what can be done with a folder.  Everything that changes it is undoable, and told to all windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from fastapi import Body

from semistruct.app.work import tasks
from semistruct.app.work.folder import (
    HISTORY,
    LABELS,
    POOL,
    RULES,
    SETTINGS,
    Field,
    Folder,
    Record,
    Settings,
    write_together,
)
from semistruct.app.work.labels import UNDONE, Decision, Step, now
from semistruct.app.work.messages import Added, Decided, FieldUse, TokenRun, Undone
from semistruct.app.work.pool import Pool, Upload, counted, reading
from semistruct.app.work.proposals import Turn
from semistruct.app.work.rules_text import EMPTY, renamed
from semistruct.app.work.state import State
from semistruct.app.work.tasks import Prediction, Rows
from semistruct.app.work.training import Trainer
from semistruct.app.work.worker import WorkError
from semistruct.base.errors import DataError, ParameterError, meant, quoted
from semistruct.base.files import reason
from semistruct.data.corpus import Example
from semistruct.data.datasets import make_citations
from semistruct.data.labels import OUTSIDE
from semistruct.rules.files import SHIPPED, read_rules, shipped

DEMO_FIELDS = ["author", "title", "booktitle", "journal", "date", "volume", "pages", "publisher", "location"]


@dataclass(frozen=True)
class Edit:
    """What a step changes; None for what stays as it is.

    words  what the step is called; None if it cannot be undone
    """

    words: str | None
    decisions: Sequence[Decision] = ()
    rules: str | None = None
    settings: Settings | None = None
    pool: Pool | None = None
    window: str = ""


class Bench(State):
    """A folder that is open, and what can be done with it."""

    def __init__(self, folder: Folder, *, jobs: int | None = None) -> None:
        super().__init__(folder)
        self.trainer = Trainer(self, jobs)
        self._rules_problem = ""

    def close(self) -> None:
        self.trainer.stop()
        with self.lock:
            self.decisions.tidy()
            self.folder.close()

    # ---- steps

    def edit(self, edit: Edit) -> None:
        """Do one step, which can be undone as a whole."""
        with self.lock:
            if edit.rules == self.rules_text:
                edit = replace(edit, rules=None)
            step, last = None, self.decisions.last
            if edit.words is not None:
                before = [last[n].record(self.pool) if n in last else {"id": n} for n in _numbers(edit)]
                rules = None if edit.rules is None else self.rules_text
                fields = None if edit.settings is None else self.settings.fields
                step = Step(edit.words, tuple(before), rules, fields)
            self._apply(edit, step)

    def undo(self) -> Undone:
        """Take the last step back."""
        with self.lock:
            self.look_at_rules()
            if not self.steps:
                raise ParameterError("there is nothing to undo")
            step = self.steps[-1]
            decisions = [self._as_before(record) for record in step.before]
            settings = None if step.fields is None else replace(self.settings, fields=step.fields)
            self._apply(Edit(f"undone: {step.words}", decisions, step.rules, settings), step, undo=True)
            numbers = [decision.number for decision in decisions]
            return Undone(words=step.words, numbers=numbers, left=len(self.steps))

    def _as_before(self, record: Record) -> Decision:
        if "meta" in record:
            return Decision.of(record, self.pool)
        number = record["id"]
        return self.decisions.last.get(number, Decision(number, None, "undone")).without_labels("undone")

    def _apply(self, edit: Edit, step: Step | None, *, undo: bool = False) -> None:
        """Write everything that changes, and only then have it in memory: both stay as they were if that fails."""
        home, texts, lines = self.folder.path, dict[Path, str](), dict[Path, Sequence[Record]]()
        if edit.pool is not None:
            texts[home / POOL] = edit.pool.content()
        if edit.settings is not None:
            texts[home / SETTINGS] = edit.settings.content()
        if edit.rules is not None and edit.rules != self.folder.rules_text():
            texts[home / RULES] = edit.rules
        if edit.decisions:
            lines[home / LABELS] = [decision.record(edit.pool or self.pool) for decision in edit.decisions]
        if step is not None:
            lines[home / HISTORY] = [UNDONE if undo else step.line()]
        write_together(texts, lines)
        self._remember(edit)
        if step is not None:
            if undo:
                self.steps.pop()
            else:
                self.steps.append(step)
            self.trainer.train_if_due(rules=edit.rules is not None)
        if edit.settings is not None:
            self.trainer.pick_more()

    def _remember(self, edit: Edit) -> None:
        """Have in memory what is on the disk, and tell all windows."""
        if edit.pool is not None:
            self.pool.rows = edit.pool.rows
            self.changes.add("pool")
        if edit.settings is not None:
            if edit.settings.tokens != self.pool.tokens:
                self.pool.tokens = edit.settings.tokens
                self.proposals.clear()
            self.folder.settings = edit.settings
            self.changes.add("fields")
        for decision in edit.decisions:
            self.decisions.add(decision)
        numbers = _numbers(edit)
        if len(numbers) == 1:
            self.changes.add("decided", number=numbers[0], window=edit.window)
        elif numbers:
            self.changes.add("bulk", numbers=numbers, words=edit.words, window=edit.window)
        if edit.rules is not None:
            self.rules_text = edit.rules
            self.rules_version += 1
            self.changes.add("rules")

    # ---- pool

    def add_pool(self, upload: Upload, *, with_labels: bool) -> Added:
        """Add the sequences of a file, with its labels; a labelled one that reads like one in the pool adds none."""
        with self.lock:
            known, rows, numbers = self.pool.readings() if with_labels else {}, list(self.pool.rows), list[int]()
            for row, example in zip(upload.rows, upload.examples, strict=True):
                text = reading(Pool([row]).text(0)) if with_labels else ""
                number = known.get(text, len(rows))
                numbers.append(number)
                if number == len(rows):
                    rows.append(row)
                    if with_labels and example.labels is not None:
                        known[text] = number
            pool = Pool(rows, self.pool.tokens)
            given, notices = self._labels_given(upload.examples, numbers, pool) if with_labels else ([], [])
            names = sorted({str(y) for one in given for y in one.labels or () if y not in (None, OUTSIDE)})
            settings = self.settings.with_names([*self.settings.names, *names])
            words = f"{len(given)} labelled sequences taken from a file" if given else None
            added = len(rows) - len(self.pool)
            self.edit(Edit(words, given, settings=settings, pool=pool))
        return Added(added=added, labelled=len(given), told=[*upload.notices, *notices])

    def _labels_given(
        self, examples: Sequence[Example], numbers: Sequence[int], pool: Pool
    ) -> tuple[list[Decision], list[str]]:
        """Labels that a file gives, as decisions; and notices about those that are not taken."""
        given, known, unlike = list[Decision](), 0, 0
        for number, example in zip(numbers, examples, strict=True):
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
        reasons = ((known, "decided about before"), (unlike, "other tokens than the same text has in the pool"))
        return given, [f"labels of {counted(n, 'sequence')} in the file left out: {words}" for n, words in reasons if n]

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
            self.edit(Edit(None, settings=replace(self.settings.with_names(names), tokens=tokens)))

    def field_use(self, name: str) -> FieldUse:
        """Where a field is used."""
        rows = [decision.labels or () for decision in self.decisions.last.values()]
        return FieldUse(
            sequences=sum(name in row for row in rows),
            tokens=sum(row.count(name) for row in rows),
            rules=renamed(self.rules_text, name, name, self.folder.path)[1],
        )

    def rename_field(self, old: Annotated[str, Body()], new: Annotated[str | None, Body()] = None) -> FieldUse:
        """Give a field another name, which may be that of another field; without a name its labels become unknown."""
        with self.lock:
            self.look_at_rules()
            field, use = self._field(old), self.field_use(old)
            names = [new if name == old else name for name in self.settings.names]
            settings = self.settings.with_names(list(dict.fromkeys(name for name in names if name is not None)))
            if new is not None and new not in self.settings.names:  # it keeps its key and colour
                same = tuple(replace(field, name=one.name) if one.name == new else one for one in settings.fields)
                settings = replace(settings, fields=same)
            text = self.rules_text if new is None else renamed(self.rules_text, old, new, self.folder.path)[0]
            changed = [
                replace(one, labels=tuple(new if y == old else y for y in one.labels), origin="renamed", time=now())
                for one in self.decisions.last.values()
                if one.labels is not None and old in one.labels
            ]
            words = f"field {old} {'removed' if new is None else 'renamed to ' + new}"
            self.edit(Edit(words, changed, text, settings))
            return use

    def _field(self, name: str) -> Field:
        fields = {field.name: field for field in self.settings.fields}
        if name not in fields:
            raise ParameterError(f"there is no field {quoted(name)}; {meant(name, fields)}")
        return fields[name]

    # ---- labels

    def next(self, window: str, shown: set[int]) -> Turn | None:
        """The sequence to label next; None if nothing is left.  `shown` are on the page already."""
        with self.lock:
            turn = self.queue.next(window, shown, None if self.model is None else self.settings.blind_every)
            if len(self.queue.waiting) < 5:
                self.trainer.pick_more()
            return turn

    def decide(self, decision: Decision, *, window: str = "", seen: int | None = None) -> Decided:
        """Keep a decision; the last one wins, and whoever saw an older state is told."""
        with self.lock:
            number = decision.number
            self.pool.check_number(number)
            decision.check(self.pool)
            for label in {*(decision.labels or ())} - {None, OUTSIDE}:
                self._field(str(label))
            before = self.decisions.versions.get(number, 0)
            decision = replace(decision, blind=number in self.queue.blind)
            if seen is not None and decision.repeats(self.decisions.last.get(number)):
                return Decided(version=before, overwrote=False)
            verb = decision.origin if decision.origin in ("skipped", "noted") else "labelled"
            self.edit(Edit(f"sequence {number + 1} {verb}", [decision], window=window))
            return Decided(version=before + 1, overwrote=seen is not None and seen < before)

    def tokens_in(self, run: TokenRun) -> list[str]:
        """The words of a run of tokens; refuses one that is not there."""
        self.pool.check_number(run.number)
        words = self.decisions.cut(run.number).words
        if not 0 <= run.start < run.end <= len(words):
            raise DataError(f"sequence {run.number} has no tokens {run.start} to {run.end}")
        return words[run.start : run.end]

    def label_places(self, places: Annotated[list[TokenRun], Body()], label: Annotated[str, Body()]) -> dict[str, int]:
        """Give one label to many places, in one step; other labels stay as they are."""
        with self.lock:
            if label != OUTSIDE:
                self._field(label)
            decisions = dict[int, Decision]()
            for place in places:
                self.tokens_in(place)
                number, run = place.number, range(place.start, place.end)
                new = Decision(number, None, "applied")
                one = decisions.get(number) or self.decisions.last.get(number) or new
                before = one.labels or (None,) * len(one.cut(self.pool).tokens)
                labels = tuple(label if t in run else y for t, y in enumerate(before))
                unknown = tuple(t for t in one.unknown if t not in run)
                is_new = one.labels is None or self.decisions.is_open(number)
                decisions[number] = replace(
                    one, labels=labels, unknown=unknown, origin="applied" if is_new else "changed", time=now()
                )  # fmt: skip
            self.edit(Edit(f"{label} at {len(places)} places", list(decisions.values())))
            return {"places": len(places)}

    def label(self, X: Rows) -> list[Prediction]:
        """Labels by the newest model."""
        if self.model is None:
            raise WorkError("there is no model yet: label some sequences first")
        return self.trainer.labeller.answer(tasks.label, (self.model.path, X))

    # ---- rules

    def look_at_rules(self) -> None:
        """Take the rules from their file if somebody has changed them there; that can be undone, as all else."""
        with self.lock:
            text = self.folder.rules_text()
            if text is not None and (text or EMPTY) != (self.rules_text or EMPTY):
                self.edit(Edit("rules.yaml changed in the folder", rules=text or EMPTY))
                words = "rules.yaml was changed in the folder: its rules count now; undo brings those before back"
                self.changes.add("told", words=words)

    def poll_rules(self) -> None:
        """Look at the rules again and again: what stands in the way is told once."""
        try:
            self.look_at_rules()
        except DataError as err:
            if str(err) != self._rules_problem:
                self.changes.add("told", words=str(err))
            self._rules_problem = str(err)

    def set_rules(self, text: str, words: str = "rules changed") -> None:
        """Keep the text of the rules, which may have errors; while it has, models are learned without rules."""
        with self.lock:
            self.look_at_rules()
            text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")  # as it is read
            if text != self.rules_text:
                self.edit(Edit(words, rules=text))


def _numbers(edit: Edit) -> list[int]:
    return [decision.number for decision in edit.decisions]


def start_demo(bench: Bench, n: int = 400) -> bool:
    """Synthetic references without labels, and their fields; nothing, and False, if there is a pool."""
    if len(bench.pool):
        return False
    made = make_citations(n, seed=20)
    examples = [example for example in made.examples if example.text is not None]
    bench.add_pool(Upload(examples), with_labels=False)
    names = [name for name in DEMO_FIELDS if name in made.label_set]
    bench.set_fields([*names, *(name for name in made.label_set if name not in [*names, OUTSIDE])])
    return True


def take_rules(bench: Bench, name: str) -> bool:
    """Begin with the rules of a file, whose labels become fields; nothing, and False, if the folder has rules."""
    if bench.rules_text != EMPTY:
        return False
    listed = read_rules(name)
    try:
        ours = name in shipped() and not Path(name).is_file()
        text = (SHIPPED / f"{name}.yaml").read_text("utf-8") if ours else Path(name).read_text("utf-8-sig")
    except OSError as err:
        raise DataError.at(name, None, f"cannot read: {reason(err)}") from None
    named = listed.labels or sorted({label for rule in listed.rules for label in rule.all_mentioned()})
    fields = bench.settings.names
    bench.set_fields([*fields, *(label for label in named if label not in [*fields, OUTSIDE])])
    bench.set_rules(text, f"rules taken from {name}")
    return True


def open_bench(path: Path, *, jobs: int | None = None) -> Bench:
    """The workbench on a folder; it is closed again if it cannot be read."""
    folder = Folder.open(path)
    try:
        return Bench(folder, jobs=jobs)
    except BaseException:
        folder.close()
        raise
