"""Random small corpora with a model and rules, and what every labelling of them is worth by enumeration."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from hypothesis import strategies as st

import brute
import brute_rules
from rule_strategies import built
from semistruct.core.batch import SequenceBatch
from semistruct.core.chain.inference import ChainWeights
from semistruct.rules import Rules
from semistruct.rules.base import HARD
from strategies import dense, random_batch, seeds
from vocabulary_strategies import VOCABULARY_OF_WORDS, descriptions

RTOL, ATOL = 1e-9, 1e-6  # of values that hold penalties of up to some 1e8


def near(found, wanted):
    return np.allclose(found, wanted, rtol=RTOL, atol=ATOL)


def not_above(low, high):
    return np.all(low <= high + ATOL + RTOL * np.abs(high))


def level(rule):
    return brute_rules.complete(rule)["level"]


@dataclass(frozen=True)
class Case:
    """Sequences of words, labels, a model of them, and descriptions of rules."""

    X: list
    labels: tuple
    batch: SequenceBatch
    weights: ChainWeights
    rules: list

    @cached_property
    def tables(self):
        return Rules([built(rule) for rule in self.rules]).compile(self.X, self.labels)

    @property
    def Y(self):
        return len(self.labels)

    def tokens(self, i):
        return slice(self.batch.offsets[i], self.batch.offsets[i + 1])

    def paths(self, i):
        return brute.labellings(len(self.X[i]), self.Y)

    @cached_property
    def chains(self):
        """(unary, step, kind) of every sequence."""
        unary, trans = dense(self.batch) @ self.weights.tokens, self.weights.trans
        step = np.array([trans[0], *(trans[0] + table for table in trans[1:])])
        return [(unary[self.tokens(i)], step, self.batch.kind[self.tokens(i)]) for i in range(len(self.X))]

    @cached_property
    def scores(self):
        """Of every sequence {labelling: score}."""
        return [{p: brute.score(*chain, p) for p in self.paths(i)} for i, chain in enumerate(self.chains)]

    def names(self, path):
        return [self.labels[z] for z in path]

    def instance(self, i, path):
        """The penalty of the instance rules for one sequence."""
        rules = [rule for rule in self.rules if level(rule) == "instance"]
        return brute_rules.price(rules, [self.X[i]], [self.names(path)], self.labels, HARD)

    def corpus(self, paths):
        """The penalty of the corpus rules."""
        rules = [rule for rule in self.rules if level(rule) == "corpus"]
        return brute_rules.price(rules, self.X, [self.names(path) for path in paths], self.labels, HARD)

    def slack(self, i, path, loss):
        wrong = {z: sum(a != b for a, b in zip(z, path, strict=True)) for z in self.scores[i]}
        return max(loss * wrong[z] + score for z, score in self.scores[i].items()) - self.scores[i][tuple(path)]

    def split(self, y):
        """Labels of all tokens as one tuple of numbers per sequence."""
        return [tuple(row.tolist()) for row in self.batch.split(y)]

    def part(self, i, path, scale, loss):
        """What one sequence adds to the objective, corpus rules apart."""
        return scale[i] * self.slack(i, path, loss) + self.instance(i, path)

    def objective(self, y, scale, loss):
        paths = self.split(y)
        return sum(self.part(i, path, scale, loss) for i, path in enumerate(paths)) + self.corpus(paths)


def random_case(rng, lengths, labels, rules, *, size=3.0, whole=False):
    """A model with weights of about this size, or with small whole numbers, which make ties."""
    n_features, n_kinds, Y = 3, int(rng.integers(1, 3)), len(labels)
    batch = random_batch(rng, lengths, n_features, n_kinds=n_kinds, real=not whole)
    tokens, trans = rng.normal(0, size, (n_features, Y)), rng.normal(0, size, (n_kinds, Y, Y))
    if whole:
        tokens, trans = rng.integers(-2, 3, tokens.shape).astype(float), rng.integers(-1, 2, trans.shape).astype(float)
    X = [rng.choice(VOCABULARY_OF_WORDS, n).tolist() for n in lengths]
    return Case(X, tuple(labels), batch, ChainWeights(tokens, trans), rules)


def hard(rule):
    return {**rule, "weight": "hard"}


@st.composite
def matching_cases(
    draw, *, lengths=None, max_rules=4, levels=("instance", "corpus"), change=None, size=3.0, functions=False
):
    """change  applied to every rule"""
    Y = draw(st.sampled_from([3, 3, 2, 4, 1]))
    usual = st.lists(st.integers(1, 5 if Y < 4 else 4), min_size=1, max_size=2)
    lengths = draw(usual if lengths is None else lengths)
    labels = tuple("abcd"[:Y])
    some = descriptions(labels, functions).filter(lambda rule: level(rule) in levels)
    rules = draw(st.lists(some, max_size=max_rules, min_size=1))
    rng = np.random.default_rng(draw(seeds))
    rules = [change(rule) for rule in rules] if change else rules
    return random_case(rng, lengths, labels, rules, size=size, whole=draw(st.booleans()))


def some_known(rng, case):
    """About every third label is known."""
    known = rng.integers(0, case.Y, case.batch.n_tokens).astype(np.int16)
    known[rng.random(len(known)) < 2 / 3] = -1
    return known


def agrees(path, known):
    return all(k in (-1, z) for z, k in zip(path, known, strict=True))
