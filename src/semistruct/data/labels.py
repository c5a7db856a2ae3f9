"""Label schemes: one label per token (plain), or chunks marked B-/I- (bio, iob1) and B-/I-/E-/S- (bioes).

In every scheme "O" and None are outside of all spans.  Spans are read from prefixed labels by the rules of
conlleval, which give a meaning to badly formed sequences too and read IOB1 and IOB2 alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from semistruct.base.errors import DataError, ParameterError, meant, quoted
from semistruct.data.corpus import Labels

OUTSIDE = "O"
SCHEMES = ("plain", "bio", "bioes", "iob1")


class Span(NamedTuple):
    """`label` on the positions start, ..., end - 1."""

    label: str
    start: int
    end: int


def scheme_of(label_set: Iterable[str | None]) -> str:
    """The scheme that the labels are written in: "plain", "bio" (also for IOB1) or "bioes"."""
    inside = {y for y in label_set if y is not None and y != OUTSIDE}
    prefixes = {y[:2] if len(y) > 2 else "" for y in inside}
    if not prefixes or not prefixes <= {"B-", "I-", "E-", "S-"}:
        return "plain"
    return "bio" if prefixes <= {"B-", "I-"} else "bioes"


def spans(labels: Sequence[str | None], scheme: str | None = None) -> list[Span]:
    """The labelled spans from left to right; without `scheme`, it is recognised from the labels.

    >>> spans(["B-per", "I-per", "O", "I-loc"])
    [Span(label='per', start=0, end=2), Span(label='loc', start=3, end=4)]
    """
    scheme = _check_scheme(scheme or scheme_of(labels))
    found: list[Span] = []
    start, last_prefix, last_kind = 0, OUTSIDE, ""
    parts = {label: _split(label, scheme) for label in dict.fromkeys(labels)}
    for t, (prefix, kind) in enumerate([*map(parts.__getitem__, labels), (OUTSIDE, "")]):
        begins = prefix != OUTSIDE and (prefix in "BS" or last_prefix in "OES" or kind != last_kind)
        if last_prefix != OUTSIDE and (begins or prefix == OUTSIDE):
            found.append(Span(last_kind, start, t))
        if begins:
            start = t
        last_prefix, last_kind = prefix, kind
    return found


def continuing(label: str, scheme: str) -> tuple[str | None, str | None]:
    """(before, after): the labels that would make a span longer which begins, or ends, with this label.

    >>> continuing("B-per", "bio"), continuing("author", "plain")
    ((None, 'I-per'), ('author', 'author'))
    """
    prefix, kind = _split(label, scheme)
    if prefix == OUTSIDE:
        return None, None
    if scheme == "plain":
        return label, label
    return f"I-{kind}" if prefix in "IE" else None, f"I-{kind}" if prefix in "BI" else None


def encode(spans: Iterable[Span], length: int, scheme: str) -> list[str]:
    """The labels of `length` tokens that carry `spans`; tokens in no span get "O"."""
    _check_scheme(scheme)
    labels, last = [OUTSIDE] * length, Span("", 0, 0)
    for span in sorted(spans, key=lambda s: s.start):
        if not last.end <= span.start < span.end <= length:
            raise DataError(f"{span} is empty, overlaps {last} or leaves the {length} tokens")
        labels[span.start : span.end] = _encode_one(span, last, scheme)
        last = span
    return labels


def convert(labels: Sequence[str | None], to: str) -> Labels:
    """The same spans in another scheme; to="plain" strips the prefixes.

    None stays None, and ends the span on its left: what an unknown token would continue is unknown.
    """
    _check_scheme(to)
    scheme = scheme_of(labels)
    if to == "plain":
        return [y if y is None or y == OUTSIDE else _split(y, scheme)[1] for y in labels]
    coded = encode(spans(labels, scheme), len(labels), to)
    return [None if old is None else new for old, new in zip(labels, coded, strict=True)]


def _check_scheme(scheme: str) -> str:
    """`scheme` itself, or an error when there is no such scheme."""
    if not isinstance(scheme, str) or scheme not in SCHEMES:
        raise ParameterError(f"there is no label scheme {quoted(scheme)}; {meant(scheme, SCHEMES)}")
    return scheme


def _split(label: str | None, scheme: str) -> tuple[str, str]:
    """("B", "per") for "B-per".  A plain label counts as I-: its span ends at the next other label."""
    if label is None or label == OUTSIDE:
        return OUTSIDE, ""
    if scheme == "plain":
        return "I", label
    prefix, _, kind = label.partition("-")
    if not kind or prefix not in ("B", "I", "E", "S"):
        raise DataError(f"label {quoted(label)} is neither O nor prefixed as in the scheme {scheme}")
    return prefix, kind


def _encode_one(span: Span, last: Span, scheme: str) -> list[str]:
    """The labels of one span; `last` is the span before, from which IOB1 separates it by B- if the two touch."""
    size = span.end - span.start
    if scheme == "plain":
        return [span.label] * size
    if scheme == "bioes":
        prefixes = "S" if size == 1 else "B" + "I" * (size - 2) + "E"
    elif scheme == "bio" or (last.label, last.end) == (span.label, span.start):
        prefixes = "B" + "I" * (size - 1)
    else:
        prefixes = "I" * size
    return [f"{prefix}-{span.label}" for prefix in prefixes]
