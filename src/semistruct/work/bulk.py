"""The same label at all places that read the same: found, looked through, and given in one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from semistruct.errors import DataError
from semistruct.work.bench import Bench
from semistruct.work.decisions import Decision, now
from semistruct.work.pool import Cut

SHOWN, SEARCHED = 200, 3000  # places that are shown, and sequences in which they are looked for
AROUND = 4  # tokens shown on either side


def places(bench: Bench, number: int, start: int, end: int) -> dict[str, Any]:
    """All places where the same words stand as in a run of tokens of a sequence."""
    with bench.lock:
        cut = _cut(bench, number)
        if not 0 <= start < end <= len(cut.tokens):
            raise DataError(f"sequence {number} has no tokens {start} to {end}")
        phrase = [word.casefold() for word in cut.words[start:end]]
        maybe = bench.pool.matching(max(phrase, key=len))
        numbers = [n for n, is_in in enumerate(maybe) if is_in]
        found = [place for n in numbers[:SEARCHED] for place in _in(bench, n, phrase)]
        return {
            "words": cut.words[start:end], "n": len(found), "more": len(numbers) > SEARCHED,
            "places": found[:SHOWN],
        }  # fmt: skip


def _in(bench: Bench, number: int, phrase: list[str]) -> list[dict[str, Any]]:
    cut = _cut(bench, number)
    words = [word.casefold() for word in cut.words]
    out = []
    for t in range(len(words) - len(phrase) + 1):
        if words[t : t + len(phrase)] == phrase:
            end = t + len(phrase)
            out.append(
                {
                    "number": number, "start": t, "end": end, "before": cut.words[max(0, t - AROUND) : t],
                    "words": cut.words[t:end], "after": cut.words[end : end + AROUND], **_labels(bench, number, t, end),
                }
            )  # fmt: skip
    return out


def _labels(bench: Bench, number: int, start: int, end: int) -> dict[str, Any]:
    """What these tokens are labelled, and whether by a person."""
    made, proposal = bench.decisions.last.get(number), bench.proposals.get(number)
    if made is not None and made.labels is not None:
        return {"labels": list(made.labels[start:end]), "confirmed": True}
    labels = proposal.labels[start:end] if proposal is not None else [None] * (end - start)
    return {"labels": labels, "confirmed": False}


def _cut(bench: Bench, number: int) -> Cut:
    made = bench.decisions.last.get(number)
    return bench.pool.cut(number) if made is None else made.cut(bench.pool)


def apply(bench: Bench, chosen: Sequence[tuple[int, int, int]], label: str) -> int:
    """Give the label to runs (number, start, end), in one step; other labels stay as they are."""
    with bench.lock:
        made: dict[int, Decision] = {}
        for number, start, end in chosen:
            n = len(_cut(bench, number).tokens)
            if not 0 <= start < end <= n:
                raise DataError(f"sequence {number} has no tokens {start} to {end}")
            one = made.get(number) or bench.decisions.last.get(number) or Decision(number, None, "applied")
            labels = [*(one.labels or [None] * n)]
            labels[start:end] = [label] * (end - start)
            unknown = tuple(t for t in one.unknown if not start <= t < end)
            origin = "applied" if one.labels is None or bench.is_open(number) else "changed"
            made[number] = replace(one, labels=tuple(labels), unknown=unknown, origin=origin, time=now())
        bench.record(made.values(), f"{label} at {len(chosen)} places")
        return len(chosen)
