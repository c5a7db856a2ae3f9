"""Rules as statements about what is expected of a distribution over labellings.

Every term of a rule gives one or two rows; with c = (c_1, c_2, ...) the counts of the terms, a row says

    E[a.c] <= bound    or, if it is an equality,    E[a.c] = bound

of each sequence (instance rules) or of the sum over all sequences (corpus rules).  What lies beyond the bound, xi,
costs xi^2 / (2 slack), or price * |xi| where the rule says how much an event costs; nothing is allowed where slack is 0
and the price is infinite.  In the dual, slack is the quadratic and the price the bound of a multiplier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from semistruct.base.errors import ParameterError
from semistruct.rules.events import Event, Term
from semistruct.rules.tables import ITSELF, PER_SEQUENCE, PER_TOKEN, RuleTables

LARGEST = 1e4  # multiplier of a hard rule: exp(-LARGEST) is 0


@dataclass(frozen=True)
class Rows:
    """J rows: a (J, K), bound, slack, price (J,), equal (J,) bool, rule (J,) the number of the rule."""

    a: np.ndarray
    bound: np.ndarray
    slack: np.ndarray
    price: np.ndarray
    equal: np.ndarray
    rule: np.ndarray

    def __len__(self) -> int:
        return len(self.bound)

    @property
    def high(self) -> np.ndarray:
        """The largest value of each multiplier: the price, or where violations have no probability any more."""
        return np.where(self.slack > 0, self.price, np.minimum(self.price, LARGEST))

    @property
    def low(self) -> np.ndarray:
        """The least value of each multiplier."""
        return np.where(self.equal, -self.high, 0.0)

    def beyond(self, expected: np.ndarray) -> np.ndarray:
        """xi (..., J) for E[a.c] (..., J)."""
        distance = expected - self.bound
        return np.where(self.equal, np.abs(distance), np.maximum(distance, 0.0))

    def cost(self, expected: np.ndarray, multiplier: np.ndarray) -> np.ndarray:
        """(...): what lies beyond the bounds costs; where nothing may, it costs what the multiplier says."""
        xi, rate = self.beyond(expected), np.where(np.isfinite(self.price), self.price, np.abs(multiplier))
        return np.divide(xi**2, 2 * self.slack, out=rate * xi, where=self.slack > 0).sum(axis=-1)


@dataclass(frozen=True)
class Expectations:
    """The rows of instance rules and those of corpus rules.

    per_token (J,)  instance rows whose counts are shares of the tokens of their sequence
    """

    tables: RuleTables
    instance: Rows
    per_token: np.ndarray
    corpus: Rows

    @classmethod
    def of(cls, tables: RuleTables, softness: Callable[[str, float], float]) -> Expectations:
        """softness(level, n): the slack of a rule whose weight was left open and that speaks of n events."""
        for function in tables.functions.values():
            problem = "this method cannot use rules that are functions; remove this rule"
            raise ParameterError(f"rule {function.text!r}: {problem}")
        rows: dict[str, list[tuple[np.ndarray, float, float, float, bool, int]]] = {"instance": [], "corpus": []}
        per_token: list[bool] = []
        for k, term in enumerate(tables.terms):
            rule = tables.rules[tables.rule_of[k]]
            if what := why_no_expectation(term):
                raise ParameterError(f"rule {rule.text!r}: this method cannot use rules about {what}; remove this rule")
            n = divisor(tables, k, rule.level)
            if n == 0:
                continue  # it speaks of words that do not occur
            for sign, bound in _bounds(tables, k):
                a = np.zeros(tables.n_terms)
                a[k] = sign
                ratio = rule.level == "corpus" and _is_ratio(tables, term)
                if ratio:
                    a[tables.targets["per"][k]] -= sign * bound
                slack, price = _softness(tables, k, n, softness)
                equal = tables.targets["low"][k] == tables.targets["high"][k]
                limit = 0.0 if ratio else sign * bound * n
                rows[rule.level].append((a, limit, slack, price, equal, tables.rule_of[k]))
                if rule.level == "instance":
                    per_token.append(tables.targets["per"][k] == PER_TOKEN)
        K = tables.n_terms
        return cls(tables, _rows(rows["instance"], K), np.array(per_token, bool), _rows(rows["corpus"], K))

    def beyond(self, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(instance (n, J), corpus (J,)): xi for the expected counts (n, K) of all sequences."""
        return (
            self.instance.beyond(self.instance_scale() * (expected @ self.instance.a.T)),
            self.corpus.beyond(self.corpus.a @ expected.sum(axis=0)),
        )

    def instance_scale(self) -> np.ndarray:
        """(n, J): what E[a.c] of a sequence is multiplied with."""
        lengths = np.diff(self.tables.offsets)[:, None]
        return np.where(self.per_token[None, :], 1.0 / lengths, 1.0)


def why_no_expectation(term: Term) -> str | None:
    """What a term speaks of that a chain cannot expect; None if it can."""
    if not term.event.local:
        return term.event.what
    if term.has_condition:
        return "sequences that have, or have not, certain labels"
    return "the number of labels that break a rule" if term.joint else None


def _bounds(tables: RuleTables, k: int) -> list[tuple[float, float]]:
    """(sign, bound): sign * value <= sign * bound."""
    low, high = tables.targets["low"][k], tables.targets["high"][k]
    if low == high:
        return [(1.0, float(high))]
    upper = [(1.0, float(high))] if np.isfinite(high) else []
    return upper + ([(-1.0, float(low))] if np.isfinite(low) and low > 0 else [])


def divisor(tables: RuleTables, k: int, level: str) -> float:
    """What a count is divided by to get what the bounds speak of; for shares of changes, what makes them comparable."""
    term, per = tables.terms[k], int(tables.targets["per"][k])
    if level == "instance" or per == ITSELF:
        return 1.0
    if per == PER_TOKEN:
        return float(tables.offsets[-1])
    if per == PER_SEQUENCE or _is_ratio(tables, term):
        return float(len(tables))
    return float(tables.token_tests[tables.token_class, per].sum())  # words whatever their labels


def _is_ratio(tables: RuleTables, term: Term) -> bool:
    """Whether a count is divided by one that depends on the labels, too."""
    return isinstance(term.per, Event) and not term.per.is_constant(tables.labels)


def _softness(tables: RuleTables, k: int, n: float, softness: Callable[[str, float], float]) -> tuple[float, float]:
    """(slack, price) of a row in units of counts."""
    rule, unit = tables.rules[tables.rule_of[k]], float(tables.targets["unit"][k])
    if rule.weight_is_open:
        return softness(rule.level, n), np.inf
    if rule.weight == "hard":
        return 0.0, np.inf
    return (n**2 / (2 * rule.cost * unit**2), np.inf) if rule.power == 2 else (0.0, rule.cost * unit / n)


def _rows(found: list[tuple[np.ndarray, float, float, float, bool, int]], K: int) -> Rows:
    a = np.array([row[0] for row in found]).reshape(len(found), K)
    bound, slack, price = (np.array([row[i] for row in found], float) for i in (1, 2, 3))
    return Rows(a, bound, slack, price, np.array([row[4] for row in found], bool), np.array([row[5] for row in found]))
