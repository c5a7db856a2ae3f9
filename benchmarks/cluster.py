"""Ray's actors on this machine beside one process: the objective, the accuracy, the time, and what is exchanged.

    python benchmarks/cluster.py -n 3000 --actors 2

20 labelled synthetic references, n in the pool, the rules for references, one weight of the pool (10 times that of the
labelled ones), two rounds.  Ratios are of the same run.
"""

from __future__ import annotations

import argparse
import time
import warnings

from semistruct import AnnealedSSVM, Rules
from semistruct.datasets import make_citations

LABELLED, REPORTED = 20, 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=3000)
    parser.add_argument("--actors", type=int, default=2)
    args = parser.parse_args()
    few, pool, test = (make_citations(n, seed=s) for s, n in enumerate((LABELLED, args.n, REPORTED)))
    found = {}
    for name, engine in (
        ("one process", {"n_jobs": 1}),
        (f"{args.actors} actors", {"engine": "ray", "actors": args.actors}),
    ):
        model = AnnealedSSVM(
            rules=Rules.from_file("citations"), schedule=[10.0], rounds=2, select="last", match_by="score", **engine
        )
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(few.tokens, few.labels, pool=pool.tokens)
        seconds = time.perf_counter() - began
        objective = model.history_[-1]["objective"]
        found[name] = seconds, objective
        accuracy = model.score(test.tokens, test.labels, rules=False)
        print(f"{name}: {seconds:.1f} s, objective {objective:.4f}, accuracy {accuracy:.2%}")
    (alone, first), (together, second) = found.values()
    print(f"time {together / alone:.2f} times that of one process, objective {second / first - 1:+.2%}")
    learned = [row for row in model.history_ if row["step"] == "learn"]
    rounds, sent = (sum(row[key] for row in learned) for key in ("exchanges", "exchanged"))
    print(f"{rounds} rounds in {len(learned)} steps of learning, {sent / rounds / 1e6:.1f} MB exchanged in each")


if __name__ == "__main__":
    main()
