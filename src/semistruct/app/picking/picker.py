"""`pick`: checks what it is given, learns, and chooses."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semistruct.app.picking.choice import Choice, Signals, reason
from semistruct.app.picking.traits import Traits
from semistruct.base import parameters as params
from semistruct.base.errors import DataError, DataWarning, ParameterError, quoted
from semistruct.data.corpus import Labels
from semistruct.features.encoder import form_of
from semistruct.features.words import word_of
from semistruct.learning.data import Pairs, check_data, is_known, sequences
from semistruct.learning.labeller import SequenceLabeller
from semistruct.methods.annealed import AnnealedSSVM
from semistruct.rules import Rules

NUMBER = params.whole(1, 1_000_000)
SHORTLIST = 400  # sequences that the model is asked about, or ten for each that is wanted
LEARN_SCHEDULE = [1.0, 10.0]  # of the model that proposes labels, which is learned in seconds
LEARN_SEQUENCES, LEARN_TOKENS = 150, 6000  # of the pool that it learns from
GUESS = 20  # labelled sequences, for a model that does not say how many it learned from


@dataclass(frozen=True)
class Picked:
    """A sequence that is worth labelling.

    number  of the sequence in the pool, from 0
    reason  why it was chosen
    labels  that the model proposes; None if nothing is labelled yet
    """

    number: int
    reason: str
    labels: Labels | None


def pick(
    pool: Sequence[Any],
    n: int = 10,
    *,
    labelled: Pairs | None = None,
    rules: Rules | None = None,
    model: SequenceLabeller | None = None,
    n_jobs: int | None = None,
) -> list[Picked]:
    """The n sequences of a pool that are most worth labelling next, the best first.

    labelled  (X, y) of what is labelled so far; sequences that are among X and have a label are never picked
    rules     that labels should obey; default: those of the model
    model     that proposes labels; default: the annealed method learns one, if anything is labelled

    Without labels and without a model, sequences are chosen that show what is frequent in the pool.
    Of sequences that read the same, one is picked.  If there are fewer than n, all are, with a warning.
    """
    pool = sequences(pool, "pool")
    _check(pool, n, rules, model)
    X, y = _known(labelled, pool)
    distinct, copies = _candidates(pool, X, model)
    if not distinct:
        raise DataError("pool data: every sequence is labelled already")
    if len(distinct) < n:
        _tell_of_few(len(distinct), n, len(pool))
    candidates = [pool[i] for i in distinct]
    if model is None and X:
        model = _learned((X, y), candidates, rules, n_jobs)
    choice = Choice(Traits.of(candidates, copies, X, rules), np.ones(len(candidates), bool))
    if model is not None:
        choice = _informed(choice, candidates, y, model, rules, max(SHORTLIST, 10 * n))
    return [replace(one, number=distinct[one.number]) for one in best(choice, min(n, len(distinct)))]


def best(choice: Choice, n: int) -> list[Picked]:
    """The n best sequences, numbered as in the choice."""
    out = []
    for _ in range(n):
        i, parts = choice.next()
        labels = None if choice.signals is None else [*choice.signals.labels[i]]
        out.append(Picked(i, reason(choice, i, parts), labels))
        choice.take(i)
    return out


def _check(pool: list[Any], n: Any, rules: Any, model: Any) -> None:
    if not pool:
        raise DataError("pool data: there are no sequences")
    if not NUMBER.test(n):
        raise ParameterError(f"n={quoted(n)}: must be {NUMBER.words}")
    if rules is not None and not isinstance(rules, Rules):
        raise ParameterError(f"rules={quoted(rules)}: must be Rules (those of a file: Rules.from_file(path))")
    if model is not None and not hasattr(model, "model_"):
        raise ParameterError(f"model={quoted(model)}: must be a fitted model")


def _known(labelled: Pairs | None, pool: list[Any]) -> Pairs:
    """The sequences that have labels."""
    if labelled is None:
        return [], []
    if not isinstance(labelled, tuple | list) or len(labelled) != 2:
        raise DataError(f"labelled data: found {quoted(labelled)}, expected a pair (X, y)")
    X, y = check_data(*labelled, name="labelled")
    if X:
        form_of(X, "labelled", form_of(pool))
    keep = [i for i, row in enumerate(y) if is_known(row)]
    return [X[i] for i in keep], [y[i] for i in keep]


def _candidates(pool: list[Any], X: Sequence[Any], model: SequenceLabeller | None) -> tuple[list[int], np.ndarray]:
    """The first of all sequences that read the same and are not labelled, and how many copies of it there are."""
    labelled, first = set(map(_reading, X)), dict[str, int]()
    look = None if model is None or X else model.look_
    known = [False] * len(pool) if look is None else look.known(pool)
    copies = np.zeros(len(pool))
    for i, x in enumerate(pool):
        text = _reading(x)
        if text not in labelled and not known[i]:
            copies[first.setdefault(text, i)] += 1
    distinct = list(first.values())
    return distinct, copies[distinct]


def _reading(x: Sequence[Any]) -> str:
    """What a sequence reads, however it is cut into tokens."""
    return "".join(map(word_of, x)) if isinstance(x[0], str | tuple) else repr(x)


def _tell_of_few(found: int, n: int, pool: int) -> None:
    are = "is 1 sequence" if found == 1 else f"are {found} sequences"
    more = "" if found == pool else f" (of {pool}) that are neither labelled nor copies of others"
    warnings.warn(f"{n} sequences are wanted, but there {are}{more}: all are picked", DataWarning, stacklevel=3)


def _informed(
    choice: Choice, X: list[Any], y: Sequence[Any], model: SequenceLabeller, rules: Rules | None, most: int
) -> Choice:
    """The choice with what the model says; of many sequences, it is asked about `most`.

    First about some at random, which shows where it is in doubt, then about those that have most in common with them.
    """
    everything = np.arange(len(X))
    drawn = everything
    if len(X) > most:
        drawn = np.sort(np.random.RandomState(0).choice(len(X), most // 2, replace=False))
    signals = Signals.of(model, X, drawn, rules)
    learned_from = getattr(model, "data_", {}).get("sequences")
    n_labelled = len(y) or (learned_from if isinstance(learned_from, int) else 0) or GUESS
    seen = signals.seen(y, drawn, n_labelled)
    choice = replace(choice, signals=signals, doubtful=signals.wrong, seen=seen, n_seen=n_labelled)
    if len(X) <= most:
        return choice
    promising = np.argsort(-np.where(np.isin(everything, drawn), -np.inf, choice.parts()["cover"]), kind="stable")
    asked = np.sort(np.concatenate([drawn, promising[: most - len(drawn)]]))
    return replace(choice, open=np.isin(everything, asked), signals=Signals.of(model, X, asked, rules))


def _learned(labelled: Pairs, pool: Sequence[Any], rules: Rules | None, n_jobs: int | None) -> AnnealedSSVM:
    """A model of the annealed method, with its default C."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rules that conflict in a sequence of the pool
        model = AnnealedSSVM(rules=rules, n_jobs=n_jobs, schedule=LEARN_SCHEDULE, rounds=2)
        model.fit(*labelled, pool=_part_of(pool))
    if model.stop_ == "interrupted":
        raise KeyboardInterrupt
    return model.leave_uncalibrated()


def _part_of(pool: Sequence[Any]) -> list[Any]:
    """As many sequences of a pool, drawn at random, as can be learned from in seconds."""
    drawn, tokens = list[Any](), 0
    for i in random.Random(0).sample(range(len(pool)), min(len(pool), LEARN_SEQUENCES)):
        tokens += len(pool[i])
        if drawn and tokens > LEARN_TOKENS:
            break
        drawn.append(pool[i])
    return drawn
