"""What the page is shown: a sequence, a list of sequences, the state of everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from semistruct.corpus import Labels
from semistruct.errors import ParameterError, meant, quoted
from semistruct.work.bench import Bench
from semistruct.work.decisions import Decision
from semistruct.work.proposals import DOUBTFUL, SURE, Proposal

STATES = ("all", "open", "labelled", "skipped", "noted", "unsure", "breaks", "differs")
SNIPPET = 160  # characters of a text in a list


def sequence(bench: Bench, number: int, *, reason: str = "", blind: bool = False) -> dict[str, Any]:
    """One sequence with its labels: those that were decided, and proposed ones for the rest unless it is blind."""
    with bench.lock:
        made, proposal = bench.decisions.last.get(number), bench.proposals.get(number)
        blind = blind or (number in bench.blind and bench.is_open(number))
        cut = bench.pool.cut(number) if made is None else made.cut(bench.pool)
        n = len(cut.tokens)
        labels: Labels = list(made.labels) if made is not None and made.labels is not None else [None] * n
        state = ["blank" if label is None else "confirmed" for label in labels]
        for t in made.unknown if made is not None else ():
            state[t] = "unknown"
        fits = proposal is not None and len(proposal.codes) == n and not blind
        if proposal is not None and fits and bench.is_open(number):
            for t, label in enumerate(proposal.labels):
                if state[t] == "blank":
                    labels[t], state[t] = label, "guessed"
        return {
            "number": number, "text": cut.text, "words": cut.words, "offsets": cut.offsets,
            "joined": _joined(cut.text, cut.offsets), "labels": labels, "state": state,
            "proposed": proposal.labels if proposal is not None and fits else None,
            "confidence": [round(c, 2) for c in proposal.confidence] if proposal is not None and fits else None,
            "model": proposal.model if proposal is not None and fits else None,
            "broken": list(proposal.broken) if proposal is not None and fits else [],
            "kind": _kind(bench, made), "note": made.note if made is not None else "", "reason": reason, "blind": blind,
            "version": bench.decisions.versions.get(number, 0), "can_split": isinstance(cut.tokens[0], str),
        }  # fmt: skip


def _joined(text: str, offsets: list[tuple[int, int]]) -> list[bool]:
    """For each token, whether it touches the one before it."""
    return [k > 0 and offsets[k - 1][1] == a for k, (a, _) in enumerate(offsets)]


def _kind(bench: Bench, made: Decision | None) -> str:
    if made is None or bench.is_open(made.number):
        return "open"
    return "skipped" if made.labels is None else "labelled"


def listing(
    bench: Bench, *, words: str = "", field: str = "", state: str = "all", offset: int = 0, limit: int = 50
) -> dict[str, Any]:
    """Sequences that pass all filters, some at a time."""
    if state not in STATES:
        raise ParameterError(f"there is no filter {quoted(state)}; {meant(state, STATES)}")
    with bench.lock:
        numbers = list(_filtered(bench, words.strip(), field, state))
        rows = [_row(bench, number) for number in numbers[offset : offset + limit]]
        return {"rows": rows, "n": len(numbers), "of": len(bench.pool), "looked_at": len(bench.proposals.found)}


def _filtered(bench: Bench, words: str, field: str, state: str) -> Iterator[int]:
    last, proposals = bench.decisions.last, bench.proposals.found
    has_words = bench.pool.matching(words) if words else None
    candidates: Any = range(len(bench.pool))
    if state == "all" and not field:
        yield from candidates if has_words is None else (n for n in candidates if has_words[n])
        return
    if state in ("labelled", "skipped", "noted", "differs"):
        candidates = sorted(last)
    elif state in ("unsure", "breaks"):
        candidates = sorted(proposals, key=lambda n: proposals[n].least) if state == "unsure" else sorted(proposals)
    for number in candidates:
        if has_words is not None and not has_words[number]:
            continue
        made, proposal = last.get(number), proposals.get(number)
        if field and field not in _labels(made, proposal):
            continue
        if _passes(bench, number, made, proposal, state):
            yield number


def _passes(bench: Bench, number: int, made: Decision | None, proposal: Proposal | None, state: str) -> bool:
    if state == "open":
        return bench.is_open(number)
    if state == "labelled":
        return made is not None and made.is_labelled
    if state == "skipped":
        return made is not None and made.origin == "skipped"
    if state == "noted":
        return made is not None and bool(made.note)
    if state == "unsure":
        return proposal is not None and proposal.least < SURE and bench.is_open(number)
    if state == "breaks":
        return proposal is not None and bool(proposal.broken) and bench.is_open(number)
    if state == "differs":
        return made is not None and proposal is not None and differences(made, proposal) > 0
    return True


def differences(made: Decision, proposal: Proposal) -> int:
    """How many labels of a person the model would give otherwise."""
    if made.labels is None or len(made.labels) != len(proposal.codes):
        return 0
    return sum(a is not None and a != b for a, b in zip(made.labels, proposal.labels, strict=True))


def _labels(made: Decision | None, proposal: Proposal | None) -> set[Any]:
    if made is not None and made.labels is not None:
        return set(made.labels)
    return set() if proposal is None else {proposal.names[code] for code in set(proposal.codes)}


def _row(bench: Bench, number: int) -> dict[str, Any]:
    made, proposal, text = bench.decisions.last.get(number), bench.proposals.get(number), bench.pool.text(number)
    return {
        "number": number, "text": text if len(text) <= SNIPPET else text[:SNIPPET] + "…", "kind": _kind(bench, made),
        "sure": None if proposal is None else round(proposal.least, 2), "note": made.note if made else "",
        "differs": differences(made, proposal) if made is not None and proposal is not None else 0,
    }  # fmt: skip


def status(bench: Bench) -> dict[str, Any]:
    """Everything that the frame of the page shows."""
    with bench.lock:
        last, trainer, model = bench.decisions.last.values(), bench.trainer, bench.model
        labelled, counts = [one for one in last if one.is_labelled], bench.field_counts()
        return {
            "id": bench.settings.id, "folder": str(bench.folder.path), "ready": bench.is_ready, "pool": len(bench.pool),
            "labelled": len(labelled), "skipped": sum(one.origin == "skipped" for one in last),
            "blind": sum(one.blind for one in labelled),
            "actions": sum(one.actions for one in labelled if one.actions),
            "acted": sum(one.actions > 0 for one in labelled),
            "fields": [
                {"name": one.name, "key": one.key, "colour": one.colour, "n": counts[one.name]}
                for one in bench.settings.fields
            ],
            "tokens": bench.settings.tokens, "train_every": bench.settings.train_every,
            "model": None if model is None else {
                "name": model.name, "labelled": model.about["labelled"], "time": model.about["time"],
                "seconds": model.about["seconds"], "said": model.about["said"],
            },
            "training": trainer.status, "insights": trainer.insights.status, "swept": trainer.sweep.done,
            "rules_version": bench.rules_version,
            "undo": bench.history.steps[-1].words if bench.history.steps else None,
            "doubtful": DOUBTFUL, "sure": SURE, "change": bench.changes.now, "told": bench.told,
        }  # fmt: skip
