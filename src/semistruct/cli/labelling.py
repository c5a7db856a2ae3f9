"""`semistruct predict` and `semistruct evaluate`: the labels of a model, and how good they are."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from semistruct import metrics
from semistruct.cli import notices
from semistruct.cli.answering import Placed, Told, answered
from semistruct.cli.asking import Answering, Wanted
from semistruct.cli.kinds import check_order
from semistruct.cli.options import Accepting, Obeying, Reading, Writing, trusting
from semistruct.cli.output import table
from semistruct.cli.progress import counting
from semistruct.cli.resuming import Part, origin, refuse_unresumable
from semistruct.cli.trusting import Split, measured, measured_report
from semistruct.corpus import Corpus, Example, Labelling, Labels
from semistruct.errors import DataError, DataWarning, quoted
from semistruct.files import source_name, state_of
from semistruct.fitting.data import label_codes
from semistruct.formats import FORMATS, Stream, named_after, stream, write
from semistruct.labels import scheme_of
from semistruct.rules import Rules

CHUNK = 2000  # sequences labelled at a time
CHUNK_TOKENS = 200_000  # and tokens, but for one sequence


def predict(
    model: Path,
    inputs: list[str],
    reading: Reading,
    obeying: Obeying,
    *,
    writing: Writing,
    wanted: Wanted,
    accepting: Accepting,
) -> None:
    """Label the inputs one chunk at a time, so that they may be larger than memory."""
    rules, output = obeying.obeyed(), writing.output
    check_order(model, inputs)
    if writing.resume:
        refuse_unresumable(inputs, output, model)
    for path in inputs:
        notices.tell(notices.of_tags(path, reading.format, reading.encoding))
    estimator = obeying.loaded(model)
    obeyed = estimator.model_.rules_to_obey(rules)
    promise, split = None, Split(accepting.by, scheme_of(estimator.classes_))
    if accepting.accept is not None:
        promise = estimator.promise(accepting.accept, by=accepting.by, rules=rules)
    options = replace(reading.cutting(estimator.tokens_), scheme=None).options()
    first = _opened(inputs[0], options)
    streams = chain([(inputs[0], first)], ((path, _opened(path, options)) for path in inputs[1:]))
    target = writing.to or natural_format(first.format, output)
    examples, ask = _read(streams, estimator), Answering(estimator, obeyed, wanted, promise)
    if writing.resume:
        made_from = origin(model, inputs, reading, rules, {"--to": target, **wanted.options()})
        _resume(ask, examples, Part(output, made_from, target, reading.scheme), obeying, writing.quiet)
        return
    with counting(writing.quiet or output == "-") as show, closing(_answered(ask, examples, obeying, show)) as answers:
        labelled: Iterator[Example]
        if promise is None:
            labelled = (_labelled(*one, wanted) for one in answers)
        elif accepting.rest is None:
            labelled = split.marked(_accepted(answers))
        else:
            form = writing.to or natural_format(first.format, accepting.rest)
            labelled = split.sure_ones(_accepted(answers), accepting.rest, format=form, scheme=reading.scheme)
        try:
            write(labelled, output, target, scheme=reading.scheme)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("the output is not complete" if output == "-" else "") from None
    if promise is not None:
        split.tell(promise.text)


def _resume(ask: Answering, examples: Iterator[Placed], part: Part, obeying: Obeying, quiet: bool) -> None:
    """Label what is not yet in the part, which becomes the output."""
    before = part.reached.sequences
    told = Told(before, part.reached.uncertain)
    try:
        with part.continued(), counting(quiet) as show, trusting(obeying.trust):
            show(before, before)
            chunks = _chunks(islice(examples, before, None))
            with closing(answered(ask, chunks, obeying, told)) as answers:
                for chunk in answers:
                    part.add((_labelled(*one, ask.wanted) for one in chunk), told.uncertain)
                    show(part.reached.sequences, before)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(part.kept()) from None


def _answered(
    ask: Answering, examples: Iterator[Placed], obeying: Obeying, show: Callable[[int, int], None] | None = None
) -> Generator[tuple[Example, Any]]:
    """The examples, each with what was found for it; `show` is told how many there are so far."""
    done = 0
    with (
        trusting(obeying.trust),
        closing(answered(ask, _chunks(examples, ask.wanted.corpus), obeying, Told())) as answers,
    ):
        for chunk in answers:
            yield from chunk
            done += len(chunk)
            if show is not None:
                show(done, 0)


def _chunks(examples: Iterator[Placed], whole: bool = False) -> Iterator[list[Placed]]:
    """The examples in lists of bearable size, or all in one."""
    chunk: list[Placed] = []
    tokens = 0
    for one in examples:
        chunk.append(one)
        tokens += len(one[1])
        if not whole and (len(chunk) >= CHUNK or tokens >= CHUNK_TOKENS):
            yield chunk
            chunk, tokens = [], 0
    if chunk:
        yield chunk


def _opened(path: str, options: dict[str, Any]) -> Stream:
    """The sequences of a file; in a pipe there may be none."""
    return stream(path, **options, may_be_empty=path == "-")


def _read(streams: Iterable[tuple[str, Stream]], estimator: Any) -> Iterator[Placed]:
    """The sequences with the names of their files."""
    for path, examples in streams:
        before = state_of(path)
        first = list(islice(examples, CHUNK))
        if estimator.look_ is not None:
            estimator.look_.warn_of_difference(source_name(path), [example.tokens for example in first])
        if examples.format == "csv-texts":
            notices.tell(notices.of_columns(source_name(path), first, estimator.classes_))
        for example in chain(first, examples):
            yield source_name(path), example
        if state_of(path) != before:
            problem = "has changed while it was read; the labels may be those of old and new content"
            warnings.warn(f"{source_name(path)}: {problem}", DataWarning, stacklevel=2)


def natural_format(format: str, output: str) -> str:
    """The format of the input, unless the name of the output says otherwise; plain text gets tags."""
    return named_after(output) or FORMATS[format].answer or format


def _labelled(example: Example, best: list[Labelling], wanted: Wanted) -> Example:
    """The example with the labels of the model."""
    return example.labelled(best[0], None if wanted.n_best is None else best)


def _accepted(answers: Iterable[tuple[Example, Any]]) -> Iterator[tuple[Example, Any]]:
    """The examples with the labels of the model, and what of them is sure."""
    for example, (labels, sure) in answers:
        yield replace(example, labels=labels), sure


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
    obeyed = estimator.model_.rules_to_obey(rules)
    ask = Answering(estimator, obeyed, Wanted())
    predicted = [best[0].labels for _, best in _answered(ask, ((gold.source, e) for e in gold), obeying)]
    seconds = time.perf_counter() - began
    counted = estimator.model_.rules if obeyed is None else obeyed
    broken = None if counted is None else _broken(counted, gold, predicted, estimator.model_.labels)
    try:
        scores = metrics.evaluate(gold.labels, predicted)
    except DataError as err:
        raise DataError.at(gold.source, None, str(err)) from None
    under: dict[str, Any] = {"rules": obeyed is not None, "broken": broken}
    under["calibration"] = measured(estimator, gold, predicted, obeyed)
    if n_worst is not None:
        from semistruct.cli.mistakes import mistakes

        under["mistakes"] = mistakes(estimator, gold, predicted, counted, n_worst)
    return {"model": str(model), "data": gold.source, "seconds": seconds, **scores, **under}


def _broken(rules: Rules, gold: Corpus, predicted: list[Labels | None], labels: Sequence[str]) -> dict[str, Any]:
    """How many sequences break each rule, as predicted and as they are; and how many break any."""
    out: dict[str, Any] = {}
    known = set(labels)
    complete = [row is not None and known.issuperset(row) for row in gold.labels]
    truth = [row if whole else other for row, other, whole in zip(gold.labels, predicted, complete, strict=True)]
    tables = rules.compile(gold.tokens, labels)
    for name, rows, which in (("predicted", predicted, [True] * len(gold)), ("gold", truth, complete)):
        broken = tables.broken(label_codes(rows, [len(x) for x in gold.tokens], labels))[which]
        out[name] = {
            "sequences": sum(which),
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
        from semistruct.cli.mistakes import mistakes_report

        yield from mistakes_report(result["mistakes"])


def _broken_report(result: dict[str, Any]) -> Iterator[Any]:
    predicted, gold = result["broken"]["predicted"], result["broken"]["gold"]
    how = "under the rules" if result["rules"] else "without the rules"
    yield f"\nlabelled {how}; sequences that break a rule:"
    rows = {"any instance rule": (predicted["any"], gold["any"])}
    rows |= {rule: (n, gold["rules"][rule]) for rule, n in predicted["rules"].items() if n or gold["rules"][rule]}
    shares = [(r, f"{a} of {predicted['sequences']}", f"{b} of {gold['sequences']}") for r, (a, b) in rows.items()]
    yield table(("rule", "predicted", "gold"), shares)
