"""`semistruct predict` and `semistruct evaluate`: the labels of a model, and how good they are."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import nan
from pathlib import Path
from typing import Any

from semistruct import metrics
from semistruct.cli import notices
from semistruct.cli.kinds import check_order
from semistruct.cli.mistakes import mistakes, mistakes_report
from semistruct.cli.options import Accepting, Obeying, Reading
from semistruct.cli.output import table
from semistruct.cli.trusting import Split, measured, measured_report
from semistruct.corpus import Confidence, Corpus, Example, Labelling, Labels
from semistruct.errors import DataError, RuleWarning, UncertainWarning, quoted
from semistruct.files import source_name
from semistruct.fitting.data import label_codes
from semistruct.formats import FORMATS, Stream, named_after, stream, write
from semistruct.labels import scheme_of
from semistruct.looks import Look
from semistruct.rules import Rules
from semistruct.warming import warming

CHUNK = 2000  # sequences labelled at a time


@dataclass(frozen=True)
class Wanted:
    """What is asked of labels.

    corpus      obey corpus rules too, for the whole input
    confidence  add how sure the model is of each label
    n_best      give this many labellings of each sequence
    """

    corpus: bool = False
    confidence: bool = False
    n_best: int | None = None


def predict(
    model: Path,
    inputs: list[str],
    reading: Reading,
    obeying: Obeying,
    *,
    to: str | None,
    output: str,
    wanted: Wanted,
    accepting: Accepting,
) -> None:
    """Label the inputs one chunk at a time, so that they may be larger than memory."""
    rules = obeying.obeyed()
    check_order(model, inputs)
    for path in inputs:
        notices.tell(notices.of_tags(path, reading.format, reading.encoding))
    estimator = obeying.loaded(model)
    promise, split = None, Split(accepting.by, scheme_of(estimator.classes_))
    if accepting.accept is not None:
        obeyed = rules is not False and estimator.model_.rules_to_obey(rules) is not None
        promise = estimator.promise(accepting.accept, by=accepting.by, rules=obeyed and rules)
    options = replace(reading.cutting(estimator.tokens_), scheme=None).options()
    first = _opened(inputs[0], options)
    streams = chain([(inputs[0], first)], ((path, _opened(path, options)) for path in inputs[1:]))
    target = to or natural_format(first.format, output)
    examples = _read(streams, estimator.look_)
    if promise is None:
        labelled = _labelled(estimator, examples, rules, wanted)
    else:
        answers = _accepted(estimator, examples, rules, promise)
        if accepting.rest is None:
            labelled = split.marked(answers)
        else:
            form = to or natural_format(first.format, accepting.rest)
            labelled = split.sure_ones(answers, accepting.rest, format=form, scheme=reading.scheme)
    try:
        write(labelled, output, target, scheme=reading.scheme)
        if promise is not None:
            split.tell(promise.text)
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


def natural_format(format: str, output: str) -> str:
    """The format of the input, unless the name of the output says otherwise; plain text gets tags."""
    return named_after(output) or FORMATS[format].answer or format


def _labelled(
    estimator: Any, examples: Iterator[tuple[str, Example]], rules: Rules | bool, wanted: Wanted
) -> Iterator[Example]:
    """The examples, which come with the names of their files, with the labels of the model."""
    obeyed, told = estimator.model_.rules_to_obey(rules), Told()
    with warming(*(() if obeyed is None else ("search",))):
        while part := list(islice(examples, None if wanted.corpus else CHUNK)):
            with told.naming([example.where(source) for source, example in part]):
                found = _best(estimator, [example.tokens for _, example in part], obeyed, wanted)
            for (_, example), best in zip(part, found, strict=True):
                several = None if wanted.n_best is None else best
                yield replace(example, labels=best[0].labels, confidence=best[0].confidence, n_best=several)
    told.sum_up()


def _accepted(
    estimator: Any, examples: Iterator[tuple[str, Example]], rules: Rules | bool, promise: Any
) -> Iterator[tuple[Example, Any]]:
    """The examples with the labels of the model, and what of them is sure."""
    obeyed, told = estimator.model_.rules_to_obey(rules), Told()
    with warming(*(() if obeyed is None else ("search",))):
        while part := list(islice(examples, CHUNK)):
            with told.naming([example.where(source) for source, example in part]):
                X = [example.tokens for _, example in part]
                found = estimator.accept(X, promise, rules=obeyed is not None and obeyed)
            for (_, example), labels, sure in zip(part, found.labels, found.sure, strict=True):
                yield replace(example, labels=labels), sure
    told.sum_up()


def _best(estimator: Any, X: list[Any], obeyed: Rules | None, wanted: Wanted) -> list[list[Labelling]]:
    """The best labellings of each sequence, one unless more are wanted; a single one has no score."""
    under: Any = False if obeyed is None else obeyed
    if wanted.n_best is None:
        found = [[(labels, nan)] for labels in estimator.predict(X, rules=under, corpus=wanted.corpus)]
    else:
        found = estimator.predict(X, rules=under, n_best=wanted.n_best)
    if not wanted.confidence:
        return [[Labelling(*one) for one in best] for best in found]
    pairs = [(x, labels) for x, best in zip(X, found, strict=True) for labels, _ in best]
    sure = iter(estimator.sureness([x for x, _ in pairs], [labels for _, labels in pairs], rules=under))
    return [[Labelling(*one, _confidence(next(sure))) for one in best] for best in found]


def _confidence(sure: Any) -> Confidence:
    return Confidence(sure.token.tolist(), sure.block.tolist(), sure.sequence)


class Told:
    """What warnings have told of sequences, chunk by chunk.

    sequences, uncertain  how many there were, and how many of them are not certain to have the best labels
    """

    def __init__(self) -> None:
        self.sequences = self.uncertain = 0

    @contextmanager
    def naming(self, places: list[str]) -> Iterator[None]:
        """Warnings about rules name sequences by their file and line instead of their number."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuleWarning)
            yield
        self.sequences += len(places)
        for warning in (warning.message for warning in caught):
            if isinstance(warning, UncertainWarning):
                self.uncertain += warning.uncertain
                continue
            if isinstance(warning, RuleWarning) and warning.sequence is not None:
                warning = warning.at(places[warning.sequence])
            warnings.warn(warning, stacklevel=3)

    def sum_up(self) -> None:
        """One line for all chunks."""
        if self.uncertain:
            warnings.warn(UncertainWarning(self.uncertain, self.sequences), stacklevel=3)


def evaluate(
    model: Path,
    data: Path,
    reading: Reading,
    obeying: Obeying,
    *,
    unseen_labels: bool,
    n_worst: int | None = None,
) -> dict[str, Any]:
    """All scores of a model on labelled data, how often its labels break the rules, and the worst sequences."""
    rules, estimator = obeying.obeyed(), obeying.loaded(model)
    gold = reading.cutting(estimator.tokens_).corpus(data)
    if estimator.look_ is not None:
        estimator.look_.warn_of_difference(gold.source, gold.tokens)
    if not unseen_labels:
        _refuse_unseen(gold, estimator.model_.labels)
    notices.tell(notices.of_evaluation(estimator, gold))
    began = time.perf_counter()
    predicted = [example.labels for example in _labelled(estimator, ((gold.source, e) for e in gold), rules, Wanted())]
    seconds = time.perf_counter() - began
    obeyed = estimator.model_.rules_to_obey(rules)
    counted = estimator.model_.rules if obeyed is None else obeyed
    broken = None if counted is None else _broken(counted, gold, predicted, estimator.model_.labels)
    try:
        scores = metrics.evaluate(gold.labels, predicted)
    except DataError as err:
        raise DataError.at(gold.source, None, str(err)) from None
    under: dict[str, Any] = {"rules": obeyed is not None, "broken": broken}
    under["calibration"] = measured(estimator, gold, predicted, obeyed)
    if n_worst is not None:
        under["mistakes"] = mistakes(estimator, gold, predicted, counted, n_worst)
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


def evaluation_report(result: dict[str, Any], *, list_mistakes: bool = False) -> Iterator[Any]:
    span = result["span_f1"]
    yield f"token accuracy     {result['token_accuracy']:7.2%}   ({result['n_tokens']} tokens)"
    yield f"sequence accuracy  {result['sequence_accuracy']:7.2%}   ({result['n_sequences']} sequences)"
    yield "span F1                  -" if span is None else f"span F1            {span:7.2%}"
    rows = [
        (label, *(f"{row[key]:.1%}" for key in ("precision", "recall", "f1")), str(row["support"]))
        for label, row in result["per_label"].items()
    ]
    yield table(("label", "precision", "recall", "F1", "support"), rows)
    if result["calibration"]:
        yield ""
        yield from measured_report(result["calibration"])
    if result["broken"] is not None:
        yield from _broken_report(result)
    if list_mistakes:
        yield from mistakes_report(result["mistakes"])


def _broken_report(result: dict[str, Any]) -> Iterator[Any]:
    predicted, gold = result["broken"]["predicted"], result["broken"]["gold"]
    how = "under the rules" if result["rules"] else "without the rules"
    yield f"\nlabelled {how}; sequences that break a rule:"
    rows = {"any instance rule": (predicted["any"], gold["any"])}
    rows |= {rule: (n, gold["rules"][rule]) for rule, n in predicted["rules"].items() if n or gold["rules"][rule]}
    shares = [(r, f"{a} of {predicted['sequences']}", f"{b} of {gold['sequences']}") for r, (a, b) in rows.items()]
    yield table(("rule", "predicted", "gold"), shares)
