"""The records of an experiment, seen by method, size and decoding, and the main results in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np

from semistruct.app.experiments import statistics
from semistruct.app.experiments.cells import Record
from semistruct.app.experiments.lineup import LINEUP

SIGNIFICANT = 0.05
IN_WORDS = {"plain": "plain", "rules": "under the rules"}
DECODINGS = tuple(IN_WORDS)
MAIN = "rules"  # the decoding that methods are ranked by
CHOICES = {
    "dev": "on dev data",
    "labels-free": "without labels",
    "best-test": "best on the reported labels (peeks)",
}


@dataclass(frozen=True)
class Against:
    """A method compared with the best one: the difference of means over the draws that both have, and two p values."""

    difference: float
    draws: int
    flip: float
    bootstrap: float

    @property
    def significant(self) -> bool:
        return self.bootstrap < SIGNIFICANT


@dataclass(frozen=True)
class View:
    """Records of one corpus with the same features, and a way to choose the point of a path."""

    records: list[Record]
    select: str = "dev"

    @property
    def cell(self) -> dict[str, Any]:
        """The cell of the first record; all have the same corpus and features."""
        cell: dict[str, Any] = self.records[0]["cell"]
        return cell

    @property
    def synthetic(self) -> bool:
        return bool(self.records[0]["data"]["synthetic"])

    @property
    def title(self) -> str:
        corpus = self.cell["corpus"]
        if corpus == "synthetic":
            return "synthetic citations"
        return f"{corpus} (synthetic)" if self.synthetic else str(corpus)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """{size: number of labelled sequences}, the smallest first."""
        found = {record["cell"]["size"]: record["data"]["labelled"] for record in self.records}
        return dict(sorted(found.items(), key=lambda item: item[1]))

    @cached_property
    def methods(self) -> list[str]:
        there = {record["cell"]["method"] for record in self.records}
        return [name for name in LINEUP if name in there]

    def name_of(self, size: str) -> str:
        return f"all ({self.sizes[size]})" if size == "all" else size

    def runs(self, method: str, size: str) -> dict[int, Record]:
        """{seed: record}."""
        cells = [(record["cell"], record) for record in self.records]
        found = {cell["seed"]: record for cell, record in cells if (cell["method"], cell["size"]) == (method, size)}
        return dict(sorted(found.items()))

    def has_path(self, method: str) -> bool:
        return any(len(record["points"]) > 1 for record in self.records if record["cell"]["method"] == method)

    def scores(self, method: str, size: str, decoding: str, select: str | None = None) -> list[float]:
        return [accuracy(run, decoding, select or self.select) for run in self.runs(method, size).values()]

    def mean(self, method: str, size: str, decoding: str, select: str | None = None) -> float:
        return statistics.mean(self.scores(method, size, decoding, select))

    def seconds(self, method: str, size: str) -> float:
        """The mean of what a run took to learn."""
        return statistics.mean([run["seconds"]["fit"] for run in self.runs(method, size).values()])

    def ranked(self, size: str, decoding: str) -> list[str]:
        """The methods that have runs of a size, the best first."""
        there = [method for method in self.methods if self.runs(method, size)]
        return sorted(there, key=lambda method: -self.mean(method, size, decoding))

    def against(self, better: str, method: str, size: str, decoding: str) -> Against:
        """A method compared with a better one."""
        ours, theirs = self.runs(better, size), self.runs(method, size)
        common = [seed for seed in ours if seed in theirs]
        rights = [[outcome(runs[s], decoding, self.select)["right"] for s in common] for runs in (ours, theirs)]
        which, tokens = ([ours[s][key] for s in common] for key in ("sequences", "tokens"))
        pooled = [statistics.pooled(zip(which, numbers, strict=True)) for numbers in (*rights, tokens)]
        pairs = zip(
            *([accuracy(runs[s], decoding, self.select) for s in common] for runs in (ours, theirs)), strict=True
        )
        differences = [a - b for a, b in pairs]
        columns = [np.array([of[i] for i in pooled[2]]) for of in pooled]
        tests = statistics.sign_flip(differences), statistics.paired_bootstrap(*columns)
        return Against(statistics.mean(differences), len(common), *tests)


def accuracy(run: Record, decoding: str, select: str) -> float:
    return float(run["points"][run["chosen"][decoding][select]][decoding])


def outcome(run: Record, decoding: str, select: str) -> dict[str, Any]:
    found: dict[str, Any] = run["outcomes"][decoding][str(run["chosen"][decoding][select])]
    return found


def p_text(p: float, equals: str = "") -> str:
    return "–" if isnan(p) else "< 0.001" if p < 0.001 else f"{equals}{p:.3f}"


def mean_text(scores: list[float]) -> str:
    """Mean ± deviation in percent."""
    mean, deviation = statistics.mean(scores), statistics.deviation(scores)
    if isnan(mean):
        return "–"
    return f"{100 * mean:.1f}" + ("" if isnan(deviation) else f" ± {100 * deviation:.1f}")


def summary(view: View) -> list[tuple[str, str]]:
    """(question, answer) pairs about the smallest size, and one about the largest if there is another."""
    size, largest = next(iter(view.sizes)), list(view.sizes)[-1]
    ranked = view.ranked(size, MAIN)
    best, supervised = ranked[0], view.runs("ssvm", size)
    out = [(f"Which method is best with {view.name_of(size)} labels?", _best(view, size))]
    if len(ranked) > 1:
        found = view.against(best, ranked[1], size, MAIN)
        by = f"{100 * found.difference:.1f} points ahead of {LINEUP[ranked[1]].title}"
        out.append(("By how much, and is that significant?", f"{by}; {_significance(found)}."))
    gains = {name: 100 * (view.mean(name, size, "rules") - view.mean(name, size, "plain")) for name in ranked}
    costs = f"{view.seconds(best, size):.1f} s a fit for {LINEUP[best].title}"
    rules = f"{gains[best]:+.1f} points at prediction for {LINEUP[best].title}"
    if best != "ssvm" and supervised:
        rules += f", {gains['ssvm']:+.1f} for {LINEUP['ssvm'].title}"
        costs += f", against {view.seconds('ssvm', size):.1f} s for {LINEUP['ssvm'].title}"
    out.append(("What did the rules contribute?", f"{rules}."))
    if supervised and "annealed" in ranked:
        ways = [(decoding, view.against("annealed", "ssvm", size, decoding)) for decoding in DECODINGS]
        told = [
            f"{100 * found.difference:+.1f} points {IN_WORDS[way]} (p over sequences {p_text(found.bootstrap, '= ')})"
            for way, found in ways
        ]
        out.append(("What did the pool contribute?", f"Annealed over supervised SSVM: {', '.join(told)}."))
    total = sum(sum(record["seconds"].values()) for record in view.records)
    out.append(
        (
            "What did it cost?",
            f"{costs}; all {len(view.records)} runs together took {total / 60:.1f} minutes of one core.",
        )
    )
    if largest != size:
        out.append((f"And with {view.name_of(largest)} labels?", _best(view, largest)))
    return out


def _best(view: View, size: str) -> str:
    best = view.ranked(size, MAIN)[0]
    scores, name = view.scores(best, size, MAIN), LINEUP[best].title
    draws = "one run" if len(scores) == 1 else f"{len(scores)} draws"
    return f"{name[0].upper()}{name[1:]}: {mean_text(scores)} % of tokens right {IN_WORDS[MAIN]}, over {draws}."


def _significance(found: Against) -> str:
    """Both tests in words."""
    verdict = "significant" if found.significant else "not significant"
    over = f"{verdict} over the reported sequences (paired bootstrap, p {p_text(found.bootstrap, '= ')})"
    if found.draws < 2:
        return f"{over}; there is only one draw"
    least = 2 / 2**found.draws
    sure = "significant" if found.flip < SIGNIFICANT else "not significant"
    limit = f"; no p below {least:.3g} is possible with {found.draws} draws" if least >= SIGNIFICANT else ""
    return f"{over}, {sure} over the draws (exact sign-flip test, p {p_text(found.flip, '= ')}{limit})"


def warnings_of(view: View) -> list[str]:
    """Warnings about the figures."""
    missing = any(len({tuple(view.runs(method, size)) for method in view.methods}) > 1 for size in view.sizes)
    versions = {tuple(sorted(record["versions"].items())) for record in view.records}
    found: Iterable[tuple[bool, str]] = (
        (view.synthetic, "Synthetic data, made by a generator: these figures say nothing about real text."),
        (view.cell["quick"], "A quick run: little data, few methods and few draws."),
        (len(versions) > 1, "The runs were made with different versions of semistruct or its libraries."),
        (missing, "Some runs are missing: not all methods have the same draws."),
    )
    return [text for holds, text in found if holds]
