"""What a model says of sequences, here or in other processes, with the warnings that come with it.

Processes that help to label start with this module, so it imports little.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from semistruct.base.errors import RuleWarning, UncertainWarning
from semistruct.base.processes import in_order
from semistruct.data.corpus import Confidence, Example, Labels
from semistruct.rules import Rules

CHUNK = 2000  # sequences labelled at a time
CHUNK_TOKENS = 200_000  # tokens labelled at a time, unless one sequence has more

Placed = tuple[str, Example]
"""The name of a file, and a sequence in it."""


class Answers(NamedTuple):
    """What was found for some sequences, and what was warned of meanwhile.

    found  for each sequence its labels, and how sure they are; with a promise, what of them is sure
    """

    found: list[Any]
    warnings: list[Warning]


@dataclass(frozen=True)
class Answering:
    """An estimator with all that is asked of it, to be called with sequences.

    rules       the rules that labels obey
    confidence  add how sure the model is of each label
    promise     accept answers by it
    """

    estimator: Any
    rules: Rules | None
    confidence: bool = False
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
    def _obeyed(self) -> Rules | bool:
        return False if self.rules is None else self.rules

    def _accepted(self, X: list[Any]) -> list[Any]:
        found = self.estimator.accept(X, self.promise, rules=self._obeyed)
        return list(zip(found.labels, found.sure, strict=True))

    def _best(self, X: list[Any]) -> list[tuple[Labels, Confidence | None]]:
        """The labels of each sequence, perhaps with how sure they are."""
        found = self.estimator.predict(X, rules=self._obeyed)
        if not self.confidence:
            return [(labels, None) for labels in found]
        sure = self.estimator.sureness(X, found, rules=self._obeyed)
        return [
            (labels, Confidence(one.token.tolist(), one.block.tolist(), one.sequence))
            for labels, one in zip(found, sure, strict=True)
        ]


@dataclass
class Warned:
    """What warnings said of sequences, chunk by chunk.

    sequences, uncertain  how many there were, and how many of them are not certain to have the best labels
    """

    sequences: int = 0
    uncertain: int = 0

    def add(self, found: list[Warning], places: list[str]) -> None:
        """Pass on warnings about the sequences at `places`; those about rules name the place of a sequence."""
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
    ask: Answering, examples: Iterable[Placed], jobs: int | None, warned: Warned | None = None
) -> Generator[list[tuple[Example, Any]]]:
    """The examples, chunk by chunk, with what was found for them; `warned` hears the warnings, in order."""
    warned = warned or Warned()
    parts = ((chunk, [example.tokens for _, example in chunk]) for chunk in chunks(examples))
    for chunk, answers in in_order(ask, parts, jobs, ask.on_one_core()):
        warned.add(answers.warnings, [example.where(source) for source, example in chunk])
        yield [(example, one) for (_, example), one in zip(chunk, answers.found, strict=True)]
    warned.sum_up()


def chunks(examples: Iterable[Placed]) -> Iterator[list[Placed]]:
    """The examples in lists of bearable size."""
    chunk: list[Placed] = []
    tokens = 0
    for one in examples:
        chunk.append(one)
        tokens += len(one[1])
        if len(chunk) >= CHUNK or tokens >= CHUNK_TOKENS:
            yield chunk
            chunk, tokens = [], 0
    if chunk:
        yield chunk
