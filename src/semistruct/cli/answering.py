"""What a model says of sequences: labelled here or in other processes, with the warnings that come with it."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any

from semistruct.cli.asking import Answering
from semistruct.cli.options import Obeying
from semistruct.corpus import Example
from semistruct.errors import RuleWarning, UncertainWarning
from semistruct.processes import in_order

Placed = tuple[str, Example]
"""The name of a file, and a sequence in it."""


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
    if obeying.engine is None:
        found = in_order(ask, parts, 1 if ask.wanted.corpus else obeying.jobs, ask.on_one_core())
    else:
        from semistruct.engines.cluster import in_order_on

        found = in_order_on(obeying.engine, ask.on_one_core(), parts)
    for chunk, answers in found:
        told.tell(answers.warnings, [example.where(source) for source, example in chunk])
        yield [(example, one) for (_, example), one in zip(chunk, answers.found, strict=True)]
    told.sum_up()
