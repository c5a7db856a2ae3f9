"""Documents of spaCy in its binary format, the DocBin, in files that end in `.spacy`; spaCy itself is optional.

A document is a sequence with the tokens of spaCy, but for those that are white space.  Labels come from the entities of
a document or, if these were never set, from its spans: those called "semistruct", or the only ones there are.  Tokens
that are known to be in no entity are "O"; tokens in no span are unknown.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from semistruct.base.errors import DataError, SemistructError, all_of, quoted
from semistruct.base.files import PathLike, reason, replacing
from semistruct.data.corpus import Example, Labels, Token, word_of
from semistruct.data.formats.base import Format, Sample
from semistruct.data.formats.marked import Reader, known, text_of
from semistruct.data.labels import OUTSIDE, Span, spans

SPANS = "semistruct"
"""The name of our spans in a document."""


def load_spacy() -> Any:
    """The module spacy."""
    try:
        import spacy.tokens
    except ImportError:
        raise SemistructError("this needs spaCy, which is not installed: pip install 'semistruct[spacy]'") from None
    return spacy


class DocBin(Format):
    name = "spacy"
    rank = 100  # never asked: it is known by its ending
    end_to_end = False
    ending = ".spacy"
    answer = "inline"
    recutting = "makes tokens of all of a text"

    def looks_like(self, sample: Sample) -> bool:
        return False

    def read(self, path: PathLike, encoding: str, reader: Reader) -> Iterator[Example]:
        """The sequences of a file, which holds no text; the numbers of documents, from 1, take the place of lines."""
        spacy = load_spacy()
        if os.fspath(path) == "-":
            raise DataError("documents of spaCy cannot be read from standard input; name a file")
        try:
            content = Path(path).read_bytes()
        except OSError as err:
            raise DataError.at(reader.source, None, f"cannot read: {reason(err)}") from err
        try:
            stored = spacy.tokens.DocBin().from_bytes(content)
            stored.user_data = []
            docs = list(stored.get_docs(spacy.vocab.Vocab()))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, AssertionError) as err:
            raise DataError.at(reader.source, None, "not a DocBin of spaCy, or damaged") from err
        finally:
            gc.enable()  # which spaCy leaves disabled if it cannot read the content
        for number, doc in enumerate(docs, 1):
            try:
                example = _example(doc, number, reader)
            except DataError as err:
                raise DataError.at(reader.source, number, str(err)) from None
            except (KeyError, ValueError):  # of spaCy: a label, a word or a name of spans
                problem = "damaged: it names a text that the DocBin does not have"
                raise DataError.at(reader.source, number, problem) from None
            if example is not None:
                yield example

    def write(self, examples: Iterable[Example], target: object, encoding: str) -> None:
        """Write sequences as documents whose entities are the labelled spans."""
        spacy = load_spacy()
        if not isinstance(target, str | os.PathLike) or target == "-":
            raise DataError("documents of spaCy are written to a file only; name one")
        vocab, stored = spacy.vocab.Vocab(), spacy.tokens.DocBin()
        for i, example in enumerate(examples):
            try:
                stored.add(_document(spacy, vocab, example))
            except (ValueError, UnicodeError) as err:
                raise DataError(f"sequence {i}: spaCy cannot hold it: {err}") from None
        with replacing(target) as file:
            file.write(stored.to_bytes())

    def tokens_back(self, example: Example) -> Sequence[Token]:
        return [word for word in _words(example)[0] if not word.isspace()]


def tokens_of(doc: Any) -> list[Any]:
    """The tokens of a document that are more than white space."""
    return [token for token in doc if not token.text.isspace()]


def offsets_of(doc: Any) -> list[tuple[int, int]]:
    """Where in the text of a document these tokens are."""
    return [(token.idx, token.idx + len(token)) for token in tokens_of(doc)]


def _example(doc: Any, number: int, reader: Reader) -> Example | None:
    tokens, offsets = tokens_of(doc), offsets_of(doc)
    if not tokens:
        return None
    labels: Labels | None = None
    found = _spans(doc)
    if found is not None:
        marks = sorted((Span(one.label_, one.start_char, one.end_char) for one in found), key=lambda one: one.start)
        if any(one.end > two.start for one, two in pairwise(marks)):
            raise DataError("two spans overlap; a token can have one label only")
        labels = reader.labels(marks, [a for a, _ in offsets], number)
        outside = reader.outside or OUTSIDE
        labels = known(
            outside if y is None and token.ent_iob_ == "O" else y for y, token in zip(labels, tokens, strict=True)
        )
    return Example([token.text for token in tokens], labels, doc.text, offsets, line=number)


def _spans(doc: Any) -> list[Any] | None:
    """The labelled spans of a document, None if nothing is labelled."""
    if doc.has_annotation("ENT_IOB") or not len(doc.spans):
        return list(doc.ents) if doc.has_annotation("ENT_IOB") else None
    if SPANS not in doc.spans and len(doc.spans) > 1:
        raise DataError(f"no entities, and spans called {all_of(map(quoted, doc.spans))}; expected one kind of spans")
    return list(doc.spans[SPANS] if SPANS in doc.spans else next(iter(doc.spans.values())))


def _document(spacy: Any, vocab: Any, example: Example) -> Any:
    words, spaces, place = _words(example)
    doc = spacy.tokens.Doc(vocab, words=words, spaces=spaces)
    if example.labels is None:
        return doc

    def part(start: int, end: int, label: str = "") -> Any:
        return spacy.tokens.Span(doc, place[start], place[end - 1] + 1, label=label)

    ents = [part(one.start, one.end, one.label) for one in spans(example.labels)]
    missing = [part(t, t + 1) for t, label in enumerate(example.labels) if label is None]
    doc.set_ents(ents, missing=missing, default="outside")
    return doc


def _words(example: Example) -> tuple[list[str], list[bool], list[int]]:
    """(words, whether a blank follows each, the place of each token); further white space is a word of its own."""
    text, offsets = text_of(example)
    words, spaces, place, at = list[str](), list[bool](), list[int](), 0
    for token, (a, b) in zip([*example.tokens, ""], [*offsets, (len(text), len(text))], strict=True):
        gap = text[at:a]
        if words and gap.startswith(" "):
            spaces[-1], gap = True, gap[1:]
        if gap:
            words.append(gap)
            spaces.append(False)
        if token:
            place.append(len(words))
            words.append(word_of(token))
            spaces.append(False)
        at = b
    return words, spaces, place
