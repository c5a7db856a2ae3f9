"""`semistruct predict` and `semistruct evaluate`: the labels of a model, and how good they are."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from semistruct import metrics
from semistruct.cli.options import Obeying, Reading
from semistruct.cli.output import table
from semistruct.corpus import Corpus, Example, Labels
from semistruct.errors import DataError, ModelError, RuleWarning, quoted
from semistruct.files import source_name
from semistruct.fitting.data import label_codes
from semistruct.formats import FORMATS, Stream, stream, write
from semistruct.looks import Look
from semistruct.rules import Rules
from semistruct.warming import warming

CHUNK = 2000  # sequences labelled at a time
ZIP = b"PK\3\4"  # the first bytes of a model file


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
    reading: Reading,
    obeying: Obeying,
    *,
    to: str | None,
    output: str,
    corpus: bool,
    confidence: bool,
) -> None:
    """Label the inputs one chunk at a time, so that they may be larger than memory.

    corpus      obey corpus rules too, for the whole input
    confidence  add how sure the model is of each label
    """
    rules = obeying.obeyed()
    check_order(model, inputs)
    estimator = obeying.loaded(model)
    options = replace(reading.cutting(estimator.tokens_), scheme=None).options()
    first = _opened(inputs[0], options)
    streams = chain([(inputs[0], first)], ((path, _opened(path, options)) for path in inputs[1:]))
    target = to or FORMATS[first.format].answer or first.format
    labelled = _labelled(estimator, _read(streams, estimator.look_), rules, corpus=corpus, confidence=confidence)
    try:
        write(labelled, output, target, scheme=reading.scheme)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the output is not complete" if output == "-" else "") from None


def _opened(path: str, options: dict[str, Any]) -> Stream:
    """The sequences of a file; in a pipe there may be none."""
    return stream(path, **options, may_be_empty=path == "-")


def _read(streams: Iterable[tuple[str, Stream]], look: Look | None) -> Iterator[tuple[str, Example]]:
    """The sequences with the names of their files."""
    for path, examples in streams:
        first = list(islice(examples, CHUNK))
        if look is not None:
            look.warn_of_difference(source_name(path), [example.tokens for example in first])
        for example in chain(first, examples):
            yield source_name(path), example


def _labelled(
    estimator: Any,
    examples: Iterator[tuple[str, Example]],
    rules: Rules | bool,
    *,
    corpus: bool = False,
    confidence: bool = False,
) -> Iterator[Example]:
    """The examples, which come with the names of their files, with the labels of the model."""
    obeyed = estimator.model_.rules_to_obey(rules)
    with warming(*(() if obeyed is None else ("search",))):
        yield from _chunks(estimator, examples, obeyed, corpus=corpus, confidence=confidence)


def _chunks(
    estimator: Any, examples: Iterator[tuple[str, Example]], obeyed: Rules | None, *, corpus: bool, confidence: bool
) -> Iterator[Example]:
    """The same, one chunk after the other."""
    while part := list(islice(examples, None if corpus else CHUNK)):
        X = [example.tokens for _, example in part]
        with _naming([example.where(source) for source, example in part]):
            found = estimator.predict(X, rules=False if obeyed is None else obeyed, corpus=corpus)
        margins = [c.tolist() for c in estimator.confidence(X, found)] if confidence else [None] * len(X)
        for (_, example), labels, values in zip(part, found, margins, strict=True):
            yield replace(example, labels=labels, confidence=values)


@contextmanager
def _naming(places: list[str]) -> Iterator[None]:
    """Warnings about rules name sequences by their file and line instead of their number."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuleWarning)
        yield
    for warning in (warning.message for warning in caught):
        if isinstance(warning, RuleWarning) and warning.sequence is not None:
            warning = warning.at(places[warning.sequence])
        warnings.warn(warning, stacklevel=3)


def evaluate(model: Path, data: Path, reading: Reading, obeying: Obeying, *, unseen_labels: bool) -> dict[str, Any]:
    """All scores of a model on labelled data, and how often its labels break the rules."""
    rules, estimator = obeying.obeyed(), obeying.loaded(model)
    gold = reading.cutting(estimator.tokens_).corpus(data)
    if estimator.look_ is not None:
        estimator.look_.warn_of_difference(gold.source, gold.tokens)
    if not unseen_labels:
        _refuse_unseen(gold, estimator.model_.labels)
    began = time.perf_counter()
    predicted = [example.labels for example in _labelled(estimator, ((gold.source, e) for e in gold), rules)]
    seconds = time.perf_counter() - began
    obeyed = estimator.model_.rules_to_obey(rules)
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
        raise DataError(f"{where}: the model has never seen the label {quoted(label)}; {hint}")


def evaluation_report(result: dict[str, Any]) -> Iterator[Any]:
    span = result["span_f1"]
    yield f"token accuracy     {result['token_accuracy']:7.2%}   ({result['n_tokens']} tokens)"
    yield f"sequence accuracy  {result['sequence_accuracy']:7.2%}   ({result['n_sequences']} sequences)"
    yield "span F1                  -" if span is None else f"span F1            {span:7.2%}"
    rows = [
        (label, *(f"{row[key]:.1%}" for key in ("precision", "recall", "f1")), str(row["support"]))
        for label, row in result["per_label"].items()
    ]
    yield table(("label", "precision", "recall", "F1", "support"), rows)
    if result["broken"] is not None:
        yield from _broken_report(result)


def _broken_report(result: dict[str, Any]) -> Iterator[Any]:
    predicted, gold = result["broken"]["predicted"], result["broken"]["gold"]
    how = "under the rules" if result["rules"] else "without the rules"
    yield f"\nlabelled {how}; sequences that break a rule:"
    rows = {"any instance rule": (predicted["any"], gold["any"])}
    rows |= {rule: (n, gold["rules"][rule]) for rule, n in predicted["rules"].items() if n or gold["rules"][rule]}
    shares = [(r, f"{a} of {predicted['sequences']}", f"{b} of {gold['sequences']}") for r, (a, b) in rows.items()]
    yield table(("rule", "predicted", "gold"), shares)
