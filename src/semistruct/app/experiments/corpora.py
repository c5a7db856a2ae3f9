"""Corpora for experiments: their parts, and the draws that all methods share.

n labelled sequences are drawn from the training part, parameters are chosen on the dev part, and what is reported comes
from the test part.  Where there is none, the rest of the training part is reported on, and "all" stands for two thirds
of it.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, replace
from pathlib import Path

from semistruct.base.errors import DataError, ParameterError
from semistruct.data.corpus import Corpus, Example
from semistruct.data.datasets import GENERATORS
from semistruct.data.formats import read

ALL = "all"
LEARN_OF_ALL = (2, 3)  # the share of the training part that "all" learns from where there is no test part
MADE = {
    "synthetic": {"train": 300, "dev": 100, "pool": 999, "test": 100},
    "apartments": {"train": 102, "dev": 100, "pool": 500, "test": 100},  # labelled as in the literature
}
FEW = {"train": 60, "dev": 30, "pool": 100, "test": 60}
FIRST_SEED = 7000  # of the generators, one per part


@dataclass(frozen=True)
class Draw:
    """What one run learns from, and what it is reported on; `which` numbers the reported sequences."""

    learn: list[Example]
    report: list[Example]
    which: list[int]


@dataclass(frozen=True)
class Material:
    """The parts of a corpus."""

    name: str
    train: Corpus
    dev: Corpus
    pool: Corpus
    test: Corpus | None = None
    synthetic: bool = False

    @property
    def title(self) -> str:
        return f"{self.name} (synthetic)" if self.synthetic and self.name != "synthetic" else self.name

    @property
    def digest(self) -> str:
        """SHA-256 of all parts."""
        parts = (self.train, self.dev, self.pool, self.test)
        digests = [None if part is None else part.digest for part in parts]
        return hashlib.sha256(repr(digests).encode()).hexdigest()

    @property
    def reported_on(self) -> str:
        return "the rest of the training part" if self.test is None else "the test part"

    def labelled(self, size: str) -> int:
        """How many sequences a size stands for."""
        n = len(self.train)
        if size == ALL:
            return n if self.test is not None else max(1, n * LEARN_OF_ALL[0] // LEARN_OF_ALL[1])
        most = n if self.test is not None else n - 1
        if int(size) > most:
            hint = "" if self.test is not None else f"; there is no test part: '{ALL}' learns from two thirds"
            raise ParameterError(f"{size} labelled sequences, but {self.train.source} has {n}{hint}")
        return int(size)

    def differs(self, size: str) -> bool:
        """Whether draws of this size differ: not if they are the whole training part."""
        return self.test is None or self.labelled(size) < len(self.train)

    def draw(self, size: str, seed: int) -> Draw:
        n, order = self.labelled(size), list(range(len(self.train)))
        random.Random(seed).shuffle(order)
        learn = [self.train.examples[i] for i in order[:n]]
        if self.test is not None:
            return Draw(learn, self.test.examples, list(range(len(self.test))))
        return Draw(learn, [self.train.examples[i] for i in order[n:]], order[n:])

    def small(self) -> Material:
        """The first sequences of each part, for a quick look."""

        def cut(corpus: Corpus, n: int) -> Corpus:
            return replace(corpus, examples=corpus.examples[:n])

        return replace(
            self,
            dev=cut(self.dev, FEW["dev"]),
            pool=cut(self.pool, FEW["pool"]),
            test=None if self.test is None else cut(self.test, FEW["test"]),
        )


def from_folder(name: str, folder: Path) -> Material:
    """train.tsv, dev.tsv, unlabeled.txt and perhaps test.tsv of a folder."""
    if not folder.is_dir():
        raise DataError.at(folder, None, "no such folder")
    train, dev = (_labelled(folder / f"{part}.tsv") for part in ("train", "dev"))
    test = _labelled(folder / "test.tsv") if (folder / "test.tsv").exists() else None
    return Material(name, train, dev, read(folder / "unlabeled.txt"), test)


def synthetic_material(name: str, *, few: bool = False) -> Material:
    """Synthetic parts: of the generator of this name, citations for the name synthetic."""
    generator = GENERATORS["citations" if name == "synthetic" else name]
    sizes = FEW if few else MADE[name]
    parts = {part: generator(n, seed=FIRST_SEED + k) for k, (part, n) in enumerate(sizes.items())}
    pool = Corpus.of(parts["pool"].tokens)
    return Material(name, parts["train"], parts["dev"], pool, parts["test"], synthetic=True)


def _labelled(path: Path) -> Corpus:
    corpus = read(path)
    for i, example in enumerate(corpus):
        if example.labels is None or None in example.labels:
            raise DataError(f"{corpus.where(i)}: a token has no label; experiments need all of them")
    return corpus
