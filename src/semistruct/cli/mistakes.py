"""`semistruct evaluate --errors`: the sequences that a model gets most wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.text import Text

from semistruct.corpus import Corpus, Labels
from semistruct.fitting.data import label_codes
from semistruct.methods import SequenceLabeller
from semistruct.report.pages import blocks
from semistruct.rules import Rules

MARGIN = (
    "margin: the score of the predicted labels minus that of the gold ones; below 0 the rules decided against the model"
)


def mistakes(
    estimator: SequenceLabeller, gold: Corpus, predicted: Sequence[Labels | None], rules: Rules | None, most: int
) -> dict[str, Any]:
    """How many sequences have a mistake, and the worst of them token by token, `most` at most.

    Worst are those with the most wrong labels, and among these the ones with the largest margin: the score of the
    predicted labels minus that of the gold ones, None where the model does not know a gold label.
    """
    wrong = [_n_wrong(y, z) for y, z in zip(gold.labels, predicted, strict=True)]
    margin = _margins(estimator, gold, predicted, [i for i, n in enumerate(wrong) if n])
    order = sorted(margin, key=lambda i: (-wrong[i], -_or_zero(margin[i]), i))[:most]
    broken = _broken(estimator, gold, predicted, rules, order)
    worst = [
        {
            "where": gold.where(i),
            "wrong": wrong[i],
            "margin": margin[i],
            "broken": broken[i],
            "tokens": [token if isinstance(token, str) else token[0] for token in gold.tokens[i]],
            "gold": gold.labels[i],
            "predicted": predicted[i],
        }
        for i in order
    ]
    return {"sequences": len(margin), "worst": worst}


def _n_wrong(gold: Labels | None, predicted: Labels | None) -> int:
    return sum(y is not None and y != z for y, z in zip(gold or (), predicted or ()))  # noqa: B905


def _or_zero(margin: float | None) -> float:
    return 0.0 if margin is None else margin


def _margins(
    estimator: SequenceLabeller, gold: Corpus, predicted: Sequence[Labels | None], which: list[int]
) -> dict[int, float | None]:
    """The margins of some sequences, by their numbers."""
    model, labels = estimator.model_, {*estimator.model_.labels, None}
    known = [i for i in which if labels.issuperset(gold.labels[i] or ())]
    X = [gold.tokens[i] for i in known]
    ours, truth = (
        model.scores(X, [rows[i] or [] for i in known], estimator.n_jobs) for rows in (predicted, gold.labels)
    )
    found: dict[int, float | None] = dict.fromkeys(which)
    return found | dict(zip(known, (ours - truth).tolist(), strict=True))


def _broken(
    estimator: SequenceLabeller,
    gold: Corpus,
    predicted: Sequence[Labels | None],
    rules: Rules | None,
    which: list[int],
) -> dict[int, list[str]]:
    """The rules that the predicted labels of some sequences break, by the numbers of the sequences."""
    if rules is None or not which:
        return {i: [] for i in which}
    X, labels = [gold.tokens[i] for i in which], estimator.model_.labels
    tables = rules.compile(X, labels)
    rows = tables.broken(label_codes([predicted[i] for i in which], [len(x) for x in X], labels))
    return {i: [tables.rules[r].text for r in np.flatnonzero(row)] for i, row in zip(which, rows, strict=True)}


def mistakes_report(found: dict[str, Any]) -> Iterator[Any]:
    """The worst sequences in words: a line for each run of tokens with the same labels, marked where they are wrong."""
    if not found["worst"]:
        yield "\nno sequence has a mistake"
        return
    yield f"\nthe worst {len(found['worst'])} of {found['sequences']} sequences with mistakes"
    yield MARGIN
    for row in found["worst"]:
        margin = "" if row["margin"] is None else f", margin {row['margin']:.2f}"
        breaks = f"; breaks {'; '.join(row['broken'])}" if row["broken"] else ""
        yield Text(f"\n{row['where']}: {row['wrong']} of {len(row['tokens'])} labels wrong{margin}{breaks}", "bold")
        yield from _lines(blocks(row["tokens"], row["gold"], row["predicted"]))


def _lines(parts: list[dict[str, Any]]) -> Iterator[Text]:
    named = [(_name(part), part) for part in parts]
    width = max(len(name) for name, _ in named)
    for name, part in named:
        gap = " " * (width - len(name) + 2)
        line = Text("x " if part["wrong"] else "  ", "red")
        line.append(name[: len(part["gold"] or "?")], "green" if part["wrong"] else "dim")
        line.append(name[len(part["gold"] or "?") :], "red")
        line.append(gap + " ".join(part["tokens"]))
        yield line


def _name(part: dict[str, Any]) -> str:
    gold = "?" if part["gold"] is None else part["gold"]
    return gold if gold == part["found"] else f"{gold} -> {part['found']}"
