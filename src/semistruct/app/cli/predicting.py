"""`semistruct predict`: the labels of a model, for files of any size."""

from __future__ import annotations

import pickle
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from semistruct.app.cli import answers, notices, tabling
from semistruct.app.cli.answers import Answering, Placed, Warned, answered
from semistruct.app.cli.files import (
    Reader,
    check_ending,
    check_order,
    load_model,
    natural_format,
    own_modules,
    rules_to_obey,
)
from semistruct.app.cli.options import Labelling, Writing
from semistruct.app.cli.output import show_count
from semistruct.app.cli.parts import Parts, origin, refuse_unresumable
from semistruct.base.errors import ParameterError
from semistruct.base.files import source_name
from semistruct.data.corpus import Example, Labels
from semistruct.data.formats import Stream, stream, write
from semistruct.data.labels import scheme_of
from semistruct.data.rows import refuse_binary
from semistruct.model.answers import blocks_of


def check_together(writing: Writing) -> None:
    """Refuse options that do not go together."""
    jsonl = "jsonl" in (writing.to, Path(writing.output).suffix.lower()[1:] if writing.to is None else None)
    if writing.confidence and not jsonl and not tabling.wanted(writing, "-", None):
        raise ParameterError("--confidence needs an output that can hold it: .jsonl, .csv, .xlsx or .parquet")
    if writing.accept is None:
        for name, value in (("--rest", writing.rest), ("--accept-by", writing.accept_by)):
            if value is not None:
                raise ParameterError(f"{name} needs --accept, the share of right answers, such as --accept 0.99")
        return
    if writing.resume:
        raise ParameterError("--accept cannot go with --resume")
    if writing.rest is None and not jsonl:
        raise ParameterError("--accept needs --rest, a file for the others, or --to jsonl, which marks them")
    if writing.rest is not None and Path(writing.rest).resolve() == Path(writing.output).resolve():
        raise ParameterError("--rest and --output (-o) name the same file")


def predict(model: Path, inputs: list[str], labelling: Labelling, writing: Writing, reader: Reader) -> None:
    """Label the inputs one chunk at a time, so that they may be larger than memory."""
    rules, reading = rules_to_obey(labelling), reader.reading
    for path in inputs:
        refuse_binary(path)
    as_table = tabling.wanted(writing, inputs[0], reading.format)
    if as_table:
        tabling.check_together(writing)
    elif writing.to is None:
        check_ending(writing.output)
    check_order(model, inputs)
    if writing.resume:
        refuse_unresumable(inputs, writing.output, model, writing.to)
    estimator: Any = load_model(model, labelling.trust, labelling.jobs)
    by, promise = writing.accept_by or "sequence", None
    if writing.accept is not None:
        promise = estimator.promise(writing.accept, by=by, rules=rules)
    obeyed = estimator.model_.rules_to_obey(rules)
    if as_table:
        with own_modules(labelling.trust):
            tabling.write_table(estimator, obeyed, inputs, labelling, writing, reader)
        return
    ask = Answering(estimator, obeyed, bool(writing.confidence), promise)
    options = {**reader.cutting(estimator.tokens_).options(inputs[0]), "scheme": None}
    first = _opened(inputs[0], options)
    streams = chain([(inputs[0], first)], ((path, _opened(path, options)) for path in inputs[1:]))
    examples = _read(streams, estimator)
    target = writing.to or natural_format(first.format, writing.output)
    if writing.resume:
        refuse_unresumable(inputs, writing.output, model, target)
        made_from = origin(model, inputs, reader, rules, writing, target)
        _resume(ask, examples, Parts(writing.output, made_from, target, reading.scheme), labelling, writing.quiet)
        return
    hidden = writing.quiet or writing.output == "-"
    with (
        own_modules(labelling.trust),
        show_count(hidden) as show,
        closing(answered(ask, examples, labelling.jobs)) as found,
    ):
        split = Split(by, scheme_of(estimator.classes_))
        pairs = _counted(found, show)
        labelled: Iterator[Example]
        if promise is None:
            labelled = (example.labelled(*answer) for example, answer in pairs)
        elif writing.rest is None:
            labelled = split.marked(pairs)
        else:
            form = writing.to or natural_format(first.format, writing.rest)
            labelled = split.sure_ones(pairs, writing.rest, format=form, scheme=reading.scheme)
        try:
            write(labelled, writing.output, target, scheme=reading.scheme)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("the output is not complete" if writing.output == "-" else "") from None
    if promise is not None:
        print(f"accepted {split.accepted} of {split.all} {by}s; {promise.text}", file=sys.stderr)


def _opened(path: str, options: dict[str, Any]) -> Stream:
    """The sequences of a file; in a pipe there may be none."""
    return stream(path, **options, may_be_empty=path == "-")


def _read(streams: Iterable[tuple[str, Stream]], estimator: Any) -> Iterator[Placed]:
    """The sequences with the names of their files."""
    for path, examples in streams:
        name = source_name(path)
        first = list(islice(examples, answers.CHUNK))
        if estimator.look_ is not None:
            estimator.look_.warn_of_difference(name, [example.tokens for example in first])
        if examples.format == "csv-texts":
            notices.warn(notices.of_columns(name, first, estimator.classes_))
        for example in chain(first, examples):
            yield name, example


def _counted(chunks: Iterable[list[tuple[Example, Any]]], show: Any) -> Iterator[tuple[Example, Any]]:
    """The pairs of all chunks; `show` hears how many there are so far."""
    done = 0
    for chunk in chunks:
        yield from chunk
        done += len(chunk)
        show(done)


def _resume(ask: Answering, examples: Iterator[Placed], parts: Parts, labelling: Labelling, quiet: bool) -> None:
    """Label what is not yet in the parts, which become the output."""
    try:
        with own_modules(labelling.trust), parts.continued(), show_count(quiet) as show:
            before = parts.sequences
            warned = Warned(before, parts.uncertain)
            show(before, before)
            with closing(answered(ask, islice(examples, before, None), labelling.jobs, warned)) as found:
                for chunk in found:
                    parts.add((example.labelled(*answer) for example, answer in chunk), warned.uncertain)
                    show(parts.sequences, before)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(parts.kept()) from None


# ---- answers that need no second look


@dataclass
class Split:
    """Answers on their way to two files: sequences that are sure, and those with something to check.

    Each example comes with its labels and with what is sure: a truth value, or by field one for each block.
    """

    by: str
    scheme: str
    accepted: int = field(default=0, init=False)
    all: int = field(default=0, init=False)

    def sure_ones(self, pairs: Iterable[tuple[Example, Any]], path: str, **how: Any) -> Iterator[Example]:
        """The examples to accept; writes the others to `path` before the last one is done."""
        with tempfile.TemporaryFile() as rest:
            for example, sure in self._counted(pairs):
                if not is_sure(sure):
                    pickle.dump(example, rest)
                kept = only_sure(example, sure, self.scheme)
                if kept is not None:
                    yield kept
            rest.seek(0)
            write(_pickled(rest), path, **how)

    def marked(self, pairs: Iterable[tuple[Example, Any]]) -> Iterator[Example]:
        """All examples, each of which says what is sure."""
        for example, sure in self._counted(pairs):
            yield replace(example, about={**(example.about or {}), "sure": sure})

    def _counted(self, pairs: Iterable[tuple[Example, Any]]) -> Iterator[tuple[Example, Any]]:
        for example, (labels, sure) in pairs:
            parts = sure if isinstance(sure, list) else [sure]
            self.accepted, self.all = self.accepted + sum(parts), self.all + len(parts)
            yield replace(example, labels=labels), sure


def _pickled(file: IO[bytes]) -> Iterator[Example]:
    """The examples in a file of this process."""
    while True:
        try:
            yield pickle.load(file)
        except EOFError:
            return


def is_sure(sure: Any) -> bool:
    """Whether nothing is to be checked; where no field was found, no promise says that there is none."""
    return bool(sure) and all(sure) if isinstance(sure, list) else sure


def only_sure(example: Example, sure: Any, scheme: str) -> Example | None:
    """The example if it is sure; with the labels of its sure fields if it has some; else None."""
    if is_sure(sure):
        return example
    if not isinstance(sure, list) or not any(sure):
        return None
    labels: Labels = [None] * len(example)
    for span, ok in zip(blocks_of(example.labels or [], scheme), sure, strict=True):
        if ok:
            labels[span.start : span.end] = (example.labels or [])[span.start : span.end]
    return replace(example, labels=labels)
