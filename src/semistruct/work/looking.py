"""What the page shows of the accuracy: the estimate, the fields, the worst cases, the curve, the path."""

from __future__ import annotations

from typing import Any

from semistruct.features.words import word_of
from semistruct.work.bench import Bench
from semistruct.work.measuring import acceptable, estimate, scores

WORST = 8
HONEST = 5  # blind sequences, from which on only these are estimated from


def state(bench: Bench) -> dict[str, Any]:
    """Everything that is known by now; parts that are not yet measured are None."""
    with bench.lock:
        trainer, found = bench.trainer, bench.trainer.insights.found
        about = None if bench.model is None else bench.model.about
        curve = found.get("curve", {})
        path = None if about is None else {"points": about["path"], "history": about["history"]}
        return {
            "model": None if bench.model is None else bench.model.name,
            "measuring": trainer.insights.status,
            "measured": _measured(bench, found["look"]) if "answer" in found.get("look", {}) else None,
            "problem": found.get("look", {}).get("problem"),
            "curve": curve.get("answer"), "curve_model": curve.get("model"), "path": path,
        }  # fmt: skip


def _measured(bench: Bench, look: dict[str, Any]) -> dict[str, Any]:
    answer, numbers, y = look["answer"], look["numbers"], look["y"]
    labels, sure = answer["labels"], answer["sure"]
    last = bench.decisions.last
    blind = [i for i, n in enumerate(numbers) if n in last and last[n].blind]
    right = [a == b for a, b in zip(y, labels, strict=True)]
    which = blind if len(blind) >= HONEST else range(len(y))
    return {
        "model": look["model"], **estimate([y[i] for i in which], [labels[i] for i in which]),
        "honest": len(blind) >= HONEST, "blind": len(blind), **scores(y, labels),
        "worst": _worst(bench, numbers, y, labels), "acceptable": _acceptable(bench, right, sure),
    }  # fmt: skip


def _worst(bench: Bench, numbers: list[int], y: list[Any], labels: list[Any]) -> list[dict[str, Any]]:
    wrong = [sum(a != b for a, b in zip(gold, row, strict=True)) for gold, row in zip(y, labels, strict=True)]
    order = sorted((i for i in range(len(y)) if wrong[i]), key=lambda i: (-wrong[i], i))[:WORST]
    out = []
    for i in order:
        made = bench.decisions.last.get(numbers[i])
        cut = bench.pool.cut(numbers[i]) if made is None else made.cut(bench.pool)
        if len(cut.tokens) == len(y[i]):
            words = [word_of(token) for token in cut.tokens]
            row = {"number": numbers[i], "wrong": wrong[i], "words": words, "gold": y[i], "found": labels[i]}
            out.append(row)
    return out


def _acceptable(bench: Bench, right: list[bool], sure: list[float]) -> dict[str, Any] | None:
    """From which confidence on sequences are as good as always right, and how many of the pool that are."""
    found = acceptable(right, sure)
    if found is None:
        return None
    least = [one.least for n, one in list(bench.proposals.found.items()) if bench.is_open(n)]
    passing = sum(value >= found["confidence"] for value in least)
    return {**found, "passing": passing, "looked_at": len(least)}
