"""The data of a fit, checked once: sequences, labels, pool, dev data, weights, and all labels."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from semistruct.base.errors import DataError, RuleWarning, nearest, quoted, some_of
from semistruct.base.parameters import LARGEST
from semistruct.core.batch import UNKNOWN
from semistruct.data.corpus import Corpus, check_labels, complete, listed
from semistruct.data.tokens import GIVEN
from semistruct.features.encoder import form_of
from semistruct.features.text_style import Look, probable_cut
from semistruct.learning import settings
from semistruct.rules import Rules

Pairs = tuple[Sequence[Any], Sequence[Any]]


@dataclass(frozen=True)
class Data:
    """What a fit learns from.

    X, y        sequences and their labels, None where they are unknown; those with all their labels come first
    weight      (n,) the factor of each sequence's loss
    pool        sequences without labels
    dev         labelled data to choose by
    labels      all labels, of y and of the rules
    n_labelled  sequences with a label; 0 if all labels are implied by the rules
    n_whole     sequences all of whose labels were given
    cut, look   how text has to be cut into such tokens, and how they look; "given" and None if there are features
    origin      how many sequences there are in each part, and their digests; for the card of a model
    """

    X: list[Any]
    y: list[Any]
    weight: np.ndarray
    pool: list[Any]
    dev: Pairs | None
    labels: tuple[str, ...]
    n_labelled: int
    n_whole: int
    cut: str
    look: Look | None
    origin: dict[str, Any]

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        pool: Any = None,
        dev: Any = None,
        sample_weight: Sequence[float] | None = None,
        rules: Rules | None = None,
        may_imply: bool = False,
    ) -> Self:
        """Check all of it.

        may_imply  if there is no label at all, those that the rules imply take their place
        """
        X, y = check_data(X, y)
        dev = checked_dev(dev)
        pool = [] if pool is None else sequences(pool, "pool", like=form_of(X[:1]) if X else None)
        n_labelled = sum(map(is_known, y))
        if may_imply and not n_labelled and (X or pool) and rules is not None:
            X, pool = [*X, *pool], []
            y, weight = implied_labels(rules, X)
        else:
            weight = _checked_weights(sample_weight, len(X))
        if not any(is_known(row) and w > 0 for row, w in zip(y, weight, strict=True)):
            raise DataError("training data: no sequence has a label" + " and a sample_weight > 0" * (not weight.all()))
        labels = all_labels(y, rules)
        if rules is not None and not holds_words(X):
            rules.compile(X[:1], labels)  # refuses rules about words
        order = complete(y)
        n_whole = len(order) if n_labelled else 0
        order += np.setdiff1d(np.arange(len(X)), order).tolist()
        origin = _origin(X, y, pool, dev)
        X, y = [X[i] for i in order], [y[i] for i in order]
        cut, look = (probable_cut(X), Look.of(X)) if holds_words(X) else (GIVEN, None)
        return cls(X, y, weight[order], pool, dev, labels, n_labelled, n_whole, cut, look, origin)

    @property
    def given(self) -> Pairs:
        """The sequences with the labels that were given: none if all labels are implied."""
        return (self.X, self.y) if self.n_labelled else ([], [])

    @property
    def has_words(self) -> bool:
        """The sequences hold tokens; else they hold features."""
        return holds_words(self.X)

    def labelled(self) -> Self:
        """The sequences with labels that weigh something, without a pool."""
        keep = [i for i, row in enumerate(self.y) if is_known(row) and self.weight[i] > 0]
        X, y = [self.X[i] for i in keep], [self.y[i] for i in keep]
        return replace(
            self, X=X, y=y, weight=self.weight[keep], pool=[], n_labelled=len(keep), n_whole=len(complete(y))
        )

    def warn_of_overlap(self) -> None:
        """Warn of dev sequences that are among the labelled ones."""
        if self.dev is not None:
            seen = {repr(list(x)) for x, row in zip(self.X, self.y, strict=True) if is_known(row)}
            n = sum(repr(list(x)) in seen for x in self.dev[0])
            if n:
                warnings.warn(f"{n} of {len(self.dev[0])} dev sequences are also in the training data", stacklevel=4)


# ---- checks


def sequences(X: Any, name: str = "input", like: str | None = None) -> list[Any]:
    """X as a list of sequences that all have tokens, or features, of the form `like` if that is given."""
    X = listed(X, name)
    if X:
        form_of(X, name, like)
    return X


def holds_words(X: Sequence[Any]) -> bool:
    """Whether sequences that were checked hold tokens."""
    return len(X) > 0 and isinstance(next(iter(X[0])), str | tuple)


def check_data(X: Any, y: Any, name: str = "training") -> tuple[list[Any], list[Any]]:
    """X and y as lists, in which labels fit the tokens, and are strings or None; arrays of labels become lists."""
    if y is None:
        raise DataError(f"{name} data: there are no labels (y is None)")
    X = sequences(X, name)
    y = [row.tolist() if hasattr(row, "tolist") else row for row in listed(y, name)]
    if len(X) != len(y):
        raise DataError(f"{name} data: {len(X)} sequences but {len(y)} label lists")
    for i, (tokens, labels) in enumerate(zip(X, y, strict=True)):
        if labels is not None:
            check_labels(labels, len(tokens), f"{name} data: sequence {i} has ")
    return X, y


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


def _checked_weights(sample_weight: Sequence[float] | None, n: int) -> np.ndarray:
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


# ---- labels


def is_known(labels: Sequence[Any] | None) -> bool:
    """Whether at least one label is known."""
    return labels is not None and any(label is not None for label in labels)


def all_labels(y: Sequence[Any], rules: Rules | None) -> tuple[str, ...]:
    """All labels, sorted: those that occur in y and those that the rules declare."""
    seen = {str(label) for row in y if row is not None for label in row if label is not None}
    if rules is None:
        return tuple(sorted(seen))
    declared = set(rules.labels or ())
    strange = sorted(seen - declared)
    if strange and len(strange) < len(seen & declared):  # else the rules declare further labels only
        near = {label: nearest(label, declared) for label in strange}
        named = [quoted(label) + (f" (did you mean {quoted(like)}?)" if like else "") for label, like in near.items()]
        problem = f"labels of the data that are not among the labels of the rules: {some_of(named)}"
        warnings.warn(f"{problem}; if they are right, add them there", RuleWarning, stacklevel=5)
    return rules.all_labels(seen)


def label_codes(y: Sequence[Any], lengths: Sequence[int], labels: Sequence[str]) -> np.ndarray:
    """All labels end to end as numbers, UNKNOWN for None and for labels that are not in `labels`."""
    number = {label: code for code, label in enumerate(labels)}
    number_or_unknown = [
        UNKNOWN if label is None else number.get(label, UNKNOWN)
        for row, n in zip(y, lengths, strict=True)
        for label in ([None] * n if row is None else row)
    ]
    return np.array(number_or_unknown, np.int16)


def implied_labels(rules: Rules, X: list[Any]) -> tuple[list[list[str | None] | None], np.ndarray]:
    """(the labels that rules imply for sequences none of which has one, None where there are none; weights).

    A token has an implied label if the rules about single tokens leave it just one; or just one that they imply nowhere
    else, if they leave it no more than half of all labels.
    """
    if rules.labels is None:
        raise DataError("no sequence has a label: to learn from rules alone, the rules must list all `labels`")
    tables = rules.compile(X, rules.labels)
    allowed = tables.event_costs.token[tables.token_class] == 0
    known = np.where(allowed.sum(axis=1) == 1, allowed.argmax(axis=1), UNKNOWN)
    seldom = allowed & (np.bincount(known[known != UNKNOWN], minlength=len(rules.labels)) == 0)
    narrow = (known == UNKNOWN) & (2 * allowed.sum(axis=1) <= len(rules.labels)) & (seldom.sum(axis=1) == 1)
    known[narrow] = seldom[narrow].argmax(axis=1)
    names = np.array([*rules.labels, None], object)
    y = [names[row].tolist() for row in np.split(known, tables.offsets[1:-1])]
    n = sum(map(is_known, y))
    if not n:
        raise DataError(
            "no sequence has a label, and no rule implies one; `words` and `pattern` rules with one label do"
        )
    return [row if is_known(row) else None for row in y], np.full(len(X), settings.IMPLIED_WORTH / n)


# ---- digests


def _origin(X: list[Any], y: list[Any], pool: list[Any], dev: Pairs | None) -> dict[str, Any]:
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
