"""What the commands do, once their options are parsed; each returns a plain record, and a report draws it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from semistruct import metrics
from semistruct.corpus import Corpus, Example, Labels
from semistruct.errors import DataError, ModelError, RuleWarning
from semistruct.files import source_name
from semistruct.fitting.data import label_codes
from semistruct.formats import stream, write
from semistruct.methods import load
from semistruct.rules import Rules

CHUNK = 2000  # sequences labelled at a time
ZIP = b"PK\3\4"  # model files begin so


@dataclass(frozen=True)
class Labelling:
    """How sequences are labelled.

    rules       to obey instead of those of the model; True: those of the model, if it has any; False: none
    corpus      obey corpus rules too, for the whole input
    confidence  tell how sure the model is
    """

    rules: Rules | bool = True
    corpus: bool = False
    confidence: bool = False


def check_order(model: Path, data: Iterable[str]) -> None:
    """Refuse data in the place of the model, and a model in that of the data."""
    order = "the model comes first, then the data"
    for path in data:
        if _start(path) == ZIP:
            raise DataError.at(path, None, f"this is a model, not data; {order}")
    if _start(model) not in (ZIP, None):
        raise ModelError(f"{model}: not a semistruct model; {order}")


def _start(path: str | Path) -> bytes | None:
    """The first bytes of a file; None if it cannot be read, or not twice."""
    if path == "-" or not Path(path).is_file():
        return None
    try:
        with open(path, "rb") as file:
            return file.read(len(ZIP))
    except OSError:
        return None


def predict(
    model: Path,
    inputs: list[str],
    reading: dict[str, Any],
    *,
    to: str | None,
    output: str,
    scheme: str | None,
    how: Labelling,
    jobs: int | None,
) -> None:
    """Label the inputs one chunk at a time, so that they may be larger than memory."""
    check_order(model, inputs)
    estimator = load(model)
    estimator.n_jobs = jobs
    examples = _read(inputs, reading)
    first = list(islice(examples, 1))
    target = to or _natural_format(first)
    try:
        write(_labelled(estimator, chain(first, examples), how), output, target, scheme=scheme)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the output is not complete" if output == "-" else "") from None


def _read(inputs: list[str], reading: dict[str, Any]) -> Iterator[tuple[str, Example]]:
    """The sequences with the names of their files; in a pipe there may be none."""
    for path in inputs:
        for example in stream(path, **reading, may_be_empty=path == "-"):
            yield source_name(path), example


def _natural_format(first: list[tuple[str, Example]]) -> str:
    """Text gets tags, tokens a column."""
    return "inline" if first and first[0][1].text is not None else "tsv"


def _labelled(estimator: Any, examples: Iterator[tuple[str, Example]], how: Labelling) -> Iterator[Example]:
    """The examples, which come with the names of their files, with the labels of the model."""
    rules = estimator.model_.rules_to_obey(how.rules)
    while part := list(islice(examples, None if how.corpus else CHUNK)):
        X = [example.tokens for _, example in part]
        with _naming([example.where(source) for source, example in part]):
            found = estimator.predict(X, rules=False if rules is None else rules, corpus=how.corpus)
        margins = [c.tolist() for c in estimator.confidence(X, found)] if how.confidence else [None] * len(X)
        for (_, example), labels, values in zip(part, found, margins, strict=True):
            yield replace(example, labels=labels, confidence=values)


@contextmanager
def _naming(places: list[str]) -> Iterator[None]:
    """Warnings about rules tell the places of sequences instead of their numbers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuleWarning)
        yield
    for warning in (warning.message for warning in caught):
        if isinstance(warning, RuleWarning) and warning.sequence is not None:
            warning = warning.at(places[warning.sequence])
        warnings.warn(warning, stacklevel=3)


def evaluate(model: Path, gold: Corpus, *, unseen_labels: bool, how: Labelling, jobs: int | None) -> dict[str, Any]:
    """All scores of a model on labelled data, and how often its labels break the rules."""
    estimator = load(model)
    estimator.n_jobs = jobs
    if not unseen_labels:
        _refuse_unseen(gold, estimator.model_.labels)
    began = time.perf_counter()
    predicted = [example.labels for example in _labelled(estimator, ((gold.source, e) for e in gold), how)]
    seconds = time.perf_counter() - began
    obeyed = estimator.model_.rules_to_obey(how.rules)
    counted = estimator.model_.rules if obeyed is None else obeyed
    broken = None if counted is None else _broken(counted, gold, predicted, estimator.model_.labels)
    try:
        scores = metrics.evaluate(gold.labels, predicted)
    except DataError as err:
        raise DataError.at(gold.source, None, str(err)) from None
    under = {"rules": obeyed is not None, "broken": broken}
    return {"model": str(model), "data": gold.source, "seconds": seconds, **scores, **under}


def _broken(rules: Rules, gold: Corpus, predicted: list[Labels | None], labels: Sequence[str]) -> dict[str, Any]:
    """How many sequences break each rule, as predicted and as they are; and how many break any."""
    out: dict[str, Any] = {}
    complete = [i for i, row in enumerate(gold.labels) if row is not None and set(row) <= set(labels)]
    tables = rules.compile(gold.tokens, labels)
    for name, rows, which in (("predicted", predicted, range(len(gold))), ("gold", gold.labels, complete)):
        chosen = [rows[i] if i in set(which) else predicted[i] for i in range(len(gold))]
        broken = tables.broken(label_codes(chosen, [len(x) for x in gold.tokens], labels))[list(which)]
        out[name] = {
            "sequences": len(which),
            "any": int(broken.any(axis=1).sum()),
            "rules": {rule.text: int(column.sum()) for rule, column in zip(tables.rules, broken.T, strict=True)},
        }
    return out


def _refuse_unseen(gold: Corpus, labels: Sequence[str]) -> None:
    for label, where in gold.unseen(labels).items():
        hint = "use --unseen-labels to count it as an error"
        raise DataError(f"{where}: the model has never seen the label {label!r}; {hint}")


def evaluation_report(result: dict[str, Any]) -> Iterator[Any]:
    span = result["span_f1"]
    yield f"token accuracy     {result['token_accuracy']:7.2%}   ({result['n_tokens']} tokens)"
    yield f"sequence accuracy  {result['sequence_accuracy']:7.2%}   ({result['n_sequences']} sequences)"
    yield "span F1                  -" if span is None else f"span F1            {span:7.2%}"
    table = Table("label", box=None, pad_edge=False)
    for name in ("precision", "recall", "F1", "support"):
        table.add_column(name, justify="right")
    for label, row in result["per_label"].items():
        cells = [f"{row[key]:.1%}" for key in ("precision", "recall", "f1")]
        table.add_row(Text(label), *cells, str(row["support"]))
    yield table
    if result["broken"] is not None:
        yield from _broken_report(result)


def _broken_report(result: dict[str, Any]) -> Iterator[Any]:
    predicted, gold = result["broken"]["predicted"], result["broken"]["gold"]
    how = "under the rules" if result["rules"] else "without regard to the rules"
    yield f"\nlabelled {how}; sequences that break a rule:"
    table = Table("rule", box=None, pad_edge=False)
    table.add_column("predicted", justify="right")
    table.add_column("gold", justify="right")
    rows = {"any instance rule": (predicted["any"], gold["any"])}
    rows |= {rule: (n, gold["rules"][rule]) for rule, n in predicted["rules"].items() if n or gold["rules"][rule]}
    for rule, (ours, true) in rows.items():
        table.add_row(Text(rule), f"{ours} of {predicted['sequences']}", f"{true} of {gold['sequences']}")
    yield table


def dump(model: Path, k: int) -> dict[str, Any]:
    """The card, the parameters, the rules and the heaviest features of each label."""
    estimator = load(model)
    found = estimator.model_
    steps = [
        (f"{y} -> {z}", float(found.weights.trans[0][i, j]))
        for i, y in enumerate(found.labels)
        for j, z in enumerate(found.labels)
    ]
    return {
        "card": estimator.card_,
        "method": type(estimator).__name__,
        "params": estimator.description()["params"],
        "rules": None if found.rules is None else [rule.text for rule in found.rules],
        "features": found.encoder.features and list(found.encoder.features.specs),
        "heaviest": found.heaviest(k),
        "steps": sorted(steps, key=lambda step: -abs(step[1]))[:k],
    }


def dump_report(result: dict[str, Any]) -> Iterator[Any]:
    params = {k: v for k, v in result["params"].items() if k != "rules" or v is None}  # rules come in words
    yield Text(f"{result['method']}({', '.join(f'{k}={v!r}' for k, v in params.items())})")
    for key, value in result["card"].items():
        shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        yield Text(f"{key}: {shown}")
    yield Text(f"features: {' '.join(result['features'] or ['as given'])}")
    for rule in result["rules"] or ():
        yield Text(f"rule: {rule}")
    for title, rows in [*result["heaviest"].items(), ("steps from label to label, wherever they are", result["steps"])]:
        yield Text(f"\n{title}", style="bold")
        for name, weight in rows:
            yield Text(f"  {weight:+9.4f}  {name}")
