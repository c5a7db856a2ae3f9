"""Conditional random fields beside CRFsuite: the same feature strings, the same objective, the same value of it.

    python benchmarks/crf.py [--corpus citations|conll2000]

CRFsuite (L-BFGS, all states and transitions) runs with its own stopping rule; semistruct runs until its objective is as
low.  Both after compilation and with the data in memory; the time is that of training alone.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pycrfsuite

from semistruct.features import Encoder
from semistruct.fitting.data import all_labels, label_codes
from semistruct.solvers.crf import Objective, solve
from supervised import load

C = 1.0
DRAWS = {"citations": 5, "conll2000": 1}


def crfsuite(X, y):
    """(seconds, iterations, objective in our units)."""
    trainer = pycrfsuite.Trainer(verbose=False)
    for tokens, labels in zip(X, y, strict=True):
        trainer.append(tokens, labels)
    trainer.select("lbfgs")
    everything = {"feature.possible_states": True, "feature.possible_transitions": True}
    trainer.set_params({"c1": 0.0, "c2": 1 / (2 * C), **everything})
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        trainer.train(str(Path(folder) / "model"))
        seconds = time.perf_counter() - began
    return seconds, len(trainer.logparser.iterations), C * trainer.logparser.last_iteration["loss"]


def semistruct(X, y, goal):
    """(seconds, iterations, objective), stopped as soon as the objective is down at the goal."""
    labels = all_labels(y, None)
    encoder = Encoder.for_data(X, "default")
    batch = encoder.fit(X)
    known = label_codes(y, batch.lengths.tolist(), labels)

    def enough(record):
        if record.objective <= goal:
            raise StopIteration

    began = time.perf_counter()
    objective = Objective(batch, len(labels), np.full(len(batch), C), known)
    found = solve(objective, tol=1e-12, watch=enough)
    return time.perf_counter() - began, found.history[-1].iterations, found.history[-1].objective


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", choices=list(DRAWS), action="append")
    for corpus in parser.parse_args().corpus or DRAWS:
        ratios = []
        for draw in range(DRAWS[corpus]):
            X, y = load(corpus, draw)["train"]
            semistruct(X[:50], y[:50], 0.0)  # compiles
            peer = crfsuite(X, y)
            ours = semistruct(X, y, peer[2])
            ratios.append(ours[0] / peer[0])
            print(
                f"{corpus} {draw}: CRFsuite {peer[0]:.2f} s, {peer[1]} iterations, objective {peer[2]:.3f};  "
                f"semistruct {ours[0]:.2f} s, {ours[1]} iterations, {ours[2]:.3f};  ratio {ratios[-1]:.2f}",
                flush=True,
            )
        print(f"{corpus}: ratio of times {statistics.mean(ratios):.2f} ± {statistics.pstdev(ratios):.2f}")


if __name__ == "__main__":
    main()
