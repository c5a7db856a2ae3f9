"""Compiling ahead in another process: it compiles the very kernels that are needed, for the very types."""

import os
import subprocess
import sys

import pytest

from semistruct import threads, warming
from semistruct.compiled import is_cached, kernel

USE = """
import sys
from semistruct import progress, make_citations
import numpy as np
import semistruct
from semistruct.chain.inference import ChainWeights
from semistruct.features import Encoder
from semistruct.search.best import find_best, find_margins
data = make_citations(3)
rules = semistruct.Rules.from_file("citations")
labels = rules.all_labels(())
batch = Encoder.for_data(data.tokens, "default").fit(data.tokens)
weights = ChainWeights(np.zeros((batch.n_features, len(labels))), np.zeros((batch.n_kinds, len(labels), len(labels))))
tables = rules.compile(data.tokens, labels)
compiled = []
progress.compile_watchers.append(compiled.append)
if sys.argv[1] == "search":
    find_best(batch, weights, tables, n_jobs=1)
else:
    found = find_best(batch, weights, tables, k=3, n_jobs=1)
    find_margins(batch, weights, tables, found.labels[0], n_jobs=1)
print(compiled.count(True))
"""


def run(folder, *command):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, check=True)
    return done.stdout


@pytest.mark.parametrize("part", warming.PARTS)
def test_nothing_is_left_to_compile(part, tmp_path):
    run(tmp_path, "-m", "semistruct.warming", part)
    assert run(tmp_path, "-c", USE, part) == "0\n"


class Child:
    """Instead of a process."""

    started: list = []  # noqa: RUF012

    def __init__(self, command, **_):
        Child.started.append(command[3:])

    def terminate(self):
        Child.started.append("terminated")

    def wait(self):
        pass


@pytest.mark.parametrize(
    ("cores", "cached", "wanted"),
    [(2, [], [["search", "other"], "terminated"]), (1, [], []), (2, ["search"], [["other"], "terminated"]),
     (2, ["search", "other"], []), (8, [], [["search"], ["other"], "terminated", "terminated"])],
)  # fmt: skip
def test_processes_are_started_for_what_is_cold(monkeypatch, cores, cached, wanted):
    parts = {"search": object(), "other": object()}
    monkeypatch.setattr(warming, "PARTS", {name: (kernel, None) for name, kernel in parts.items()})
    monkeypatch.setattr(threads, "available", lambda: cores)
    monkeypatch.setattr(warming, "is_cached", lambda kernel: any(kernel is parts[name] for name in cached))
    monkeypatch.setattr(warming.subprocess, "Popen", Child)
    Child.started = []
    with warming.warming("search", "other"):
        pass
    assert Child.started == wanted


def test_what_is_cached():
    @kernel
    def twice(x):
        return 2 * x

    assert not is_cached(lambda x: x)
    twice._cache = None
    assert not is_cached(twice)
