"""The best labellings where rules that measure a whole sequence count too.

`find_best` does not see these rules.  They can only make a labelling worse, so a labelling is certain to be the best if
what it is worth by all rules is no less than what `find_best` leaves to those it does not list.  As long as there is no
such labelling, words that `differ` and `agree` count become part of the search; of functions nothing is known, so more
labellings are listed for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from semistruct.core.batch import UNKNOWN, SequenceBatch
from semistruct.core.chain.inference import ChainWeights
from semistruct.rules.base import HARD, Rule
from semistruct.rules.events import Term
from semistruct.rules.search import Aim, Found, find_best
from semistruct.rules.tables import RuleTables, compile_rules
from semistruct.rules.vocabulary.measured import Measured, TwoFields

CANDIDATES = 50  # labellings among which such rules choose first
SIZES = (CANDIDATES, 200, 1000)  # of the lists, as long as they do not settle the matter
ROUNDS = 30  # of searches for one sequence
MOST_WAYS = 9  # to obey the rules, that are searched one by one


class FunctionRules:
    """Such rules for sequences X; label y is labels[y]."""

    def __init__(self, rules: Sequence[Measured], X: Sequence[Any], labels: Sequence[str]) -> None:
        self.rules, self.X, self.names = tuple(rules), X, np.array(labels, object)
        self.are_instance = np.array([rule.level == "instance" for rule in rules], bool)

    @classmethod
    def of(cls, tables: RuleTables, level: str | None = None) -> Self:
        """Those of some tables, on one level or on both."""
        rules = [rule for rule in tables.functions.values() if level in (None, rule.level)]
        return cls(rules, tables.X, tables.labels)

    def __bool__(self) -> bool:
        return bool(self.rules)

    def values(self, i: int, y: np.ndarray) -> np.ndarray:
        """(number of rules,): of sequence i, labelled y, how far off instance rules are, and numbers of others."""
        row, where = self.names[y].tolist(), f"sequence {i}"
        return np.array(
            [
                rule.excess(self.X[i], row, where) if alone else rule.measure(self.X[i], row, where)
                for rule, alone in zip(self.rules, self.are_instance, strict=True)
            ]
        )

    def all_values(self, y: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(n, number of rules) for all sequences end to end."""
        rows = [self.values(i, y[a:b]) for i, (a, b) in enumerate(pairwise(offsets))]
        return np.array(rows).reshape(len(offsets) - 1, len(self.rules))

    def n_broken(self, y: np.ndarray, offsets: np.ndarray) -> int:
        """How many times instance rules are broken, in all sequences."""
        return int(np.sum(self.all_values(y, offsets)[:, self.are_instance] > 0))

    def instance(self, values: np.ndarray) -> float:
        """The penalty of the instance rules for the values of one sequence."""
        rules = zip(self.rules, values.tolist(), self.are_instance, strict=True)
        return sum(rule.cost * v**rule.power for rule, v, alone in rules if alone)

    def corpus(self, mean: np.ndarray) -> float:
        """The penalty of the corpus rules for the mean values."""
        return sum(
            rule.cost * max(rule.range[0] - v, v - rule.range[1], 0.0) ** rule.power
            for rule, v, alone in zip(self.rules, mean.tolist(), self.are_instance, strict=True)
            if not alone
        )


def find_best_of_all(
    batch: SequenceBatch,
    weights: ChainWeights,
    tables: RuleTables,
    known: np.ndarray | None = None,
    *,
    k: int,
    width: int,
    within: float = np.inf,
    n_jobs: int | None = None,
) -> Found:
    """`find_best` for all instance rules."""
    aim, functions = Aim(known=known), FunctionRules.of(tables, "instance")
    found = find_best(batch, weights, tables, replace(aim, within=within), k=k, width=width, n_jobs=n_jobs)
    if not functions:
        return found
    pools = [_Pool(functions, i, k, within) for i in range(len(batch))]
    places = [slice(a, b) for a, b in pairwise(batch.offsets)]
    open_ = [pool for pool in pools if any(pool.take(found, places[pool.i]))]
    if k < CANDIDATES and open_:
        which = np.array([pool.i for pool in open_])
        more = find_best(batch, weights, tables, aim, k=CANDIDATES, width=width, which=which, n_jobs=n_jobs)
        for pool in open_:
            pool.take(more, places[pool.i])
    found = replace(found, ceiling=found.ceiling.copy(), unseen=found.unseen.copy())
    for pool in open_:
        i, place = pool.i, places[pool.i]
        if not pool.is_certain:
            one = batch.take(np.array([i]))
            search = _Search(one, weights, tables, None if known is None else known[place], width, pool)
            search.settle([path for path in found.labels[:, place] if path[0] != UNKNOWN])
        pool.write(found, place)
    return found


@dataclass
class _Pool:
    """The labellings of sequence i that were seen, and what they are worth by all rules.

    k, within  how many are wanted, and how far below the best
    unseen     no other labelling is worth more
    """

    functions: FunctionRules
    i: int
    k: int
    within: float
    unseen: float = np.inf
    worth: dict[bytes, float] = field(default_factory=dict)

    def take(self, found: Found, place: slice) -> list[float]:
        """Take labellings of the sequence, which is at this place; returns what the functions make them cost."""
        self.unseen = min(self.unseen, float(found.unseen[self.i]))
        rows = zip(found.labels[:, place], found.values[self.i].tolist(), strict=True)
        return [self.put(path, value) for path, value in rows if value > -np.inf]

    def put(self, path: np.ndarray, value: float, paid: float = 0.0) -> float:
        """Put in one labelling, in whose value a part of what the functions make it cost is paid."""
        cost = self.functions.instance(self.functions.values(self.i, path))
        key = path.tobytes()
        self.worth[key] = max(value - (cost - paid), self.worth.get(key, -np.inf))
        return cost

    @property
    def is_certain(self) -> bool:
        """Whether the k best are certain to be the best, as far as they are wanted."""
        best = sorted(self.worth.values(), reverse=True)[: self.k]
        least = best[-1] if len(best) == self.k else -np.inf
        return self.unseen <= max(least, best[0] - self.within)

    def write(self, found: Found, place: slice) -> None:
        """Put the k best in the place of those found."""
        i, best = self.i, sorted(self.worth.items(), key=lambda item: -item[1])[: self.k]
        found.labels[:, place], found.values[i] = UNKNOWN, -np.inf
        for r, (key, worth) in enumerate(best):
            found.labels[r, place], found.values[i, r] = np.frombuffer(key, found.labels.dtype), worth
        found.ceiling[i] = max(best[0][1], self.unseen)
        found.unseen[i] = self.unseen


class _Spelled(Rule):
    """What `find_best` is to count of another rule; a squared penalty is more than that."""

    key: ClassVar = "spelled"
    in_files: ClassVar = False
    spelled: tuple[Any, ...]

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return list(self.spelled)

    def paid(self, tokens: Sequence[Any], labels: Sequence[str]) -> float:
        """What a labelling costs."""
        far = [t.distance(len(t.event.places(tokens, labels))) * t.matters(tokens, labels) for t in self.spelled]
        return self.cost * sum(min(v, 1.0) if t.joint else v for t, v in zip(self.spelled, far, strict=True))


class _Listed(NamedTuple):
    """The best labellings in one way, and what no other is worth more than, in that way."""

    paths: list[np.ndarray]
    unseen: float


@dataclass(frozen=True)
class _Search:
    """Search for the best labellings of the sequence of a pool, which `one` holds alone."""

    one: SequenceBatch
    weights: ChainWeights
    tables: RuleTables
    known: np.ndarray | None
    width: int
    pool: _Pool

    def settle(self, paths: Sequence[np.ndarray]) -> None:
        """Look further until the best labellings of the pool are certain, or there is no hope left.

        paths  the best ones by what the search has seen so far
        """
        rules, done = self._searchable(), dict[Any, _Listed]()
        words, size = [set[str]() for _ in rules], self.pool.k
        whole = len(rules) == len(self.pool.functions.rules) and all(rule.power == 1 for rule in rules)
        sizes = [] if whole else [n for n in SIZES if n > size]
        for _ in range(ROUNDS):
            fresh = [{word for path in paths for word in self._wrong(rule, path)} for rule in rules]
            if all(new <= old for new, old in zip(fresh, words, strict=True)):
                if not sizes:
                    return
                size = sizes.pop(0)
            words = [old | new for old, new in zip(words, fresh, strict=True)]
            several = [rule.ways(self.tokens, some, self.names) for rule, some in zip(rules, words, strict=True)]
            ways = [(size, tuple(map(tuple, way))) for way in product(*several)]
            done.update({key: self._list(rules, key[1], size) for key in ways if key not in done})
            self.pool.unseen = min(self.pool.unseen, max(done[way].unseen for way in ways))
            if self.pool.is_certain:
                return
            paths = [path for way in ways for path in done[way].paths[: self.pool.k]]

    @property
    def tokens(self) -> Any:
        return self.tables.X[self.pool.i]

    @property
    def names(self) -> tuple[str, ...]:
        return self.tables.labels

    def _searchable(self) -> list[TwoFields]:
        """The rules that can be spelled out; a condition on labels cannot."""
        found, n = list[TwoFields](), 1
        for rule in self.pool.functions.rules:
            if isinstance(rule, TwoFields) and not (rule.if_ and rule.if_.mentioned()):
                ways = n * len(rule.ways(self.tokens, (), self.names))
                if ways <= MOST_WAYS:
                    found, n = [*found, rule], ways
        return found

    def _wrong(self, rule: TwoFields, path: np.ndarray) -> set[str]:
        labels = [self.names[y] for y in path]
        return rule.wrong(self.tokens, labels) if rule.excess(self.tokens, labels, "") else set()

    def _list(self, rules: list[TwoFields], way: Sequence[Sequence[Term]], size: int) -> _Listed:
        """The best labellings in one way to obey the rules, which are put into the pool."""
        extra = [
            _Spelled.made(tuple(terms), weight=rule.cost if terms[0].joint else HARD)
            for rule, terms in zip(rules, way, strict=True)
            if terms
        ]
        tables = compile_rules([*self.tables.rules, *extra], [self.tokens], self.names)
        aim = Aim(known=self.known)
        found = find_best(self.one, self.weights, tables, aim, k=size, width=self.width, n_jobs=1)
        paths = list(found.labels[: np.sum(found.values > -np.inf)])
        for path, value in zip(paths, found.values[0].tolist(), strict=False):
            labels = [self.names[y] for y in path]
            self.pool.put(path, value, sum(rule.paid(self.tokens, labels) for rule in extra))
        return _Listed(paths, float(found.unseen[0]))
