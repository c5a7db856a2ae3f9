"""What obeying rules costs: seconds per sequence of plain decoding and of decoding under soft and under hard rules.

    python benchmarks/obeying.py                     all of the table
    python benchmarks/obeying.py --only citations    one of its parts

Times are processor time of one thread, without looking up features and words of rules.  Weak
models have seen 5 sequences, strong ones hundreds; of those called random the weights are drawn, so that nothing in
them agrees with any rule.

    plain      Viterbi
    soft       the rules with the weight that prediction gives them if it is left open
    hard       all of them hard
    certain    share of the sequences whose labelling is certain to be the best
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import dataclass

import numpy as np

from harness import material, table
from semistruct import SSVM, Rules
from semistruct.core.chain.inference import ChainWeights, decode
from semistruct.features import Encoder
from semistruct.learning.trust import strength_by_labels
from semistruct.rules import search
from semistruct.rules.search import find_best

FEW, MANY = 5, 200
SOFT, HARD = "soft", "hard"


@dataclass
class Task:
    """A model, sequences to be labelled by it, and rules."""

    name: str
    X: list
    labels: tuple
    batch: object
    weights: ChainWeights
    rules: dict

    def times(self, how):
        """(seconds of each sequence, share of those that are certain)."""
        if how == "plain":
            clocked = Clock()
            for i in range(len(self.batch)):
                one = self.batch.take(np.array([i]))
                clocked.time(lambda one=one: decode(one, self.weights, n_jobs=1))
            return np.array(clocked.seconds), 1.0
        clocked, spread = Clock(), search.spread
        tables = self.rules[how].compile(self.X, self.labels)
        search.spread = clocked.spread
        try:
            found = find_best(self.batch, self.weights, tables, n_jobs=1)
        finally:
            search.spread = spread
        return np.array(clocked.seconds), found.exact.mean()


class Clock:
    """Takes the place of `threads.spread`: one sequence at a time, and how long it took."""

    def __init__(self):
        self.seconds = []

    def time(self, call):
        began = time.thread_time()
        call()
        self.seconds.append(time.thread_time() - began)

    def spread(self, kernel, which, *args, **_):
        for i in range(len(which)):
            self.time(lambda i=i: kernel(which[i : i + 1], *args))


class Fields:
    """Made data: fields follow each other in a loose order, none twice, and share some of their words."""

    def __init__(self, n_labels, n_tokens, seed=0):
        self.rng, self.T = random.Random(seed), n_tokens
        self.labels = [f"f{y:03d}" for y in range(n_labels)]
        self.words = {label: [f"{label}w{k}" for k in range(12)] for label in self.labels}
        self.shared = [f"w{k}" for k in range(40)]

    def sequence(self):
        rng, at = self.rng, 0
        mean = max(self.T / min(len(self.labels), 8), 1)
        labels = []
        order = sorted(range(len(self.labels)), key=lambda y: y + rng.gauss(0, len(self.labels) / 4))
        start = rng.randrange(max(len(order) - 8, 1))
        for y in order[start:] + order[:start]:
            length = min(1 + int(rng.expovariate(1 / mean)), self.T - at)
            labels += [self.labels[y]] * length
            at += length
            if at == self.T:
                break
        labels += labels[-1:] * (self.T - at)
        tokens = [rng.choice(self.words[z] if rng.random() < 0.6 else self.shared) for z in labels]
        return tokens, labels

    def corpus(self, n):
        return tuple(map(list, zip(*(self.sequence() for _ in range(n)), strict=True)))


def hardened(rules):
    return Rules([rule.model_copy(update={"weight": "hard"}) for rule in rules.rules], rules.labels)


def learned(name, seen, n, X, rules, **params):
    """A model of n of the sequences seen, among them some that together have as many labels as possible."""
    (tokens, labels), known = seen, set()
    left, chosen = list(range(len(labels))), []
    for _ in range(n):
        chosen.append(max(left, key=lambda i: len(set(labels[i]) - known)))
        left.remove(chosen[-1])
        known |= set(labels[chosen[-1]])
    model = SSVM(**params).fit([tokens[i] for i in chosen], [labels[i] for i in chosen]).model_
    rules = Rules(rules.rules, model.labels)
    return Task(name, X, model.labels, model.encoder.transform(X), model.weights,
                {SOFT: rules.softened(strength_by_labels(n)), HARD: hardened(rules)})  # fmt: skip


def citations(n):
    parts = material("citations")
    seen, pool = ([*parts.train.tokens, *parts.dev.tokens], [*parts.train.labels, *parts.dev.labels]), parts.pool
    for name, some in (("weak", FEW), ("strong", len(seen[0]))):
        yield learned(f"citations, {name}", seen, some, pool.tokens[:n], Rules.from_file("citations"))


def made(Y, T, n):
    fields, once = Fields(Y, T), Rules.from_text("rules: [at_most_once: all]")
    seen, (X, _) = fields.corpus(3 * MANY), fields.corpus(n)
    for name, some in (("weak", FEW), ("strong", MANY)):
        yield learned(f"{Y} labels, {T} tokens, {name}", seen, some, X, once, features=["word[-1..1]"])
    rng, rules = np.random.default_rng(0), Rules(once.rules, fields.labels)
    X = [[[f"{k}"] for k in rng.integers(200, size=T)] for _ in range(n)]
    batch = Encoder(None, [f"{k}" for k in range(200)]).transform(X)
    weights = ChainWeights(rng.normal(0, 1, (batch.n_features, Y)), rng.normal(0, 1, (batch.n_kinds, Y, Y)))
    yield Task(f"{Y} labels, {T} tokens, random", X, tuple(fields.labels), batch, weights,
               {SOFT: rules.softened(strength_by_labels(FEW)), HARD: hardened(rules)})  # fmt: skip


PARTS = {
    "citations": lambda n: citations(n),
    "25x10": lambda n: made(25, 10, n),
    "13x40": lambda n: made(13, 40, n),
    "200x10": lambda n: made(200, 10, n),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(PARTS), action="append")
    parser.add_argument("-n", type=int, default=400, help="sequences to label")
    args = parser.parse_args()

    def rows():
        for part in args.only or PARTS:
            for task in PARTS[part](args.n):
                for how in ("plain", SOFT, HARD):
                    seconds, certain = task.times(how)
                    ms = 1e3 * seconds
                    quantiles = f"{np.median(ms):.3f}", f"{np.quantile(ms, 0.99):.2f}", f"{ms.max():.1f}"
                    yield [task.name, how, f"{1e3 / ms.mean():,.0f}", *quantiles, f"{certain:.1%}"]

    table(("model", "decoding", "sequences/s", "median ms", "99% ms", "slowest ms", "certain"), rows())


if __name__ == "__main__":
    main()
