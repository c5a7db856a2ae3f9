"""What the processes of the workbench do: learn, pick, label, suggest, and measure.

A task takes plain data and `tell`, which it calls now and then with its progress, and gives plain data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from semistruct.advising import suggest
from semistruct.corpus import Token
from semistruct.errors import SemistructError
from semistruct.fitting.data import label_codes
from semistruct.fitting.effects import effects_of
from semistruct.fitting.labeller import SequenceLabeller
from semistruct.methods import load
from semistruct.methods.annealed import AnnealedSSVM
from semistruct.picking import pick
from semistruct.progress import Progress
from semistruct.rules import Rules
from semistruct.work.hearing import hearing
from semistruct.work.measuring import curve, look
from semistruct.work.rulebook import read_text

Tell = Callable[..., None]
QUICK: dict[str, Any] = {"schedule": [1.0, 10.0], "rounds": 2}


def tokens_of(rows: Sequence[Any]) -> list[list[Token]]:
    """Sequences as they were before they became JSON."""
    return [[token if isinstance(token, str) else tuple(token) for token in row] for row in rows]


def rules_of(given: dict[str, Any]) -> Rules:
    """The rules that are switched on, which declare all fields."""
    return read_text(given["rules"], Path(given["folder"])).active(given["fields"])


def watching(tell: Tell) -> Callable[[Progress], None]:
    """Passes on how far a fit has come."""

    def watch(progress: Progress) -> None:
        place = progress.place
        if place is None:
            tell(step="learning from the labels")
            return
        share = (place.stage + place.round / place.rounds) / place.stages
        tell(step="learning from the pool", share=round(share, 3))

    return watch


def learn(given: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """A model from labels, pool and rules, in a file; and what to label next, with its proposals."""
    began = time.perf_counter()
    X, y, pool, rules = tokens_of(given["X"]), given["y"], tokens_of(given["pool"]), rules_of(given)
    with hearing() as said:
        estimator = AnnealedSSVM(rules=rules, C=given["C"] or "auto", n_jobs=given.get("jobs"), **QUICK)
        estimator.fit(X, y, pool=pool, watch=watching(tell))
        if given["tokens"]:
            estimator.tokens_ = given["tokens"]
        tell(step="choosing what to label next", share=1.0)
        estimator.save(given["output"], card={"workbench": {"labelled": len(X)}})
        asked.cache_clear()
        picks = picked(given, (X, y), estimator)
    return {
        "output": given["output"], "C": estimator.C_, "labels": estimator.classes_, "picks": picks, "said": said,
        "trust": estimator.trust_, "path": estimator.path_, "history": _history(estimator.history_),
        "stop": estimator.stop_, "seconds": time.perf_counter() - began,
    }  # fmt: skip


def _history(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: row.get(key) for key in ("C_u", "round", "step", "objective", "broken", "switched")} for row in rows]


def first(given: dict[str, Any], tell: Tell) -> list[dict[str, Any]]:
    """What to label first, when there is no model."""
    with hearing():
        return picked(given, None, None)


def picked(given: dict[str, Any], labelled: Any, model: SequenceLabeller | None) -> list[dict[str, Any]]:
    """Sequences to label next, by their numbers in the pool, with reasons, and labels if there is a model."""
    X = tokens_of(given["candidates"])
    if not X:
        return []
    try:
        rules = rules_of(given)
        found = pick(X, min(given["n"], len(X)), labelled=labelled, model=model, rules=rules if model is None else None)
    except SemistructError:
        return []  # all are labelled, or copies of such
    out = [{"number": given["numbers"][one.number], "reason": one.reason} for one in found]
    if model is not None:
        rows = labels_of(model, [X[one.number] for one in found])
        out = [{**one, **row} for one, row in zip(out, rows, strict=True)]
    return out


def labels_of(estimator: SequenceLabeller, X: list[Any]) -> list[dict[str, Any]]:
    """For each sequence the labels under the rules, how sure the model is of each, and the rules that they break."""
    model = estimator.model_
    with hearing():
        labels = estimator.predict(X)
        sure = estimator.confidence(X, labels)
        broken: list[list[str]] = [[] for _ in X]
        if model.rules is not None and len(model.rules):
            tables = model.rules.compile(X, model.labels)
            rows = tables.broken(label_codes(labels, [len(x) for x in X], model.labels))
            broken = [[tables.rules[r].text for r in np.flatnonzero(row)] for row in rows]
    return [
        {"labels": row, "confidence": [round(float(value), 2) for value in values], "broken": rules}
        for row, values, rules in zip(labels, sure, broken, strict=True)
    ]


@lru_cache(2)
def asked(path: str) -> SequenceLabeller:
    return load(path)


def label(given: dict[str, Any], tell: Tell) -> list[dict[str, Any]]:
    """Labels by the model of a file."""
    return labels_of(asked(given["model"]), tokens_of(given["X"]))


def warm(given: dict[str, Any], tell: Tell) -> None:
    """Have everything loaded that a first model needs."""
    X, y = [["Ann", "1984"], ["Bo", "1987"]], [["a", "b"]] * 2
    rules = Rules.from_text("rules: [{at_most_once: all}, {words: Ann, are: a}]")
    with hearing():
        model = AnnealedSSVM(rules=rules, C=1.0, schedule=[1.0], rounds=1).fit(X, y, pool=X)
        labels_of(model, X)
        pick(X * 2, 1, labelled=([["Ed", "1980"]], y[:1]), model=model)


def suggestions(given: dict[str, Any], tell: Tell) -> list[dict[str, Any]]:
    """Rules that the labels and the pool speak for."""
    X, pool = tokens_of(given["X"]), tokens_of(given["pool"])
    model = asked(given["model"]) if given["model"] else None
    with hearing():
        found = suggest(X, given["y"], pool=pool, model=model, rules=rules_of(given), show=lambda text: tell(step=text))
    return [one.to_dict() for one in found.found]


def effects(given: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """What each rule does to the labels of a sample of the pool."""
    X, estimator, out = tokens_of(given["pool"]), asked(given["model"]), {}
    rules = rules_of(given)
    rules = Rules([rule for rule in rules if rule.all_mentioned() <= set(estimator.classes_)], estimator.classes_)
    with hearing():
        for one in effects_of(estimator.model_, rules, X, None, given["n_labelled"], given.get("jobs")):
            places = [
                {"number": given["numbers"][change.sequence], "before": change.before, "after": change.after,
                 "words": [token if isinstance(token, str) else token[0] for token in change.tokens]}
                for change in one.examples
            ]  # fmt: skip
            out[one.rule] = {"changed": one.changed, "of": len(X), "places": places}
            tell(step=one.rule)
    return out


def look_at(given: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Accuracy by cross-validation."""
    with hearing():
        return look(tokens_of(given["X"]), given["y"], tokens_of(given["pool"]), rules_of(given), given["C"], tell)


def curve_of(given: dict[str, Any], tell: Tell) -> dict[str, Any] | None:
    """The learning curve, and what the next labels should bring."""
    with hearing():
        return curve(tokens_of(given["X"]), given["y"], tokens_of(given["pool"]), rules_of(given), given["C"], tell)


TASKS: dict[str, Callable[[dict[str, Any], Tell], Any]] = {
    "learn": learn, "first": first, "label": label, "warm": warm, "suggest": suggestions, "effects": effects,
    "look": look_at, "curve": curve_of,
}  # fmt: skip
