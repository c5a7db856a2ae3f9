"""`suggest`: which rules do labelled sequences and a model speak for?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from semistruct.base.errors import DataError, ParameterError, quoted
from semistruct.data.corpus import complete, listed
from semistruct.features.encoder import form_of
from semistruct.learning.data import check_data
from semistruct.learning.labeller import SequenceLabeller
from semistruct.methods.ssvm import SSVM
from semistruct.rules import Rules
from semistruct.rules.evidence import Examples
from semistruct.rules.suggesting import Suggestions, chosen

Show = Callable[[str], None]


def suggest(
    X: Sequence[Any],
    y: Sequence[Sequence[str | None] | None],
    *,
    pool: Sequence[Any] | None = None,
    model: SequenceLabeller | None = None,
    rules: Rules | None = None,
    show: Show | None = None,
) -> Suggestions:
    """Suggest rules from sequences X with labels y, and from what a model sees in a pool.

    Sequences whose labels are not all known count as pool.

    pool   sequences without labels
    model  a fitted estimator; default: an `SSVM` trained on the labelled sequences
    rules  what is known already, and not suggested again
    show   called with a few words when a new step begins

    Examples
    --------
    >>> X = [["Ann", "Lee", "1984"], ["Bo", "Fox", "1987"]] * 5
    >>> found = suggest(X, [["name", "name", "year"]] * 10)
    >>> print(found.rules.rules[0].text)
    starts with name
    """
    show = show or (lambda text: None)
    X, y = check_data(X, y)
    whole = complete(y)
    others = sorted({*range(len(X))} - {*whole})
    free = [X[i] for i in others] + ([] if pool is None else listed(pool, "pool"))
    X, labelled = [X[i] for i in whole], [[str(label) for label in y[i]] for i in whole]
    _check(X, model, rules)
    if model is None:
        show("learning a model")
        estimator: SequenceLabeller = SSVM().fit(X, labelled)
    else:
        estimator = model
    labels = (rules or Rules([])).all_labels({*chain.from_iterable(labelled), *estimator.classes_})
    show("labelling the pool")
    labelled_by_model = estimator.predict(free, rules=False)
    margins = [one.token for one in estimator.model_.sureness(free, labelled_by_model, estimator.n_jobs)]
    examples = Examples(X, labelled, free, labelled_by_model, margins, labels)
    show("looking for rules")
    found = chosen(examples, rules or Rules([]))
    return Suggestions(found, labels, len(X), len(free), model is None)


def _check(X: list[Any], model: Any, rules: Any) -> None:
    if not X:
        raise DataError("no sequence is fully labelled, so there is nothing to learn rules from")
    if form_of(X) != "tokens":
        raise DataError("rules can be suggested for labelled tokens only, but this data holds features")
    if model is not None and not isinstance(model, SequenceLabeller):
        raise ParameterError(f"model={quoted(model)}: expected a fitted estimator of semistruct")
    if rules is not None and not isinstance(rules, Rules):
        raise ParameterError(f"rules={quoted(rules)}: expected Rules")
