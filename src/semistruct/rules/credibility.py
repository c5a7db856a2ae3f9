"""How credible a rule is, by the labelled cases that obey it and those that do not.

Rules are of three kinds, and by Bayes' rule the cases say which is the most probable:

    true   nearly all cases obey; most rules that people write are of this kind.  It weighs  strength * odds
    loose  most cases obey.  It weighs  odds / 2
    false  few cases obey.  It weighs nothing

where odds is the logarithm of the odds that a case obeys, for true rules relative to that of a rule without cases.

The numbers below were set on training parts of references, title pages and names.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log

PRIOR = {"true": 0.75, "loose": 0.15, "false": 0.1}
KINDS = {"true": (30.0, 1.0), "loose": (8.0, 2.0), "false": (1.0, 3.0)}
"""Of which cases, obeying and not, a rule of this kind reminds (the parameters of a beta distribution)."""
CASES = (9.0, 1.0)  # that every rule seems to have had, for its odds
MOST = 3.0  # of the odds, relative to a rule without cases


@dataclass(frozen=True)
class Credibility:
    """What is known of one rule: to how many labelled cases it applies, and how many of them obey.

    doubt  without cases, a model can raise a doubt: as if so many cases did not obey
    """

    applies: int = 0
    obeys: int = 0
    doubt: float = 0.0

    @property
    def kind(self) -> str:
        broken = self.applies - self.obeys + self.doubt
        return max(KINDS, key=lambda kind: log(PRIOR[kind]) + _log_chance(KINDS[kind], self.obeys, broken))

    def weight(self, strength: float) -> float:
        """0 for a rule that is false."""
        odds = max(log((self.obeys + CASES[0]) / (self.applies - self.obeys + CASES[1])), 0.0)
        if self.kind == "true":
            return strength * min(odds / log(CASES[0] / CASES[1]), MOST)
        return odds / 2 if self.kind == "loose" else 0.0

    @property
    def why(self) -> str:
        if self.applies:
            return f"{self.obeys} of {self.applies} labelled cases obey"
        sure = f", and in {self.doubt:.0%} of those in the pool the model is sure of other labels"
        return "no labelled case" + sure * (self.doubt > 0)


def _log_chance(kind: tuple[float, float], obeys: float, broken: float) -> float:
    """The logarithm of the chance of such cases, in some order, for a rule that is of this kind."""
    a, b = kind
    return _log_beta(a + obeys, b + broken) - _log_beta(a, b)


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)
