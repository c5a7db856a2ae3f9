"""Kernels that will be needed soon, compiled in other processes while this one is busy.

Compiling keeps one core busy and happens once per installation; what another process has compiled is found in the
cache, and what it is compiling is waited for.  `python -m semistruct.warming search` compiles this part.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import numpy as np

from semistruct import threads
from semistruct.batch import SequenceBatch
from semistruct.chain.inference import ChainWeights
from semistruct.compiled import is_cached
from semistruct.processes import end_with_parent
from semistruct.rules import Rules
from semistruct.search.best import find_best, find_margins, tracked
from semistruct.search.bound_kernels import sharpen
from semistruct.search.k_best_kernels import k_best_sequences
from semistruct.search.prefix_kernels import Bound, Scores
from semistruct.search.search_kernels import search_sequences

BATCH = SequenceBatch(
    indptr=np.zeros(2, np.int64), indices=np.zeros(0, np.int32), values=np.ones(1),
    offsets=np.array([0, 1]), kind=np.zeros(1, np.int16), n_features=1, n_kinds=1,
)  # fmt: skip
WEIGHTS = ChainWeights(np.zeros((1, 2)), np.zeros((1, 2, 2)))
TABLES = Rules.from_text("rules: [starts_with: a]").compile([["word"]], ["a", "b"])


def _search() -> None:
    """The search under rules: first the part that the other process comes to last."""
    scores = Scores(np.zeros((1, 2)), np.zeros((1, 2, 2)), np.zeros(1, np.int16), 0)
    bound = Bound(np.zeros(2), np.zeros((1, 2)), np.zeros((1, 2), np.int64), np.ones(1, np.int64))
    sharpen(scores, tracked(TABLES), bound, 0.0, 0.0, 0.0, np.zeros(1, np.int16))
    find_best(BATCH, WEIGHTS, TABLES, n_jobs=1)


def _second_best() -> None:
    """Margins under rules, for calibration, and the k best labellings, for rankers."""
    find_margins(BATCH, WEIGHTS, TABLES, np.zeros(1, np.int16), n_jobs=1)
    find_best(BATCH, WEIGHTS, TABLES, k=2, n_jobs=1)


PARTS: dict[str, tuple[Callable[..., object], Callable[[], None]]] = {
    "search": (search_sequences, _search),
    "second best": (k_best_sequences, _second_best),
}
"""Parts by name: a kernel that tells whether the part has been compiled, and what compiles all of it."""


@contextmanager
def warming(*parts: str) -> Iterator[None]:
    """Compile these parts in the background, if they have not been and there are other cores."""
    cold = [part for part in parts if not is_cached(PARTS[part][0])]
    n, none = min(len(cold), threads.available() - 1), subprocess.DEVNULL
    children = [
        subprocess.Popen([sys.executable, "-m", __name__, *cold[i::n]], stdin=none, stdout=none, stderr=none)
        for i in range(n)
    ]
    try:
        yield
    finally:
        for child in children:
            child.terminate()
        for child in children:
            child.wait()


if __name__ == "__main__":
    Thread(target=end_with_parent, daemon=True).start()
    for name in sys.argv[1:]:
        PARTS[name][1]()
