"""What the pool and the rules changed, and why."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from semistruct.chain.inference import ChainWeights
from semistruct.fitting.task import Task

LEARNED = "learned from other sequences"


def explain(task: Task, start: ChainWeights, labels: np.ndarray, n_jobs: int | None) -> dict[str, Any]:
    """How the labels of the open sequences differ from those of the supervised model.

    rules   for each instance rule, how many sequences broke it before and how many break it now
    moved   for each pair of labels, how many tokens went from one to the other
    causes  for the sequences that changed, which rules they broke before and obey now; a sequence that
            obeys no more rules than before changed because of what was learned from others
    """
    batch, tables, names = task.opened, task.tables, task.labels
    if not len(batch):
        return {"rules": [], "moved": [], "causes": []}
    before = task.decoded(start, n_jobs)
    broke, breaks = tables.broken(before, n_jobs), tables.broken(labels, n_jobs)
    rules = [
        {"rule": rule.text, "before": int(broke[:, r].sum()), "after": int(breaks[:, r].sum())}
        for r, rule in enumerate(tables.rules)
        if rule.level == "instance"
    ]
    different = before != labels
    moved = Counter(zip(before[different].tolist(), labels[different].tolist(), strict=True))
    changed = np.add.reduceat(different, batch.offsets[:-1]) > 0
    mended = broke & ~breaks & changed[:, None]
    causes = {tables.rules[r].text: int(mended[:, r].sum()) for r in range(len(tables.rules)) if mended[:, r].any()}
    learned = int((changed & ~mended.any(axis=1)).sum())
    causes |= {LEARNED: learned} if learned else {}
    return {
        "rules": rules,
        "moved": [{"from": names[a], "to": names[b], "tokens": n} for (a, b), n in moved.most_common()],
        "causes": [{"because": k, "sequences": n} for k, n in sorted(causes.items(), key=lambda item: -item[1])],
    }
