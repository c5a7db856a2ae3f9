"""Every kernel before and after: numba, as in the last commit that had it, and the compiled core, in one run.

    python benchmarks/kernels.py                 needs numba and the history of the repository
    python benchmarks/kernels.py --labels 13     for one number of labels

The source of that commit is unpacked into a folder for temporary files, where numba keeps what it compiles: the first
run takes minutes longer.  Each version runs the same public calls on the same made-up references in a process of its
own, on one thread.  Meanwhile every call of a kernel from Python is made again and again on the same arrays; its time
is that of the shortest call, with the way from Python to the kernel, and that of a kernel is the mean over its first
calls.  The two versions take turns, and what the public calls return is compared.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import pkgutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np

HERE = Path(__file__).resolve()
CALLS = 8  # of each kernel that are timed
SECONDS = 0.04  # for the repetitions of one call
RENAMED = {
    ("semistruct.solvers.multiclass", "visit"): "visit_classes",
    ("semistruct.solvers.crf", "gather"): "gather_tokens",
    ("semistruct.features.names", "enter"): "enter_names",
    ("semistruct.features.names", "look_up"): "look_up_names",
    ("semistruct.features.sources", "gather"): "gather_features",
}
ROOMS = {"chain", "rules", "search", "switching", "bits", "expectations", "solvers", "features", "methods", "fitting"}


def arrays_in(args):
    """The arrays of arguments, inside of tuples too, that a kernel may write to."""
    for arg in args:
        if isinstance(arg, np.ndarray):
            if arg.flags.writeable and arg.size:
                yield arg
        elif isinstance(arg, tuple):
            yield from arrays_in(arg)


class Clock:
    """Kernels that are timed when they are called."""

    def __init__(self):
        self.times = defaultdict(list)

    def timed(self, name, kernel):
        def call(*args):
            if len(self.times[name]) >= CALLS:
                return kernel(*args)
            kept = [(array, array.copy()) for array in arrays_in(args)]
            result = kernel(*args)  # compiles
            written = [(array, old) for array, old in kept if array.tobytes() != old.tobytes()]
            shortest, until, n = np.inf, time.perf_counter() + SECONDS, 0
            while n < 3 or (n < 1000 and time.perf_counter() < until):
                for array, old in written:
                    np.copyto(array, old)
                began = time.thread_time()
                result = kernel(*args)
                shortest, n = min(shortest, time.thread_time() - began), n + 1
            self.times[name].append(1e6 * shortest)
            return result

        return call

    def watch(self):
        """Time all kernels that the modules of semistruct call."""
        if importlib.util.find_spec("semistruct.core") is not None:
            from semistruct.core import kernels

            for name in set(dir(kernels)) - {"has_avx2"}:
                if not name.startswith("_"):
                    setattr(kernels, name, self.timed(name, getattr(kernels, name)))
            return
        for module in [m for n, m in sys.modules.items() if n.startswith("semistruct") and not n.endswith("kernels")]:
            for name, value in list(vars(module).items()):
                if isinstance(value, ModuleType) and value.__name__.endswith("kernels"):
                    own = {k: self.timed(k, v) if hasattr(v, "py_func") else v for k, v in vars(value).items()}
                    setattr(module, name, SimpleNamespace(**own))
                elif hasattr(value, "py_func"):
                    setattr(module, name, self.timed(RENAMED.get((module.__name__, name), name), value))


def references(n, n_labels, seed):
    """(X, y): made-up references whose labels are merged, or split by place in their field, into n_labels."""
    from semistruct.datasets import make_citations

    corpus = make_citations(n, seed=seed)
    index = {label: i for i, label in enumerate(sorted(corpus.label_set))}
    X, y = [], []
    for example in corpus.examples:
        row, before, place = [], None, 0
        for label in example.labels:
            place, before = (place + 1 if label == before else 0), label
            code = index[label] if n_labels <= len(index) else 3 * index[label] + min(place, 2)
            row.append(f"l{code % n_labels}")
        X.append(example.tokens)
        y.append(row)
    return X, y


def rules_for(n_labels):
    from semistruct import Rules

    last = n_labels - 1
    return Rules.from_text(f"""
labels: [{", ".join(f"l{i}" for i in range(n_labels))}]
rules:
  - at_most_once: [l0, l1, l{last}]
  - change_only_on: punctuation
  - starts_with: [l0, l1]
  - words: [pp, pages, pp.]
    are: l{last}
  - pattern: '(19|20)\\d\\d[a-z]?'
    are: l2
    fraction: 0.9
  - words: [proc, journal, proceedings, ACM]
    are: [l3, l4]
    fraction: 0.9
""")


def chains(batch, weights):
    """What is asked of chains without rules."""
    from semistruct.chain.given import log_odds
    from semistruct.chain.inference import decode, decode_k, token_margins
    from semistruct.chain.posterior import posterior

    labels, scores = decode(batch, weights, n_jobs=1)
    k_labels, k_scores = decode_k(batch, weights, 5, n_jobs=1)
    beside, blocks = np.full((batch.n_tokens, 2), -1, np.int16), [[(0, 1)]] * len(batch)
    odds = log_odds(batch, weights, labels, beside, blocks, n_jobs=1)[0]
    margins = token_margins(batch, weights, labels, n_jobs=1)
    marginal = posterior(batch, weights, n_jobs=1).marginal
    return {
        "decode": labels, "scores": scores, "k best": k_labels, "k scores": k_scores, "odds": odds,
        "margins": margins, "marginal": marginal,
    }  # fmt: skip


def ruled(model, pool, rules, start):
    """Search and label switching."""
    from semistruct.search.best import find_best, find_margins
    from semistruct.switching.matching import Matcher

    def compiled(X):
        return model.encoder.transform(X), model.weights, rules.compile(X, model.labels)

    batch, weights, tables = compiled(pool)
    out = {"counts": tables.count(start, n_jobs=1)}
    for k in (1, 5):
        found = find_best(batch, weights, tables, k=k, n_jobs=1)
        out |= {f"{k} under rules": found.labels, f"values of {k} under rules": found.values}
    few = compiled(pool[:8])
    out["margins under rules"] = find_margins(*few, find_best(*few, n_jobs=1).labels[0], n_jobs=1)
    for moves in ("spans", "printed"):
        matcher = Matcher(batch, tables, n_jobs=1, moves=moves)
        out[f"switching {moves}"] = matcher.match(weights, np.full(len(batch), 0.1), start).labels
    return out


def learners(X, y, pool, rules):
    """Methods other than SSVM."""
    from semistruct import CRF, AnnealedSSVM, GeneralizedExpectation, PosteriorRegularization, TransductiveSSVM

    shares = type(rules)([rule for rule in rules if rule.level == "corpus"], rules.labels)
    one = {"C": 1.0, "n_jobs": 1}
    yield "crf", CRF(max_iterations=20, **one).fit(X, y)
    few = {"rules": rules, "rounds": 1, **one}
    yield "annealed", AnnealedSSVM(schedule=(0.1, 1.0), match_by="slack", **few).fit(X, y, pool=pool)
    yield "pr", PosteriorRegularization(learn_iterations=3, project_iterations=5, **few).fit(X, y, pool=pool)
    yield "ge", GeneralizedExpectation(rules=shares, max_iterations=5, **one).fit(X, y, pool=pool)
    yield "bits", TransductiveSSVM(**few).fit(X, y, pool=pool)


def results(n_labels):
    """{name: array} of public calls that come to every kernel."""
    from semistruct import SSVM
    from semistruct.features.names import NameTable
    from semistruct.methods.multiclass import TransductiveSVM

    (X, y), (pool, _) = references(30, n_labels, 0), references(60, n_labels, 1)
    model = SSVM(C=1.0, n_jobs=1).fit(X, y).model_
    batch, rules = model.encoder.transform(pool), rules_for(n_labels)
    out = {"ssvm": model.weights.tokens, **chains(batch, model.weights)}
    out |= ruled(model, pool, rules, out["decode"])
    for name, fitted in learners(X, y, pool[:30], rules):
        out[name] = fitted.model_.weights.tokens
    names = sorted({word for x in X for word in x})
    out["names"] = np.concatenate([block.rows for block in NameTable(names).blocks([sorted(set(x)) for x in pool])])
    points = np.random.default_rng(0).normal(size=(120, 40))
    classes = np.where(np.arange(120) < 60, points[:, :n_labels].argmax(axis=1), -1)
    out["classes"] = TransductiveSVM(rounds=1).fit(points, classes).predict(points)
    return out


def child(n_labels, folder):
    """Time the version of semistruct that is imported here; {kernel: microseconds} and results go to the folder."""
    import semistruct

    for module in pkgutil.walk_packages(semistruct.__path__, "semistruct."):
        if module.name.split(".")[1] in ROOMS:
            importlib.import_module(module.name)
    clock = Clock()
    clock.watch()
    warnings.simplefilter("ignore")
    np.savez(folder / "results.npz", **results(n_labels))
    (folder / "times.json").write_text(json.dumps(clock.times))


def git(*args):
    return subprocess.run(["git", "-C", HERE.parents[1], *args], check=True, capture_output=True).stdout


def last_with_numba():
    """The commit before the one that brought the compiled core."""
    brought = git("log", "--diff-filter=A", "--format=%H", "-1", "--", "src/semistruct/core.py").decode().strip()
    return git("rev-parse", f"{brought}^").decode().strip()


def unpacked(commit):
    """The folder `src` of a commit, which stays, with what numba compiles."""
    folder = Path(tempfile.gettempdir()) / f"semistruct-{commit[:12]}"
    if not folder.exists():
        folder.mkdir()
        archive = git("archive", commit, "src")
        subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
    return folder / "src"


def measured(source, n_labels):
    """(times, results) of the version whose source this is."""
    with tempfile.TemporaryDirectory() as name:
        threads = {f"{of}_NUM_THREADS": "1" for of in ("OMP", "OPENBLAS", "MKL")}
        environment = {**os.environ, "PYTHONPATH": str(source), **threads}
        command = [sys.executable, HERE, "--labels", str(n_labels), "--child", name]
        subprocess.run(command, check=True, env=environment)
        found = np.load(Path(name, "results.npz"))
        return json.loads(Path(name, "times.json").read_text()), {key: found[key] for key in found}


def disagreements(before, after):
    """Names of results that are not the same: decisions differ, or numbers by more than 1e-9."""
    for name in before:
        a, b = before[name], after[name]
        exact = a.dtype.kind != "f"
        if a.shape != b.shape or not (np.array_equal(a, b) if exact else np.allclose(a, b, rtol=1e-9, atol=1e-9)):
            yield name


def compare(sources, n_labels, rounds):
    """Print the table for one number of labels; the ratios, and whether the results agree."""
    shortest, agree = [{}, {}], True
    for _ in range(rounds):
        runs = [measured(source, n_labels) for source in sources]
        for best, (times, _) in zip(shortest, runs, strict=True):
            for name, found in times.items():
                best[name] = [min(pair) for pair in zip(best.get(name, found), found, strict=True)]
        different = list(disagreements(runs[0][1], runs[1][1]))
        agree = agree and not different
    print(f"\n{n_labels} labels\n\n| kernel | numba, us | C++, us | times as fast |\n|---|---|---|---|")
    ratios = []
    for name in sorted(shortest[0].keys() & shortest[1].keys()):
        n = min(len(best[name]) for best in shortest)
        before, after = (statistics.fmean(best[name][:n]) for best in shortest)
        late = after - before > (0.05 * before if before > 20 else 1.0)
        ratios.append(before / after)
        print(f"| {name} | {before:.1f} | {after:.1f} | {before / after:.2f}{' slower' if late else ''} |")
    print(f"\ngeometric mean: {statistics.geometric_mean(ratios):.2f}")
    print(f"the results {'agree' if agree else 'differ: ' + ', '.join(different)}", flush=True)
    return ratios, agree


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="with numba; the last one if it is not given")
    parser.add_argument("--labels", type=int, nargs="+", default=[5, 13, 30])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args.labels[0], args.child)
    if importlib.util.find_spec("numba") is None:
        sys.exit("numba is not installed: `pip install numba`, to have something to compare with")
    sources = unpacked(args.commit or last_with_numba()), HERE.parents[1] / "src"
    found = [compare(sources, n, args.rounds) for n in args.labels]
    print(f"\nin all: {statistics.geometric_mean([r for ratios, _ in found for r in ratios]):.2f} times as fast")
    sys.exit(not all(agree for _, agree in found))


if __name__ == "__main__":
    main()
