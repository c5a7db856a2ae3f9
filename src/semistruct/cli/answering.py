"""What a model says of sequences: labelled here or in other processes, with the warnings that come with it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from math import nan
from typing import Any, NamedTuple

from semistruct.cli.options import Obeying
from semistruct.corpus import Confidence, Example, Labelling
from semistruct.engines.cluster import in_order_on
from semistruct.errors import RuleWarning, UncertainWarning
from semistruct.processes import in_order
from semistruct.rules import Rules
from semistruct.warming import warming

Placed = tuple[str, Example]
"""The name of a file, and a sequence in it."""


@dataclass(frozen=True)
class Wanted:
    """What is asked of labels.

    corpus      obey corpus rules too, for the whole input
    confidence  add how sure the model is of each label
    n_best      give this many labellings of each sequence
    """

    corpus: bool = False
    confidence: bool = False
    n_best: int | None = None

    def options(self) -> dict[str, Any]:
        """As options of a command, which labels depend on."""
        return {"--corpus-rules": self.corpus, "--confidence": self.confidence, "--n-best": self.n_best}


class Answers(NamedTuple):
    """What was found for some sequences, and what was warned of meanwhile.

    found  for each sequence its best labellings; with a promise, its labels and what of them is sure
    """

    found: list[Any]
    warnings: list[Warning]


@dataclass(frozen=True)
class Answering:
    """A model with all that is asked of it.

    obeyed   the rules that labels obey
    promise  accept answers by it
    """

    estimator: Any
    obeyed: Rules | None
    wanted: Wanted
    promise: Any = None

    def __call__(self, X: list[Any]) -> Answers:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuleWarning)
            found = self._best(X) if self.promise is None else self._accepted(X)
        return Answers(found, [one.message for one in caught if isinstance(one.message, Warning)])

    def on_one_core(self) -> Answering:
        """The same for one of several processes."""
        estimator = copy.copy(self.estimator)
        estimator.n_jobs = 1
        return replace(self, estimator=estimator)

    @property
    def _rules(self) -> Any:
        return False if self.obeyed is None else self.obeyed

    def _accepted(self, X: list[Any]) -> list[Any]:
        found = self.estimator.accept(X, self.promise, rules=self._rules)
        return list(zip(found.labels, found.sure, strict=True))

    def _best(self, X: list[Any]) -> list[list[Labelling]]:
        """The best labellings of each sequence, one unless more are wanted; a single one has no score."""
        estimator, wanted = self.estimator, self.wanted
        if wanted.n_best is None:
            found = [[(labels, nan)] for labels in estimator.predict(X, rules=self._rules, corpus=wanted.corpus)]
        else:
            found = estimator.predict(X, rules=self._rules, n_best=wanted.n_best)
        if not wanted.confidence:
            return [[Labelling(*one) for one in best] for best in found]
        pairs = [(x, labels) for x, best in zip(X, found, strict=True) for labels, _ in best]
        sure = iter(estimator.sureness([x for x, _ in pairs], [labels for _, labels in pairs], rules=self._rules))
        return [[Labelling(*one, _confidence(next(sure))) for one in best] for best in found]


def _confidence(sure: Any) -> Confidence:
    return Confidence(sure.token.tolist(), sure.block.tolist(), sure.sequence)


@dataclass
class Told:
    """What warnings have told of sequences, chunk by chunk.

    sequences, uncertain  how many there were, and how many of them are not certain to have the best labels
    """

    sequences: int = 0
    uncertain: int = 0

    def tell(self, found: list[Warning], places: list[str]) -> None:
        """Pass on warnings about the sequences at `places`; those about rules name these instead of their numbers."""
        self.sequences += len(places)
        for warning in found:
            if isinstance(warning, UncertainWarning):
                self.uncertain += warning.uncertain
                continue
            if isinstance(warning, RuleWarning) and warning.sequence is not None:
                warning = warning.at(places[warning.sequence])
            warnings.warn(warning, stacklevel=3)

    def sum_up(self) -> None:
        """One line for all chunks."""
        if self.uncertain:
            warnings.warn(UncertainWarning(self.uncertain, self.sequences), stacklevel=3)


def answered(
    ask: Answering, chunks: Iterable[list[Placed]], obeying: Obeying, told: Told
) -> Generator[list[tuple[Example, Any]]]:
    """The sequences of each chunk with what was found for them; `told` hears the warnings, in order."""
    parts = ((chunk, [example.tokens for _, example in chunk]) for chunk in chunks)
    with warming(*(() if ask.obeyed is None else ("search",))):
        if obeying.engine is None:
            found = in_order(ask, parts, 1 if ask.wanted.corpus else obeying.jobs, ask.on_one_core())
        else:
            found = in_order_on(obeying.engine, ask.on_one_core(), parts)
        for chunk, answers in found:
            told.tell(answers.warnings, [example.where(source) for source, example in chunk])
            yield [(example, one) for (_, example), one in zip(chunk, answers.found, strict=True)]
    told.sum_up()
