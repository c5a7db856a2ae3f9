"""How long a newcomer waits for kernels to compile: commands in fresh processes, with an empty cache and again.

    python benchmarks/compilation.py               the first train with a pool and rules, the first predict, everything
    python benchmarks/compilation.py --functions   and how long each function took, with all it is compiled for

The difference between the two runs of a command is what compiling costs.  "everything" calls every kernel.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EVERYTHING = """
import warnings; warnings.simplefilter("ignore")
import semistruct
from semistruct import Rules
from semistruct.methods import METHODS
from semistruct.rules import Proportion, Words
data = semistruct.make_citations(40, seed=1)
few, pool = (data.tokens[:10], data.labels[:10]), data.tokens[10:]
rules = Rules.from_file("citations-codl")
shares = Rules([Proportion({"author": 0.3}), Words("pp", are="pages", fraction=1)])
small = {"ge": shares, "continuous": None}
for name, method in METHODS.items():
    model = method()
    given = {"rounds": 1, "k": 2, "max_iterations": 5, "tol": 0.1, "rules": small.get(name, rules)}
    model.set_params(**{key: value for key, value in given.items() if key in model.get_params()})
    model.fit(*few, **({"pool": pool} if hasattr(method, "axis") else {}))
    model.predict(pool)
model = semistruct.AlternatingProjections(rules=rules, online=True, rounds=1).fit(*few, pool=pool)
model.predict_marginals(pool)
model = semistruct.AnnealedSSVM(moves="tokens", rules=rules, rounds=1, schedule=[1.0]).fit(*few, pool=pool)
model.predict(pool, n_best=2, rules=False)
model.predict(pool, n_best=2)
model.predict(pool, rules=shares, corpus=True)
model.confidence(pool, rules=False)
model.confidence(pool)
semistruct.TransductiveSVM().fit([[0.0], [1.0]], ["a", "b"], pool=[[0.1], [0.9]])
"""
PROFILE = """
import atexit, time
from numba.core import event
stack, spent = [], {}
class Clock(event.Listener):
    def on_start(self, e):
        stack.append([e.data["dispatcher"].py_func.__qualname__, time.process_time(), 0.0])
    def on_end(self, e):
        name, began, inner = stack.pop()
        took = time.process_time() - began
        if stack:
            stack[-1][2] += took
        count, seconds = spent.get(name, (0, 0.0))
        spent[name] = count + 1, seconds + took - inner
event.register("numba:compile", Clock())
def show():
    for name, (count, seconds) in sorted(spent.items(), key=lambda item: -item[1][1])[:25]:
        print(f"    {seconds:5.2f} s  {count} x {name}")
atexit.register(show)
"""


def seconds(code, cache, functions=False):
    began = time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    code = (PROFILE if functions else "") + code
    shown = None if functions else subprocess.DEVNULL
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, stdout=shown, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def command(*words):
    return f"from semistruct.cli import main; main({[str(word) for word in words]!r})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few, pool, model = folder / "few.tsv", folder / "pool.txt", folder / "refs.model"
        for make in (
            ("data", "make", "citations", "-n", 20, "-o", few),
            ("data", "make", "citations", "-n", 60, "--seed", 4, "--to", "text", "-o", pool),
        ):
            seconds(command(*make), folder / "none")
        print("                                cold   cached   compiling")
        for number, (title, code) in enumerate({
            "train, pool and rules": command("train", few, "-u", pool, "-r", "citations", "-C", 0.5, "-o", model),
            "predict under rules": command("predict", model, pool, "-o", folder / "out.txt"),
            "everything": EVERYTHING,
        }.items()):  # fmt: skip
            cold = seconds(code, folder / f"cache{number}", args.functions)
            cached = seconds(code, folder / f"cache{number}")
            print(f"{title:28} {cold:6.1f} s {cached:6.1f} s  {cold - cached:6.1f} s", flush=True)


if __name__ == "__main__":
    main()
