"""`semistruct methods` and `semistruct dump`: what a method is, and what is inside a model."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from semistruct.app.cli.files import load_model
from semistruct.app.cli.output import table
from semistruct.base.errors import ParameterError, meant, quoted
from semistruct.methods import METHODS, SequenceLabeller


def method_of(name: str) -> type[SequenceLabeller]:
    if name not in METHODS:
        raise ParameterError(f"there is no method {quoted(name)}; {meant(name, METHODS)}")
    return METHODS[name]


@dataclass(frozen=True)
class MethodList:
    """The names of all methods, and what they are."""

    methods: list[dict[str, str]]

    def report(self) -> Iterator[Any]:
        yield table(("method", ""), [(row["name"], row["what"]) for row in self.methods], left=2)


@dataclass(frozen=True)
class Method:
    """A method: its class, and its parameters with their defaults."""

    name: str
    class_name: str
    doc: str
    defaults: dict[str, Any]

    def record(self) -> dict[str, Any]:
        return {"name": self.name, "class": self.class_name, "doc": self.doc, "defaults": self.defaults}

    def report(self) -> Iterator[Any]:
        yield f"{self.name}: the class {self.class_name}\n"
        yield Text(f"{self.doc}\n")
        yield "defaults: " + ", ".join(f"{key}={value}" for key, value in self.defaults.items())


def describe(name: str | None) -> MethodList | Method:
    """All methods, or one of them."""
    if name is None:
        return MethodList([{"name": key, "what": _title(method)} for key, method in METHODS.items()])
    method = method_of(name)
    plain = (bool, int, float, str, list, tuple, type(None))
    defaults = {key: v if isinstance(v, plain) else repr(v) for key, v in method().get_params(deep=False).items()}
    return Method(name, method.__name__, inspect.getdoc(method) or "", defaults)


def _title(method: type[SequenceLabeller]) -> str:
    return (inspect.getdoc(method) or "").partition("\n")[0].rstrip(".,:").partition(":  ")[0]


@dataclass(frozen=True)
class Contents:
    """What is inside a model.

    rules     each with its weight, and why it weighs that if the card tells
    heaviest  for each label, the features with the largest weights
    steps     the transitions with the largest weights
    """

    card: dict[str, Any]
    method: str
    params: dict[str, Any]
    rules: list[dict[str, Any]] | None
    tokens: str
    features: list[str] | None
    heaviest: dict[str, list[tuple[str, float]]]
    steps: list[tuple[str, float]]

    def report(self) -> Iterator[Any]:
        params = {k: v for k, v in self.params.items() if k != "rules" or v is None}  # rules come in words
        yield Text(f"{self.method}({', '.join(f'{k}={v!r}' for k, v in params.items())})")
        for key, value in self.card.items():
            if key != "trust":  # comes with the rules
                shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
                yield Text(f"{key}: {shown}")
        yield Text(f"features: {' '.join(self.features or ['as given'])}")
        yield Text(f"tokens: {self.tokens}")
        for row in self.rules or ():
            weight = row["weight"] if isinstance(row["weight"], str) else f"{row['weight']:.1f}"
            yield Text(f"rule: {row['rule']} (weight {weight}{': ' if row['why'] else ''}{row['why']})")
        for title, rows in [*self.heaviest.items(), ("transitions from label to label, after any token", self.steps)]:
            yield Text(f"\n{title}", style="bold")
            for name, value in rows:
                yield Text(f"  {value:+9.4f}  {name}")


def contents(path: Path, k: int, trust: list[str] | None = None) -> Contents:
    """The card, the parameters, the rules and the heaviest features of each label."""
    estimator = load_model(path, trust)
    model = estimator.model_
    steps = [
        (f"{y} -> {z}", float(model.weights.trans[0][i, j]))
        for i, y in enumerate(model.labels)
        for j, z in enumerate(model.labels)
    ]
    return Contents(
        card=estimator.card_,
        method=type(estimator).__name__,
        params=estimator.description()["params"],
        rules=None if model.rules is None else _rules(estimator),
        tokens=estimator.tokens_,
        features=list(model.encoder.features.specs) if model.encoder.features else None,
        heaviest=model.heaviest(k),
        steps=sorted(steps, key=lambda step: -abs(step[1]))[:k],
    )


def _rules(estimator: SequenceLabeller) -> list[dict[str, Any]]:
    """The rules with their weights; as the card has them, faded ones among them, if it has them in this form."""
    keys = {"rule": str, "weight": int | float | str, "why": str}
    rows = estimator.card_.get("trust")
    try:
        if rows and all(isinstance(row[key], kind) for row in rows for key, kind in keys.items()):
            return [{key: row[key] for key in keys} for row in rows]
    except (TypeError, KeyError):  # a card may hold anything
        pass
    return [{"rule": rule.text, "weight": rule.shown_weight, "why": ""} for rule in estimator.model_.rules or ()]
