"""Choosing sequences one after the other, each for what it adds to those chosen before, with a reason in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from semistruct.app.picking.traits import Traits
from semistruct.core.batch import starts
from semistruct.data.corpus import Labels
from semistruct.learning.labeller import SequenceLabeller
from semistruct.rules import Rules

TINY = 1e-12  # keeps divisors above 0
DISPUTED = 0.5  # how likely, at most, a label is wrong that the rules have put in place of another
NAMED = 3  # traits or labels that a reason names
CLEAR = 5  # characters, with quotes, of the names that are told if there are any
RARE = 0.25  # the share of the labelled sequences below which few have a label
ALSO = 0.5  # a second reason is told if it is at least half as strong as the first


@dataclass(frozen=True)
class Worth:
    """How much each reason to label a sequence weighs.

    cover  traits that many sequences of the pool have, and few labelled ones
    doubt  labels that the model is not sure of
    rare   labels that it proposes here, and that few labelled sequences have
    power  everything that grows with the length is divided by this power of the length
    fade   the share of a trait's worth that is left each time it is covered, for a model may still be in doubt about
           it; without a model nothing is left
    """

    cover: float = 1.0
    doubt: float = 0.1
    rare: float = 0.5
    power: float = 0.5
    fade: float = 0.5


@dataclass(frozen=True)
class Signals:
    """What a model says about n sequences with N tokens; sequences that it was not asked about have no labels.

    labels   the proposed labels, under the rules
    wrong    (N,)    how likely the label of each token is wrong
    doubt    (n,)    the sum of `wrong` over a sequence
    changed  (n,)    how many labels of a sequence the rules have changed
    has      (n, Y)  whether each of the Y labels is proposed for a sequence
    names            the Y labels
    """

    labels: list[Labels]
    wrong: np.ndarray
    doubt: np.ndarray
    changed: np.ndarray
    has: np.ndarray
    names: tuple[str, ...]

    @classmethod
    def of(cls, estimator: SequenceLabeller, X: Sequence[Any], asked: np.ndarray, rules: Rules | None) -> Signals:
        """Ask about the sequences X[i] for i in `asked`, under the given rules or those of the model."""
        model, some = estimator.model_, [X[i] for i in asked]
        obeyed = rules if rules is not None else model.rules
        plain = estimator.predict(some, rules=False)
        proposed = plain if obeyed is None else estimator.predict(some, rules=obeyed)
        number = {label: y for y, label in enumerate(model.labels)}
        labels: list[Labels] = [[] for _ in X]
        doubt, changed, has = np.zeros(len(X)), np.zeros(len(X)), np.zeros((len(X), len(number)), bool)
        first = starts(np.array([len(x) for x in X], np.int64))
        wrong = np.zeros(first[-1])
        sure = estimator.confidence(some, proposed, rules=False)
        for i, row, before, chance in zip(asked.tolist(), proposed, plain, sure, strict=True):
            codes = [number[label] for label in row]
            labels[i], has[i, codes] = row, True
            other = np.array([a != b for a, b in zip(row, before, strict=True)])
            wrong[first[i] : first[i + 1]] = np.where(other, np.minimum(1 - chance, DISPUTED), 1 - chance)
            doubt[i], changed[i] = wrong[first[i] : first[i + 1]].sum(), other.sum()
        return cls(labels, wrong, doubt, changed, has, model.labels)

    def seen(self, y: Sequence[Any], asked: np.ndarray, n_labelled: int) -> np.ndarray:
        """(Y,): how many labelled sequences have each label; estimated from the proposed labels if y is empty."""
        if len(y):
            return np.array([sum(name in row for row in y) for name in self.names], float)
        return self.has[asked].mean(axis=0) * n_labelled


@dataclass
class Choice:
    """Sequences of a pool, and what has been labelled or chosen of them.

    traits   of the n sequences of the pool, and of the labelled ones after them
    open     (n,) the sequences that may be chosen
    signals  of the n sequences, None without a model
    seen     (Y,) how many labelled sequences have each label of the model
    n_seen   how many labelled sequences there are
    doubtful (N,) how likely the label of each token of the pool is wrong; 0 where nobody asked; None without a model
    """

    traits: Traits
    open: np.ndarray
    signals: Signals | None = None
    seen: np.ndarray = field(default_factory=lambda: np.zeros(0))
    worth: Worth = Worth()
    doubtful: np.ndarray | None = None
    n_seen: float = 0.0

    def __post_init__(self) -> None:
        n = len(self.open)
        self.lengths = self.traits.lengths[:n].astype(float)
        self.has = csr_array(self.traits.counts[:n] > 0, dtype=float)
        self.covered = np.asarray((self.traits.counts[n:] > 0).sum(axis=0)).ravel()
        self.size = self.lengths**self.worth.power
        self.frequent = self.traits.frequent(self.doubtful)
        full = self.has @ self.frequent / self.size
        self.unit = float(full[self.open].mean()) if self.open.any() else 1.0
        self.directions = self.traits.directions()
        self.density = _density(self.directions)
        self.alike = np.zeros(n)  # how much a sequence resembles one of those chosen

    def new(self) -> np.ndarray:
        """(F,): what it is worth to see each trait once more."""
        fade = 0.0 if self.signals is None else self.worth.fade
        return self.frequent * fade**self.covered

    def parts(self) -> dict[str, np.ndarray]:
        """(n,) for each reason: how much it speaks for a sequence now."""
        out = {"cover": self.worth.cover * (self.has @ self.new()) / self.size / max(self.unit, TINY)}
        if self.signals is not None:
            alone = self.density * (1 - self.alike)
            out["doubt"] = self.worth.doubt * alone * self.signals.doubt / self.size
            out["rare"] = self.worth.rare * (self.signals.has @ (1 / (1 + self.seen)))
        return out

    def next(self) -> tuple[int, dict[str, float]]:
        """The best sequence, and by how much each reason speaks more for it than for half of the others."""
        parts = self.parts()
        total = np.where(self.open, np.sum(list(parts.values()), axis=0), -np.inf)
        i = int(np.argmax(total))
        return i, {reason: float(part[i] - np.median(part[self.open])) for reason, part in parts.items()}

    def take(self, i: int) -> None:
        """Count a sequence as labelled, with the labels that the model proposes."""
        self.open[i] = False
        self.covered[self.has[[i]].indices] += 1
        self.alike = np.maximum(self.alike, self.directions @ self.directions[[i]].toarray().ravel())
        if self.signals is not None:
            self.seen = self.seen + self.signals.has[i]
            self.n_seen += 1


def _density(directions: csr_array) -> np.ndarray:
    """(n,): from 0 for a sequence unlike all others to 1 for those that resemble others as half of the pool do."""
    near = directions @ np.asarray(directions.sum(axis=0)).ravel()
    return np.minimum(near / max(float(np.median(near)), TINY), 1.0) if len(near) else near


def reason(choice: Choice, i: int, parts: dict[str, float]) -> str:
    """Why sequence i is the best; to be asked before it is taken."""
    order = sorted(parts, key=lambda name: -parts[name])
    texts = {name: text for name in order if parts[name] > 0 and (text := WORDS[name](choice, i))}
    strong = [text for name, text in texts.items() if parts[name] >= ALSO * parts[order[0]]]
    return "; ".join((strong or list(texts.values())[:1])[:2]) or "the best of what is left"


def _cover(choice: Choice, i: int) -> str:
    own, worth = choice.has[[i]].indices, choice.new()
    order = [f for f in own[np.argsort(-worth[own], kind="stable")] if worth[f] > 0]
    unseen = [f for f in order if choice.covered[f] == 0]
    best = [choice.traits.names[f] for f in unseen or order]
    names = ", ".join(([name for name in best if len(name) >= CLEAR] or best)[:NAMED])
    labelled = "nothing labelled does" if unseen else "little of what is labelled does"
    return f"shows what many others have and {labelled}: {names}" if names else ""


def _doubt(choice: Choice, i: int) -> str:
    assert choice.signals is not None
    wrong, changed = choice.signals.doubt[i], int(choice.signals.changed[i])
    text = f"about {max(round(wrong), 1)} of its {int(choice.lengths[i])} labels may be wrong"
    return f"{text}, and the rules changed {changed} of them" if changed else text


def _rare(choice: Choice, i: int) -> str:
    assert choice.signals is not None
    own = np.flatnonzero(choice.signals.has[i])
    rarest = own[np.argsort(choice.seen[own], kind="stable")][:NAMED]
    unseen = [choice.signals.names[y] for y in rarest if choice.seen[y] < 1]
    if unseen:
        return f"may have {' and '.join(unseen)}, which no labelled sequence has"
    if choice.seen[rarest[0]] < RARE * choice.n_seen:
        return f"may have {choice.signals.names[rarest[0]]}, which few labelled sequences have"
    usual = np.median(choice.signals.has[choice.open].sum(axis=1))
    return f"may have {len(own)} different labels, more than most others" if len(own) > usual else ""


WORDS = {"cover": _cover, "doubt": _doubt, "rare": _rare}
