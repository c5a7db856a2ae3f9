"""How good the model is, as the page shows it: the estimate, the fields, the worst cases, the curve, the path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import sqrt
from typing import Any

from pydantic import BaseModel

from semistruct.app.work.bench import Bench
from semistruct.app.work.limits import ENOUGH, EXAMPLES, HONEST, WANTED
from semistruct.app.work.messages import Labels, TaskStatus
from semistruct.app.work.tasks import Look, Material
from semistruct.data.metrics import evaluate

Gold = Sequence[Sequence[str | None]]


class Estimate(BaseModel):
    """Token accuracy with its standard error, and how many sequences are right as a whole."""

    accuracy: float
    error: float | None
    sequences: int
    tokens: int
    whole: int


class Confusion(BaseModel):
    """How often a label was given for another."""

    gold: str
    found: str
    n: int


class WorstCase(BaseModel):
    """A labelled sequence that a model gets wrong."""

    number: int
    wrong: int
    words: list[str]
    gold: Labels
    found: list[str]


class Acceptable(BaseModel):
    """A confidence from which on sequences, `right` of `of`, were right; `passing` of the pool have it."""

    confidence: float
    right: int
    of: int
    passing: int = 0
    looked_at: int = 0


class Measured(Estimate):
    """The estimate, which is honest if it is taken from random sequences alone; the fields; the worst cases."""

    model: str | None
    honest: bool
    blind: int
    fields: dict[str, dict[str, float]]
    span_f1: float | None
    confusion: list[Confusion]
    worst: list[WorstCase]
    acceptable: Acceptable | None


class LookState(BaseModel):
    """How good the model is, and its annealing path; parts that are not yet measured are null."""

    model: str | None
    measuring: TaskStatus
    measured: Measured | None
    problem: str | None
    curve: dict[str, Any] | None
    curve_model: str | None
    path: dict[str, list[dict[str, Any]]] | None


class Accuracy:
    """How good the model of a workbench is."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def state(self) -> LookState:
        """How good the model is, as far as can be told."""
        bench = self.bench
        with bench.lock:
            model, insights = bench.model, bench.trainer.insights
            look, curve = insights.findings.look, insights.findings.curve
            return LookState(
                model=None if model is None else model.name, measuring=insights.status, problem=look.problem,
                measured=None if look.answer is None or look.material is None
                else self._measured(look.answer, look.material, look.model),
                curve=curve.answer, curve_model=curve.model,
                path=None if model is None else {"points": model.record.path, "history": model.record.history},
            )  # fmt: skip

    def _measured(self, look: Look, material: Material, model: str | None) -> Measured:
        last, y = self.bench.decisions.last, material.y
        blind = [i for i, n in enumerate(material.numbers) if n in last and last[n].blind]
        which = blind if len(blind) >= HONEST else range(len(y))
        scores, estimated = evaluate(y, look.labels), estimate([y[i] for i in which], [look.labels[i] for i in which])
        return Measured(
            **vars(estimated), model=model, honest=len(blind) >= HONEST, blind=len(blind),
            fields=scores["per_label"], span_f1=scores["span_f1"], confusion=confusion(y, look.labels),
            worst=self._worst(material.numbers, y, look.labels), acceptable=self._acceptable(y, look),
        )  # fmt: skip

    def _acceptable(self, y: Gold, look: Look) -> Acceptable | None:
        """From which confidence on sequences are as good as always right, and how many of the pool that are."""
        found = acceptable([gold == row for gold, row in zip(y, look.labels, strict=True)], look.confidence)
        if found is not None:
            is_open = self.bench.decisions.is_open
            least = [proposal.least for n, proposal in self.bench.proposals.items() if is_open(n)]
            found.passing, found.looked_at = sum(value >= found.confidence for value in least), len(least)
        return found

    def _worst(self, numbers: list[int], y: list[Labels], labels: list[list[str]]) -> list[WorstCase]:
        wrong = [sum(a != b for a, b in zip(gold, row, strict=True)) for gold, row in zip(y, labels, strict=True)]
        out = []
        for i in sorted((i for i in range(len(y)) if wrong[i]), key=lambda i: (-wrong[i], i))[:EXAMPLES]:
            words = self.bench.decisions.cut(numbers[i]).words
            if len(words) == len(y[i]):  # unless some were split since
                out.append(WorstCase(number=numbers[i], wrong=wrong[i], words=words, gold=y[i], found=labels[i]))
        return out


def estimate(y: Gold, found: Sequence[Sequence[str]]) -> Estimate:
    """Token accuracy with its standard error: tokens of one sequence resemble each other, so sequences are counted."""
    pairs = [
        (sum(a == b for a, b in zip(gold, row, strict=True) if a is not None), sum(a is not None for a in gold))
        for gold, row in zip(y, found, strict=True)
    ]
    tokens, n = sum(size for _, size in pairs), len(pairs)
    accuracy = sum(right for right, _ in pairs) / max(tokens, 1)
    spread = sum((right - accuracy * size) ** 2 for right, size in pairs)
    error = sqrt(n / (n - 1) * spread) / tokens if n > 1 and tokens else None
    whole = sum(right == size for right, size in pairs)
    return Estimate(accuracy=accuracy, error=error, sequences=n, tokens=tokens, whole=whole)


def confusion(y: Gold, found: Sequence[Sequence[str]]) -> list[Confusion]:
    """How often which label was given for which."""
    pairs = Counter(
        (a, b) for gold, row in zip(y, found, strict=True) for a, b in zip(gold, row, strict=True) if a is not None
    )
    return [Confusion(gold=a, found=b, n=n) for (a, b), n in sorted(pairs.items())]


def acceptable(right: Sequence[bool], confidence: Sequence[float]) -> Acceptable | None:
    """The least confidence from which on at least the wanted share of sequences was right, enough of them or more.

    None if there is no such confidence.
    """
    order = sorted(range(len(right)), key=lambda i: -confidence[i])
    best, hits = None, 0
    for k, i in enumerate(order, 1):
        hits += right[i]
        if k >= ENOUGH and hits >= WANTED * k and (k == len(order) or confidence[order[k]] < confidence[i]):
            best = Acceptable(confidence=confidence[i], right=hits, of=k)
    return best
