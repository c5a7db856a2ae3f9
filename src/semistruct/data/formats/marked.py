"""Running text in which some stretches of characters, the marks, have a label.

Spans count characters here, not tokens.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from semistruct.base.errors import DataError, DataWarning, ParameterError, all_of, quoted, shortened
from semistruct.data.corpus import Example, Labels, word_of
from semistruct.data.labels import OUTSIDE, Span, encode, scheme_of, spans
from semistruct.data.tokens import WORDS, checked_tokens, tokenize

UNKNOWN_MARK = "?"
LONGEST_TEXT = 2_000_000  # characters of one sequence

Offsets = list[tuple[int, int]]


@dataclass
class Reader:
    """How one file is read, by the options of `semistruct.read`; makes examples of its marked texts.

    outside  the label of tokens in no mark, "?" if it is unknown, None for what is usual in the format
    scheme   that the labels are to be in; in a plain one, marks of one label that touch become one, with a warning
    text_column  in a table of texts: the name of their column, None for a usual one
    told     warnings and names that are not told again
    """

    source: str
    outside: str | None = None
    scheme: str | None = None
    tokens: str = WORDS
    label_column: int | str | None = None
    label_names: Sequence[str] | None = None
    text_column: str | None = None
    told: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        checked_tokens(self.tokens)
        if not isinstance(self.outside, str | None):
            raise ParameterError(f"outside is {quoted(self.outside)}, expected a label")

    def example(self, text: str, marks: Iterable[Span] | None, line: int, offsets: Offsets | None = None) -> Example:
        """The tokens of `text`, each of which is in one mark or in none: a mark that ends inside a token splits it.

        marks    None means that nothing is labelled
        offsets  of the tokens, if the file gives them
        """
        check_length(text)
        cut_by = self.tokens if offsets is None else None
        words: list[str] | None = None
        if offsets is None:
            words, offsets = tokenize(text, self.tokens)
        if not offsets:
            raise DataError("the sequence has no tokens")
        labels = None
        if marks is not None:
            marks = sorted(marks, key=lambda m: m.start)
            _check(marks, len(text))
            offsets = _split(offsets, marks)
            words, labels = None, known(self.labels(marks, [a for a, _ in offsets], line))
        tokens = [text[a:b] for a, b in offsets] if words is None else words
        return Example([*tokens], labels, text, offsets, line, cut_by=cut_by)

    def labels(self, marks: list[Span], starts: list[int], line: int) -> Labels:
        """The labels of the tokens that begin at `starts`."""
        outside = None if self.outside == UNKNOWN_MARK else self.outside
        owners = [_mark_at(marks, a) for a in starts]
        runs, at = [], 0  # (tokens of one mark or between two, whether in a mark)
        for mark, run in groupby(owners):
            end = at + len(list(run))
            runs.append((Span((outside or OUTSIDE) if mark is None else mark.label, at, end), mark is not None))
            at = end
        inside = [span for span, _ in runs if span.label != OUTSIDE]
        # Labels with prefixes are in a scheme already; `stream` converts them.
        scheme = self.scheme if self.scheme and scheme_of(s.label for s in inside) == "plain" else "plain"
        for (left, marked), (right, too) in pairwise(runs) if scheme == "plain" else ():
            if marked and too and left.label == right.label and scheme_of([left.label]) == "plain":
                hint = "touch and are read as one; use the scheme bio to keep them apart"
                self.note(f"two spans of {quoted(left.label)} {hint}", line)
        labels = encode(inside, len(starts), scheme)
        return [None if m is None and outside is None else y for m, y in zip(owners, labels, strict=True)]

    def ignore(self, names: Iterable[str], line: int) -> None:
        """Warn of content that is not read, once for each name."""
        new = [name for name in names if name not in self.told]
        self.told.update(new)
        if new:
            self.note(f"not read, here and below: {all_of(map(quoted, new))}", line)

    def note(self, problem: str, line: int) -> None:
        """Warn of something in the file, once."""
        if problem not in self.told:
            self.told.add(problem)
            warnings.warn(f"{self.source}:{line}: {problem}", DataWarning, stacklevel=2)


def known(labels: Iterable[str | None]) -> Labels | None:
    """`labels` as a list, or None when not one of them is known."""
    listed = list(labels)
    return None if all(y is None for y in listed) else listed


def text_of(example: Example) -> tuple[str, Offsets]:
    """The text of an example and where its tokens are: the original, or the tokens joined by blanks."""
    if example.text is not None and example.offsets is not None:
        return example.text, example.offsets
    words, offsets, at = words_of(example), [], 0
    for word in words:
        offsets.append((at, at + len(word)))
        at += len(word) + 1
    return " ".join(words), offsets


def check_length(text: str) -> str:
    """The text; refuses one that is longer than a sequence may be."""
    if len(text) > LONGEST_TEXT:
        problem = f"the text has {len(text):,} characters, but a sequence can have at most {LONGEST_TEXT:,}"
        raise DataError(f"{problem}; split it into several sequences")
    return text


def cut_anew(example: Example, text: str) -> list[str]:
    """The tokens of a marked text when it is read without knowing them."""
    words, offsets = tokenize(text, example.cut_by or WORDS)
    if words == example.tokens:  # which no mark of the example cuts
        return words
    return [text[a:b] for a, b in _split(offsets, marks_of(example))]


def marks_of(example: Example, complete: bool = False) -> list[Span]:
    """The labelled spans of an example as stretches of its text.

    Unknown tokens are in none; nor are those labelled "O", unless there are unknown ones to tell them from.

    complete  for a format in which text in no mark is outside: unknown labels are refused
    """
    _, offsets = text_of(example)
    labels = example.labels or []
    if complete and None in labels:
        raise DataError("a label is unknown, which this format cannot tell from O; use jsonl instead")
    found = spans(labels)
    if (scheme := scheme_of(s.label for s in found)) != "plain":
        problem = f"the label {quoted(found[0].label)} of a span would be read as a label of the scheme {scheme}"
        raise DataError(f"{problem}; rename it")
    if None in labels:
        runs = [list(run) for out, run in groupby(range(len(labels)), lambda t: labels[t] == OUTSIDE) if out]
        found = sorted([*found, *(Span(OUTSIDE, run[0], run[-1] + 1) for run in runs)], key=lambda s: s.start)
    return [Span(s.label, offsets[s.start][0], offsets[s.end - 1][1]) for s in found]


def words_of(example: Example) -> list[str]:
    """The tokens of an example without their further columns."""
    return [word_of(token) for token in example.tokens]


def _check(marks: list[Span], length: int) -> None:
    for m in marks:
        if not 0 <= m.start < m.end <= length:
            raise DataError(f"span {_edges(m)} is empty or outside the text, which has {length} characters")
    for m, n in pairwise(marks):
        if n.start < m.end:
            raise DataError(f"spans {_edges(m)} and {_edges(n)} overlap")


def _edges(mark: Span) -> str:
    return shortened(f"{mark.start}-{mark.end}")


def _split(offsets: Offsets, marks: list[Span]) -> Offsets:
    """The same stretches, split wherever one of the marks, which are in order, begins or ends inside."""
    edges = [edge for mark in marks for edge in (mark.start, mark.end)]
    pieces: Offsets = []
    for a, b in offsets:
        inner = sorted(set(edges[bisect_right(edges, a) : bisect_left(edges, b)]))
        pieces += pairwise([a, *inner, b])
    return pieces


def _mark_at(marks: list[Span], position: int) -> Span | None:
    i = bisect_right(marks, position, key=lambda m: m.start) - 1
    return marks[i] if i >= 0 and position < marks[i].end else None
