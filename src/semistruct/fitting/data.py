"""The data of a fit: checks, and labels as numbers."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from semistruct.batch import UNKNOWN, SequenceBatch
from semistruct.corpus import Corpus, check_labels, listed
from semistruct.errors import DataError, RuleWarning, nearest, quoted, some_of
from semistruct.features import Encoder
from semistruct.features.encoder import form_of
from semistruct.params import LARGEST
from semistruct.rules import Rules

Pairs = tuple[Sequence[Any], Sequence[Any]]


@dataclass(frozen=True)
class DevData:
    """Labelled data to choose parameters on, as it was given and encoded; known (n_tokens,) are its labels."""

    X: Sequence[Any]
    y: Sequence[Any]
    batch: SequenceBatch
    known: np.ndarray

    @classmethod
    def of(cls, dev: Pairs | None, encoder: Encoder, labels: Sequence[str]) -> DevData | None:
        if dev is None:
            return None
        batch = encoder.transform(dev[0])
        return cls(*dev, batch, label_codes(dev[1], batch.lengths.tolist(), labels))


def sequences(X: Any, name: str = "input", like: str | None = None) -> list[Any]:
    """X as a list of sequences that all have tokens, or features, of the form `like` if that is given."""
    X = listed(X, name)
    if X:
        form_of(X, name, like)
    return X


def checked_dev(dev: Any) -> Pairs | None:
    """Dev data as a pair of lists."""
    if dev is None:
        return None
    if isinstance(dev, Corpus):
        listed(dev, "dev")
    if not isinstance(dev, tuple | list) or len(dev) != 2:
        found = f"{len(dev)} parts" if isinstance(dev, tuple | list) else f"a {type(dev).__name__}"
        raise DataError(f"dev data: found {found}, expected a pair (X, y)")
    X, y = dev
    return check_data(X, y, name="dev")


def check_data(X: Any, y: Any, name: str = "training") -> tuple[list[Any], list[Any]]:
    """X and y as lists, in which labels fit the tokens, and are strings or None; arrays of labels become lists."""
    if y is None:
        raise DataError(f"{name} data: there are no labels (y is None)")
    X, y = sequences(X, name), [_plain(row) for row in listed(y, name)]
    if len(X) != len(y):
        raise DataError(f"{name} data: {len(X)} sequences but {len(y)} label lists")
    for i, (tokens, labels) in enumerate(zip(X, y, strict=True)):
        if labels is not None:
            check_labels(labels, len(tokens), f"{name} data: sequence {i} has ")
    return X, y


def _plain(labels: Any) -> Any:
    """The labels of a sequence as a list if they are an array, whose truth and `in` mean something else."""
    return labels.tolist() if hasattr(labels, "tolist") else labels


def origin(X: list[Any], y: list[Any], dev: Pairs | None, pool: list[Any] | None = None) -> dict[str, Any]:
    """How many sequences there are in each part of the data, and their digests; for the card of a model."""
    about: dict[str, Any] = {"sequences": len(X), "sha256": _digest(X, y)}
    if pool:
        about |= {"pool": len(pool), "pool sha256": _digest(pool, [None] * len(pool))}
    if dev is not None:
        about |= {"dev": len(dev[0]), "dev sha256": _digest(*dev)}
    return about


def _digest(X: Sequence[Any], y: Sequence[Any]) -> str:
    """The digest of a corpus with these tokens and labels."""
    sha = hashlib.sha256()
    for x, row in zip(X, y, strict=True):
        tokens = [token if isinstance(token, str) else _lasting(token) for token in x]
        sha.update(repr((tokens, None if row is None else list(row))).encode())
    return sha.hexdigest()


def _lasting(value: Any) -> Any:
    """The same with sets as sorted lists and arrays as digests, so that it looks the same whenever it is printed."""
    if isinstance(value, Set):
        return sorted(value, key=repr)
    if isinstance(value, Mapping):
        return {key: _lasting(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_lasting, value))
    if getattr(value, "ndim", 0):
        array = np.ascontiguousarray(value)
        return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"
    return value


def is_known(labels: Sequence[Any] | None) -> bool:
    """Whether at least one label is known."""
    return labels is not None and any(label is not None for label in labels)


def all_labels(y: Sequence[Any], rules: Rules | None) -> tuple[str, ...]:
    """All labels, sorted: those that occur in y and those that the rules declare."""
    seen = {str(label) for row in y if row is not None for label in row if label is not None}
    if rules is None:
        return tuple(sorted(seen))
    _warn_of_strange_labels(seen, set(rules.labels or ()))
    return rules.all_labels(seen)


def _warn_of_strange_labels(seen: set[str], declared: set[str]) -> None:
    """Warn of labels that the rules do not declare, if they declare most labels of the data: probably mistyped."""
    strange = sorted(seen - declared)
    if len(strange) >= len(seen & declared):
        return  # the rules declare further labels only
    if not strange:
        return
    near = {label: nearest(label, declared) for label in strange}
    named = [quoted(label) + (f" (did you mean {quoted(like)}?)" if like else "") for label, like in near.items()]
    problem = f"labels of the data that are not among the labels of the rules: {some_of(named)}"
    warnings.warn(f"{problem}; if they are right, add them there", RuleWarning, stacklevel=4)


def refuse_rules_about_words(rules: Rules | None, X: Sequence[Any], labels: Sequence[str]) -> None:
    """Refuse rules about words if X holds features without words."""
    if rules is not None and form_of(X) != "tokens":
        rules.compile(X[:1], labels)


def label_codes(y: Sequence[Any], lengths: Sequence[int], labels: Sequence[str]) -> np.ndarray:
    """All labels end to end as numbers, UNKNOWN for None and for labels that are not in `labels`."""
    number = {label: code for code, label in enumerate(labels)}
    number_or_unknown = [
        UNKNOWN if label is None else number.get(label, UNKNOWN)
        for row, n in zip(y, lengths, strict=True)
        for label in ([None] * n if row is None else row)
    ]
    return np.array(number_or_unknown, np.int16)


def checked_weights(sample_weight: Sequence[float] | None, n: int) -> np.ndarray:
    """One factor of C per sequence."""
    if isinstance(sample_weight, Iterator):
        sample_weight = list(sample_weight)
    try:
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
    except (TypeError, ValueError):
        raise DataError(f"sample_weight: found {quoted(sample_weight)}, expected a list of numbers") from None
    if weight.shape != (n,):
        raise DataError(f"sample_weight has shape {weight.shape}, expected one number for each of {n} sequences")
    if not ((weight >= 0) & (weight <= LARGEST)).all():
        raise DataError(f"sample_weight must hold numbers from 0 to {LARGEST:g}")
    return weight
