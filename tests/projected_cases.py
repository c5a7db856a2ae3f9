"""Small tasks for posterior regularisation, and its objective by listing every labelling."""

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

import brute
import brute_projection
from annealed_cases import POOL, X, task_of
from rule_strategies import built
from semistruct.rules import Rules
from strategies import chains_of

LABELS = ["author", "date", "title"]
SMALL_RULES = {
    "none": [],
    "instance": [{"starts_with": ["author", "title"]}, {"at_most_once": "all", "weight": 2, "penalty": "square"}],
    "priced": [{"ends_with": ["date"], "weight": 0.7}, {"count": {"title": 1}, "level": "instance", "weight": 0.5}],
    "shares": [{"proportion": {"title": 0.3, "date": (0.1, 0.2)}}, {"present": ["title"], "weight": 0.5}],
    "changes": [
        {"change_only_on": ["punctuation"], "level": "corpus", "fraction": 0.1},
        {"pattern": r"\d+", "are": ["date"], "level": "corpus", "fraction": (0.5, 0.8), "weight": 0.2},
    ],
}


def exact(method, **given):
    """The method with a projection that is solved to the end."""

    class Exact(method):
        def _projector(self, task):
            return replace(super()._projector(task), tol=1e-9, rounds=1000)

    return Exact(**given)


def small_task(rules, y, importance):
    ruleset = Rules([built(rule) for rule in SMALL_RULES[rules]], labels=LABELS)
    return task_of(X, y, POOL, ["shape"], ruleset, importance)


class Enumerated:
    """J of the sequences of a task, by listing every labelling."""

    def __init__(self, task, rules, slack, weight, C_u):
        self.task, self.weight, self.C_u, self.n = task, weight, C_u, task.n_fixed
        self.rows = [task.tables.X, tuple(LABELS), SMALL_RULES[rules], lambda n: slack * n]
        self.known = task.batch.split(task.known)

    def problem(self, chain):
        listed = []
        for (unary, step, kind), known in zip(chains_of(self.task.batch, chain), self.known, strict=True):
            restricted = brute.allowed_only(unary, known)
            scored = {p: brute.score(restricted, step, kind, p) for p in brute.labellings(*unary.shape)}
            listed.append({p: s for p, s in scored.items() if s > -np.inf})
        X, labels, rules, softness = self.rows
        return listed, brute_projection.problem(X, labels, listed[self.n :], rules, softness)

    def __call__(self, chain, q, T):
        """q has the distributions of the open sequences."""
        listed, p = self.problem(chain)
        total = 0.5 * (np.sum(chain.tokens**2) + np.sum(chain.trans**2))
        for i, (scores, parts) in enumerate(zip(listed, chains_of(self.task.batch, chain), strict=True)):
            log_z = logsumexp([brute.score(*parts, path) for path in brute.labellings(*parts[0].shape)])
            own = np.ones(1) if i < self.n else q[i - self.n]
            total += self.weight[i] * (log_z - own @ np.array(list(scores.values())))
            if i >= self.n:
                some, rows = own[own > 0], zip(p.of_instance, own @ p.instance[i - self.n], strict=True)
                cost = sum(brute_projection.cost(row, value) for row, value in rows)
                total += self.weight[i] * (T * some @ np.log(some) + cost)
        every = sum(own @ b for own, b in zip(q, p.corpus, strict=True))
        rows = zip(p.of_corpus, every, strict=True)
        return total + self.C_u * sum(brute_projection.cost(row, value) for row, value in rows)
