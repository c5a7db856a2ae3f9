"""A trained model as a step of a spaCy pipeline; spaCy itself is optional.

    nlp.add_pipe("semistruct", config={"model": "refs.model"})

A document is a sequence.  Its labelled spans go into doc.spans["semistruct"], with how sure the model is of each in the
attribute "scores" of the group, and become entities where there are none yet.  The model travels with the pipeline: a
pipeline that is loaded from a folder does not need the model file any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from semistruct.base.errors import ModelError, quoted
from semistruct.base.files import make_folder, reason, replacing
from semistruct.data.formats.docbin import SPANS, load_spacy, offsets_of
from semistruct.data.labels import scheme_of, spans
from semistruct.data.tokens import GIVEN, checked_tokens, tokenize
from semistruct.methods import load

spacy = load_spacy()
from spacy.language import Language  # noqa: E402

NAME = "semistruct"
FILE = "model.semistruct"  # in the folder of a pipeline
DEFAULTS = {"model": None, "tokens": None, "rules": True, "ents": True, "scores": True}


@Language.factory(NAME, assigns=["doc.spans", "doc.ents"], default_config=DEFAULTS)
class PipelineStep:
    """Labels documents.

    model   a model file, read when it is first needed
    tokens  how the text of a document is cut, as `semistruct.tokenize` has it; "given": the tokens of the document;
            default: as the model has learned it
    rules   label under the rules of the model, if it has any
    ents    make entities of the spans too
    scores  say how likely each span is right, as `confidence` of the model has it

    The attribute `trust` lists modules whose functions the model may call, as for `semistruct.load`.  Whoever uses the
    pipeline sets it; it is not saved, so that nobody else's pipeline brings it along.
    """

    trust: Sequence[str] = ()

    def __init__(
        self, nlp: Language, name: str, model: str | None, tokens: str | None, rules: bool, ents: bool, scores: bool
    ) -> None:
        self.name, self.path, self.tokens = name, model, tokens and checked_tokens(tokens)
        self.rules, self.ents, self.scores = rules, ents, scores
        self._content: bytes | None = None
        self._estimator: Any = None

    @property
    def content(self) -> bytes:
        """The model file."""
        if self._content is None:
            if self.path is None:
                raise ModelError(f'the step {quoted(self.name)} has no model; add it with config={{"model": FILE}}')
            try:
                self._content = Path(self.path).read_bytes()
            except OSError as err:
                raise ModelError(f"{self.path}: cannot read: {reason(err)}") from None
        return self._content

    @property
    def estimator(self) -> Any:
        """The model, ready to predict."""
        if self._estimator is None:
            with TemporaryDirectory() as folder:
                path = Path(folder) / (FILE if self.path is None else Path(self.path).name)
                path.write_bytes(self.content)
                try:
                    self._estimator = load(path, trust=self.trust)
                except ModelError as err:
                    raise ModelError(str(err).replace(str(path), self.path or self.name)) from None
        return self._estimator

    def __call__(self, doc: Any) -> Any:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Any], batch_size: int = 128) -> Iterator[Any]:
        """Label many documents, a batch at a time."""
        for docs in spacy.util.minibatch(stream, batch_size):
            cut = [self._cut(doc) for doc in docs]
            X = [[doc.text[a:b] for a, b in places] for doc, places in zip(docs, cut, strict=True) if places]
            found = iter(self._labelled(X))
            for doc, places in zip(docs, cut, strict=True):
                self._mark(doc, places, *(next(found) if places else ([], [])))
                yield doc

    def _cut(self, doc: Any) -> list[tuple[int, int]]:
        """Where in the text of a document the tokens are."""
        cut = self.tokens or self.estimator.tokens_
        return offsets_of(doc) if cut == GIVEN else tokenize(doc.text, cut)[1]

    def _labelled(self, X: list[list[str]]) -> Iterator[tuple[list[str], list[float]]]:
        """The labels of each sequence, and how sure the model is of each span."""
        model = self.estimator
        labels = model.predict(X, rules=self.rules) if X else []
        sure = (
            [row.tolist() for row in model.confidence(X, labels, rules=self.rules, by="block")]
            if self.scores and X
            else [[]] * len(X)
        )
        return zip(labels, sure, strict=True)

    def _mark(self, doc: Any, places: list[tuple[int, int]], labels: list[str], sure: list[float]) -> None:
        """Set the spans and the entities of a document."""
        found = []
        for label, start, end in spans(labels, scheme_of(self.estimator.classes_) if labels else None):
            found.append(_aligned(doc, places[start][0], places[end - 1][1], label))
        group = spacy.tokens.SpanGroup(doc, name=SPANS, spans=found)
        if self.scores:
            group.attrs["scores"] = np.array(sure, np.float64)
        doc.spans[SPANS] = group
        if self.ents:
            doc.ents = [*doc.ents, *_apart(found, {token.i for ent in doc.ents for token in ent})]

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        return self.content

    def from_bytes(self, content: bytes, *, exclude: Iterable[str] = ()) -> PipelineStep:
        self._content, self._estimator = content, None
        return self

    def to_disk(self, path: Any, *, exclude: Iterable[str] = ()) -> None:
        with replacing(make_folder(path) / FILE) as file:
            file.write(self.content)

    def from_disk(self, path: Any, *, exclude: Iterable[str] = ()) -> PipelineStep:
        try:
            return self.from_bytes((Path(path) / FILE).read_bytes())
        except OSError as err:
            raise ModelError(f"{Path(path) / FILE}: cannot read: {reason(err)}") from None


def _aligned(doc: Any, start: int, end: int, label: str) -> Any:
    """The tokens of spaCy of which at least half is between two places; if there is none, those that are touched."""
    touched = doc.char_span(start, end, alignment_mode="expand")
    inside = [t.i for t in touched if 2 * (min(t.idx + len(t), end) - max(t.idx, start)) >= len(t)]
    inside = inside or [touched.start, touched.end - 1]
    return spacy.tokens.Span(doc, inside[0], inside[-1] + 1, label=label)


def _apart(found: list[Any], taken: set[int]) -> Iterator[Any]:
    """The spans that share no token with one another or with those taken; of two, the first."""
    for span in found:
        own = set(range(span.start, span.end))
        if not own & taken:
            taken |= own
            yield span
