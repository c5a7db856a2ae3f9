"""Running text in which some stretches of characters have a label: the content of `jsonl` and `inline` files.

Spans count characters here, not tokens.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

from semistruct.corpus import Example, Labels, Token
from semistruct.errors import DataError, DataWarning, ParameterError, all_of, quoted, shortened
from semistruct.labels import OUTSIDE, Span, encode, scheme_of, spans
from semistruct.tokens import WORDS, tokenize

UNKNOWN_MARK = "?"
CUTS = ("split", "widen", "refuse")
LONGEST_TEXT = 2_000_000  # characters of one sequence


@dataclass
class Reader:
    """How one file is read; makes examples of its marked texts.

    outside       the label of tokens in no mark, "?" if it is unknown, None for what is usual in the format
    scheme        that the labels are to be in; in a plain one, marks of one label that touch become one, with a warning
    tokens        how to cut text, see `semistruct.tokens`
    cut_tokens    what to do with a mark that begins or ends inside a token, see `semistruct.read`
    label_column  see `semistruct.read`, as label_names
    """

    source: str
    outside: str | None = None
    scheme: str | None = None
    tokens: str = WORDS
    cut_tokens: str | None = None
    label_column: int | str | None = None
    label_names: Sequence[str] | None = None
    told: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not isinstance(self.outside, str | None):
            raise ParameterError(f"outside is {quoted(self.outside)}, expected a label")
        if not isinstance(self.cut_tokens, str | None) or self.cut_tokens not in (None, *CUTS):
            raise ParameterError(f"cut_tokens is {quoted(self.cut_tokens)}, expected {', '.join(CUTS)}")

    def by_default_outside(self) -> Reader:
        """The same, for a format in which text in no mark is meant to be outside."""
        return replace(self, outside=self.outside or OUTSIDE)

    def example(
        self, text: str, marks: Iterable[Span] | None, line: int, offsets: list[tuple[int, int]] | None = None
    ) -> Example:
        """The tokens of `text`, each of which is in one mark or in none.

        marks    None means that nothing is labelled
        offsets  of the tokens, if the file gives them
        """
        _check_length(text)
        cut_by = self.tokens if offsets is None else None
        how = self.cut_tokens or ("split" if offsets is None else "refuse")
        if offsets is None:
            words, offsets = tokenize(text, self.tokens)
        else:
            words = [text[a:b] for a, b in offsets]
        if not offsets:
            raise DataError("the sequence has no tokens")
        labels = None
        if marks is not None:
            marks = sorted(marks, key=lambda m: m.start)
            _check(marks, len(text))
            if how == "split":
                offsets = _cut(offsets, [edge for m in marks for edge in (m.start, m.end)])
            else:
                marks = [_widened(m, text, offsets, how) for m in marks]
                _check(marks, len(text))
            words = [text[a:b] for a, b in offsets]
            labels = known(self.labels(marks, [a for a, _ in offsets], line))
        return Example([*words], labels, text, offsets, line, cut_by=cut_by)

    def ignore(self, names: Iterable[str], line: int) -> None:
        """Warn of content that is not read, once for each name."""
        new = [name for name in names if name not in self.told]
        self.told.update(new)
        if new:
            listed = all_of(map(quoted, new))
            warnings.warn(f"{self.source}:{line}: not read, here and below: {listed}", DataWarning, stacklevel=2)

    def note(self, problem: str, line: int) -> None:
        """Warn of something in the file, once."""
        if problem not in self.told:
            self.told.add(problem)
            warnings.warn(f"{self.source}:{line}: {problem}", DataWarning, stacklevel=2)

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
        for (one, marked), (two, too) in pairwise(runs):
            if scheme == "plain" and marked and too and one.label == two.label and scheme_of([one.label]) == "plain":
                self.note(_touch(one.label), line)
        labels = encode(inside, len(starts), scheme)
        return [None if m is None and outside is None else y for m, y in zip(owners, labels, strict=True)]


def known(labels: Iterable[str | None]) -> Labels | None:
    """`labels` as a list, or None when not one of them is known."""
    listed = list(labels)
    return None if all(y is None for y in listed) else listed


def text_of(example: Example) -> tuple[str, list[tuple[int, int]]]:
    """The text of an example and where its tokens are: the original, or the tokens joined by blanks."""
    if example.text is not None and example.offsets is not None:
        return example.text, example.offsets
    words, offsets, at = words_of(example), [], 0
    for word in words:
        offsets.append((at, at + len(word)))
        at += len(word) + 1
    return " ".join(words), offsets


def text_to_write(example: Example) -> tuple[str, list[tuple[int, int]]]:
    """The same as `text_of`; a text that would not be read is refused."""
    text, offsets = text_of(example)
    _check_length(text)
    return text, offsets


def cut_anew(example: Example, text: str) -> list[str]:
    """The tokens of a marked text when it is read without knowing them."""
    words, offsets = tokenize(text, example.cut_by or WORDS)
    if words == example.tokens:  # which no mark of the example cuts
        return words
    return [text[a:b] for a, b in _cut(offsets, [edge for m in marks_of(example) for edge in (m.start, m.end)])]


def complete_marks_of(example: Example) -> list[Span]:
    """The same as `marks_of`, for a format in which text in no mark is outside: unknown labels are refused."""
    if None in (example.labels or ()):
        raise DataError("a label is unknown, which this format cannot tell from O; use jsonl instead")
    return marks_of(example)


def marks_of(example: Example) -> list[Span]:
    """The labelled spans of an example as stretches of its text.

    Unknown tokens are in none; nor are those labelled "O", unless there are unknown ones to tell them from.
    """
    _, offsets = text_of(example)
    labels = example.labels or []
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


def word_of(token: Token) -> str:
    """The token without its further columns."""
    return token if isinstance(token, str) else token[0]


def _check_length(text: str) -> None:
    if len(text) > LONGEST_TEXT:
        problem = f"the text has {len(text):,} characters, but a sequence can have at most {LONGEST_TEXT:,}"
        raise DataError(f"{problem}; split it into several sequences")


def _check(marks: list[Span], length: int) -> None:
    for m in marks:
        if not 0 <= m.start < m.end <= length:
            raise DataError(f"span {_edges(m)} is empty or outside the text, which has {length} characters")
    for m, n in pairwise(marks):
        if n.start < m.end:
            raise DataError(f"spans {_edges(m)} and {_edges(n)} overlap")


def _edges(mark: Span) -> str:
    return shortened(f"{mark.start}-{mark.end}")


def _cut(offsets: list[tuple[int, int]], edges: list[int]) -> list[tuple[int, int]]:
    """The same stretches, split wherever one of the sorted edges falls inside."""
    pieces: list[tuple[int, int]] = []
    for a, b in offsets:
        inner = sorted(set(edges[bisect_right(edges, a) : bisect_left(edges, b)]))
        pieces += pairwise([a, *inner, b])
    return pieces


def _widened(mark: Span, text: str, offsets: list[tuple[int, int]], how: str) -> Span:
    """The mark with all of the tokens at its ends; refused if it does not have them and how is "refuse"."""
    start, end = mark.start, mark.end
    for edge in (start, end):
        i = bisect_right(offsets, edge, key=lambda span: span[0]) - 1
        a, b = offsets[i] if i >= 0 else (edge, edge)
        if not a < edge < b:
            continue
        if how == "refuse":
            hint = "see --cut-tokens (cut_tokens=): widen or split"
            raise DataError(f"span {_edges(mark)} of {quoted(mark.label)} cuts the token {quoted(text[a:b])}; {hint}")
        start, end = min(start, a), max(end, b if edge == mark.end else end)
    return Span(mark.label, start, end)


def _touch(label: str) -> str:
    return f"two spans of {quoted(label)} touch and are read as one; use the scheme bio to keep them apart"


def _mark_at(marks: list[Span], position: int) -> Span | None:
    i = bisect_right(marks, position, key=lambda m: m.start) - 1
    return marks[i] if i >= 0 and position < marks[i].end else None
