"""The instructions that five kernels take on fixed input, counted by valgrind: whether one has become slower.

    python benchmarks/instructions.py            fails if a count is more than 5% above the one in instructions.json
    python benchmarks/instructions.py --write    these counts are the ones to keep

Counts do not depend on the machine, nor on what else runs on it, but on the compiler: with another one than the counts
were made with there is nothing to compare.  `instructions.cpp` runs the kernels, built here for any x86-64.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from semistruct import Rules
from semistruct.core.batch import SequenceBatch
from semistruct.core.chain.inference import ChainWeights, decode
from semistruct.core.chain.posterior import posterior
from semistruct.core.kernels import kernels
from semistruct.learning.solvers.sdm import Problem, solve
from semistruct.rules.search import find_best
from semistruct.rules.switching import Matcher

HERE = Path(__file__).resolve().parent
COUNTS = HERE / "instructions.json"
AT_MOST = 1.05
KERNELS = {"decode_sequences": 0, "expect_sequences": 0, "search_sequences": 0, "switch_spans": 0, "improve": 5}
"""Kernels, and which of their calls is counted."""
N, T, LABELS, FEATURES = 16, 24, 13, 500


def words_of(argument):
    """An argument as `instructions.cpp` reads it."""
    if isinstance(argument, tuple):
        return b"".join(map(words_of, argument))
    if isinstance(argument, np.ndarray):
        shape, data = np.array([argument.itemsize, *argument.shape], np.int64), argument.tobytes()
        return shape.tobytes() + data + bytes(-len(data) % 8)
    return np.array(argument, float if isinstance(argument, float) else np.int64).tobytes()


def record(folder):
    """Write the arguments of one call of each kernel to a file."""

    def recorded(name, kernel, left):
        def call(*args):
            nonlocal left
            if left == 0:
                which, *others = args
                (folder / name).write_bytes(words_of((which[0] if isinstance(which, tuple) else which, *others)))
            left -= 1
            return kernel(*args)

        return call

    for name, left in KERNELS.items():
        setattr(kernels, name, recorded(name, getattr(kernels, name), left))
    rng = np.random.RandomState(0)
    n_tokens = N * T
    indices = np.sort(rng.randint(FEATURES, size=(n_tokens, 12))).ravel().astype(np.int32)
    batch = SequenceBatch(
        indptr=np.arange(n_tokens + 1) * 12, indices=indices,
        values=np.ones(1), offsets=np.arange(N + 1) * T, kind=rng.randint(2, size=n_tokens).astype(np.int16),
        n_features=FEATURES, n_kinds=2,
    )  # fmt: skip
    weights = ChainWeights(rng.normal(size=(FEATURES, LABELS)), rng.normal(size=(2, LABELS, LABELS)))
    X = [[f"w{word}" for word in row] for row in rng.randint(30, size=(N, T))]
    rules = Rules.from_text("""
rules:
  - at_most_once: [l0, l1, l2]
  - starts_with: l0
  - {words: [w1, w2, w3], are: l1}
  - {words: [w4, w5], are: l2, fraction: 0.9}
""")
    tables = rules.compile(X, [f"l{i}" for i in range(LABELS)])
    labels, _ = decode(batch, weights, n_jobs=1)
    posterior(batch, weights, n_jobs=1)
    find_best(batch, weights, tables, n_jobs=1)
    Matcher(batch, tables, n_jobs=1).match(weights, np.full(N, 0.1), labels)
    target = rng.randint(LABELS, size=n_tokens).astype(np.int16)
    solve(Problem(batch, LABELS, target, np.ones(N), np.ones(n_tokens)), n_jobs=1)


def count(program, name, file):
    """The instructions of a kernel."""
    command = [
        "valgrind",
        "--tool=callgrind",
        f"--toggle-collect=semistruct::{name}(*)",  # not its lambdas, whose names end with `const`
        f"--callgrind-out-file={file}.out",
    ]
    told = subprocess.run([*command, program, name, file], check=True, capture_output=True, text=True).stderr
    return int(re.search(r"Collected : (\d+)", told)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep these counts")
    args = parser.parse_args()
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if shutil.which("valgrind") is None or compiler is None or platform.machine() != "x86_64":
        sys.exit(print("instructions are not counted: that needs valgrind, a C++ compiler and x86-64"))
    version = subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record(folder)
        options = ["-O3", "-std=c++17", "-ffp-contract=off", "-o", folder / "kernels"]
        subprocess.run([compiler, *options, HERE / "instructions.cpp"], check=True)
        counts = {kernel: count(folder / "kernels", kernel, folder / kernel) for kernel in KERNELS}
    kept = json.loads(COUNTS.read_text()) if COUNTS.exists() else {"compiler": version, "counts": counts}
    for kernel, n in counts.items():
        print(f"{kernel:20} {n:12,} {n / kept['counts'][kernel]:8.3f} of what it was")
    if args.write:
        COUNTS.write_text(json.dumps({"compiler": version, "counts": counts}, indent=2) + "\n")
    elif version != kept["compiler"]:
        print(f"nothing to compare: the counts were made with {kept['compiler']}, not with {version}")
    elif slower := [kernel for kernel, n in counts.items() if n > AT_MOST * kept["counts"][kernel]]:
        sys.exit(
            f"more than 5% slower: {', '.join(slower)}; if that is meant: python benchmarks/instructions.py --write"
        )


if __name__ == "__main__":
    main()
