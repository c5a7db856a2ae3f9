"""Label switching and search under rules, side by side in one run.

    python benchmarks/matching.py

The 999 unlabelled references of the citations corpus are matched to a model learned from 20 labelled ones and to the
rules of CODL's list (`citations-codl`).  Times are of one thread, and given in units of one Viterbi
pass over the corpus too.

    printed   the paper's algorithm: one visit of every position, single labels
    spans     span switching from the Viterbi labelling
    beam 50   search of width 50 for the best score under the rules
    exact     the same, wide enough to be certain
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import replace

import numpy as np

from harness import material, table
from semistruct import SSVM, Rules
from semistruct.core.chain.inference import decode
from semistruct.rules import switching
from semistruct.rules.search import find_best
from semistruct.rules.switching import Matcher

EVERYTHING = 10**12


def best_of(times, call):
    """(seconds, result): the shortest of several runs."""
    result, shortest = call(), np.inf
    for _ in range(times):
        began = time.perf_counter()
        result = call()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest, result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.1, help="weight of the slack of each sequence")
    parser.add_argument("--labelled", type=int, default=20)
    args = parser.parse_args()
    rules, train, pool = Rules.from_file("citations-codl"), material("citations").train, material("citations").pool
    chosen = random.Random(0).sample(range(len(train)), args.labelled)
    model = SSVM(rules=rules).fit([train.tokens[i] for i in chosen], [train.labels[i] for i in chosen]).model_
    batch, weights = model.encoder.transform(pool.tokens), model.weights
    tables, scale = rules.compile(pool.tokens, model.labels), np.full(len(batch), args.scale)
    matcher = Matcher(batch, tables, n_jobs=1)

    viterbi, (start, _) = best_of(5, lambda: decode(batch, weights, n_jobs=1))
    rows = [("viterbi", viterbi, matcher.price(weights, scale, start))]
    switching.PRINTED_LIMIT = EVERYTHING
    for name, moves in (("printed", "printed"), ("spans", "spans")):
        one = replace(matcher, moves=moves)
        rows.append((name, *best_of(2, lambda one=one: one.match(weights, scale, start))))
    for name, width in (("beam 50", 50), ("exact", 4096)):
        seconds, found = best_of(2, lambda width=width: find_best(batch, weights, tables, width=width, n_jobs=1))
        rows.append((name, seconds, matcher.price(weights, scale, found.labels[0])))

    print(f"{len(batch)} sequences, {args.labelled} labelled, slack weighs {args.scale:g} per sequence\n")
    table(
        ("variant", "seconds", "Viterbi passes", "objective", "slack", "penalty", "switches"),
        (
            [
                *(name, f"{seconds:.3f}", f"{seconds / viterbi:.1f}", f"{m.objective:.1f}"),
                *(f"{float(m.scale @ m.slack):.1f}", f"{m.penalty:.0f}", m.switches),
            ]
            for name, seconds, m in rows
        ),
    )
    print(f"\nexact search: certain for {found.exact.mean():.1%} of the sequences")


if __name__ == "__main__":
    main()
