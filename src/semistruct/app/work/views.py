"""What the page is shown: a sequence, a list of sequences, places that read the same, the state of everything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import Annotated

from fastapi import Query

from semistruct.app.work import messages
from semistruct.app.work.bench import Bench
from semistruct.app.work.folder import Record
from semistruct.app.work.labels import Decision
from semistruct.app.work.limits import CONTEXT, DOUBTFUL, LIKE_THIS, SNIPPET, SURE
from semistruct.app.work.messages import Filter, Labels, SequenceView
from semistruct.app.work.pool import Pool
from semistruct.app.work.proposals import Proposal, Turn
from semistruct.data.tokens import checked_tokens


class Views:
    """Views of a workbench; each public method is the answer of a route."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    # ---- the state of everything

    def status(self) -> messages.Status:
        """What there is, and what is being done."""
        bench = self.bench
        with bench.lock:
            labelled, counts = bench.decisions.labelled(), bench.field_counts()
            settings, trainer, model, steps = bench.settings, bench.trainer, bench.model, bench.steps
            return messages.Status(
                id=settings.id, folder=str(bench.folder.path), ready=bench.is_ready, pool=len(bench.pool),
                labelled=len(labelled), skipped=sum(one.origin == "skipped" for one in bench.decisions.last.values()),
                blind=sum(one.blind for one in labelled), actions=sum(one.actions for one in labelled),
                acted=sum(one.actions > 0 for one in labelled),
                fields=[messages.FieldStatus(**asdict(field), n=counts[field.name]) for field in settings.fields],
                tokens=settings.tokens, train_every=settings.train_every,
                model=None if model is None else messages.ModelStatus(name=model.name, **vars(model.record)),
                training=trainer.status, insights=trainer.insights.status, swept=trainer.sweep.done,
                rules_version=bench.rules_version, undo=steps[-1].words if steps else None,
                doubtful=DOUBTFUL, sure=SURE, change=bench.changes.now, told=bench.notices,
            )  # fmt: skip

    def changes(self, since: int = 0) -> messages.Changes:
        """What has happened since a change, and the state now."""
        self.bench.poll_rules()
        return messages.Changes(changes=self.bench.changes.since(since), status=self.status())

    # ---- one sequence

    def sequence(self, number: int) -> SequenceView:
        """One sequence, with its labels or those proposed."""
        self.bench.pool.check_number(number)
        if self.bench.decisions.is_open(number):
            self.bench.trainer.sweep.label(number)
        return self._sequence(Turn(number, ""))

    def next_sequence(self, window: str = "", shown: str = "") -> dict[str, SequenceView | None]:
        """The sequence that is most worth labelling next; `shown` are on the page already."""
        on_page = {int(part) for part in shown.split(",") if part.isdecimal() and len(part) < 10}
        turn = self.bench.next(window, on_page)
        return {"sequence": None if turn is None else self._sequence(turn)}

    def _sequence(self, turn: Turn) -> SequenceView:
        """A sequence with the labels that were decided, and proposed ones for the rest unless it is blind."""
        bench, number = self.bench, turn.number
        with bench.lock:
            decision, is_open = bench.decisions.last.get(number), bench.decisions.is_open(number)
            cut, blind = bench.decisions.cut(number), turn.blind or (number in bench.queue.blind and is_open)
            labels = _decided(decision) or [None] * len(cut.tokens)
            view = SequenceView(
                number=number, text=cut.text, words=cut.words, offsets=cut.offsets, labels=labels,
                joined=[k > 0 and cut.offsets[k - 1][1] == start for k, (start, _) in enumerate(cut.offsets)],
                state=["blank" if label is None else "confirmed" for label in labels], kind=self._kind(number),
                note="" if decision is None else decision.note, reason=turn.reason, blind=blind,
                version=bench.decisions.versions.get(number, 0), can_split=isinstance(cut.tokens[0], str),
            )  # fmt: skip
            for t in () if decision is None else decision.unknown:
                view.state[t] = "unknown"
            proposal = bench.proposals.get(number)
            if proposal is not None and len(proposal.codes) == len(cut.tokens) and not blind:
                _fill_in(view, proposal, is_open)
            return view

    def _kind(self, number: int) -> messages.SequenceKind:
        if self.bench.decisions.is_open(number):
            return "open"
        return "skipped" if self.bench.decisions.last[number].labels is None else "labelled"

    def cut(self, tokens: str) -> dict[str, list[str]]:
        """How the first sequence would be cut into tokens."""
        self.bench.pool.check_number(0)
        return {"words": Pool([self.bench.pool.rows[0]], checked_tokens(tokens)).cut(0).words[:30]}

    # ---- many sequences

    def labels(self) -> dict[str, list[Record]]:
        """All decisions, as they stand in the file."""
        with self.bench.lock:
            return {"labels": [one.record(self.bench.pool) for one in self.bench.decisions.last.values()]}

    def listing(
        self,
        words: str = "",
        field: str = "",
        state: Filter = "all",
        offset: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(le=500)] = 50,
    ) -> messages.Listing:
        """Search the pool: sequences that pass all filters, some at a time."""
        with self.bench.lock:
            numbers = list(self._filtered(words.strip(), field, state))
            rows = [self._row(number) for number in numbers[offset : offset + limit]]
            n, looked_at = len(self.bench.pool), len(self.bench.proposals)
            return messages.Listing(rows=rows, n=len(numbers), of=n, looked_at=looked_at)

    def _filtered(self, words: str, field: str, state: Filter) -> Iterator[int]:
        last, proposals = self.bench.decisions.last, self.bench.proposals
        has_words = self.bench.pool.matching(words) if words else None
        numbers: range | list[int] = range(len(self.bench.pool))
        if state in ("labelled", "skipped", "noted", "differs"):
            numbers = sorted(last)
        elif state in ("unsure", "breaks"):
            numbers = sorted(proposals, key=lambda n: (proposals[n].least if state == "unsure" else 0.0, n))
        for n in numbers:
            decision, proposal = last.get(n), proposals.get(n)
            if has_words is not None and not has_words[n]:
                continue
            if field and field not in (_decided(decision) or ([] if proposal is None else proposal.labels)):
                continue
            if self._passes(n, decision, proposal, state):
                yield n

    def _passes(self, number: int, decision: Decision | None, proposal: Proposal | None, state: Filter) -> bool:
        is_open = self.bench.decisions.is_open(number)
        if decision is not None and state in ("labelled", "skipped", "noted"):
            by_person = {"labelled": decision.is_labelled, "skipped": decision.origin == "skipped"}
            return by_person.get(state, bool(decision.note))
        if proposal is not None and state in ("unsure", "breaks"):
            return is_open and (proposal.least < SURE if state == "unsure" else bool(proposal.broken))
        if state == "differs":
            return _differences(decision, proposal) > 0
        return state == "all" or (state == "open" and is_open)

    def _row(self, number: int) -> messages.SequenceRow:
        decision, proposal = self.bench.decisions.last.get(number), self.bench.proposals.get(number)
        text = self.bench.pool.text(number)
        return messages.SequenceRow(
            number=number, text=text if len(text) <= SNIPPET else text[:SNIPPET] + "…", kind=self._kind(number),
            sure=None if proposal is None else round(proposal.least, 2), note=decision.note if decision else "",
            differs=_differences(decision, proposal),
        )  # fmt: skip

    def like(self, run: messages.TokenRun) -> messages.Like:
        """All places that read like a run of tokens."""
        with self.bench.lock:
            words = self.bench.tokens_in(run)
            phrase = [word.casefold() for word in words]
            has_words = zip(*(self.bench.pool.matching(word) for word in {*phrase}), strict=True)
            numbers = (n for n, has_word in enumerate(has_words) if all(has_word))
            places = list(islice((place for n in numbers for place in self._places(n, phrase)), LIKE_THIS + 1))
            more, places = len(places) > LIKE_THIS, places[:LIKE_THIS]
            return messages.Like(words=words, n=len(places), more=more, places=places)

    def _places(self, number: int, phrase: list[str]) -> Iterator[messages.LikePlace]:
        words, proposal = self.bench.decisions.cut(number).words, self.bench.proposals.get(number)
        folded = [word.casefold() for word in words]
        decided = _decided(self.bench.decisions.last.get(number))
        labels = decided or ([None] * len(words) if proposal is None else [*proposal.labels])
        for start in range(len(words) - len(phrase) + 1):
            end = start + len(phrase)
            if folded[start:end] == phrase:
                yield messages.LikePlace(
                    number=number, start=start, end=end, before=words[max(0, start - CONTEXT) : start],
                    words=words[start:end], after=words[end : end + CONTEXT], labels=labels[start:end],
                    confirmed=decided is not None,
                )  # fmt: skip


def _decided(decision: Decision | None) -> Labels | None:
    """The labels that a person has given."""
    return None if decision is None or decision.labels is None else list(decision.labels)


def _fill_in(view: SequenceView, proposal: Proposal, is_open: bool) -> None:
    """Show what a model proposes."""
    view.proposed, view.model, view.broken = proposal.labels, proposal.model, list(proposal.broken)
    view.confidence = [round(value, 2) for value in proposal.confidence]
    for t, label in enumerate(view.proposed):
        if is_open and view.state[t] == "blank":
            view.labels[t], view.state[t] = label, "guessed"


def _differences(decision: Decision | None, proposal: Proposal | None) -> int:
    """How many labels of a person the model would give otherwise."""
    labels = _decided(decision)
    if labels is None or proposal is None or len(labels) != len(proposal.codes):
        return 0
    return sum(a is not None and a != b for a, b in zip(labels, proposal.labels, strict=True))
