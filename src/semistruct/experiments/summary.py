"""The main results, as answers to questions."""

from __future__ import annotations

from math import isnan

from semistruct.experiments import statistics
from semistruct.experiments.lineup import LINEUP
from semistruct.experiments.view import CHOICES, IN_WORDS, SIGNIFICANT, Against, View


def summary(view: View) -> list[tuple[str, str]]:
    """(question, answer) pairs about the smallest size, and one about the largest if there is another."""
    size = next(iter(view.sizes))
    ranked = view.ranked(size, view.main)
    best = ranked[0]
    out = [(f"Which method is best with {view.name_of(size)} labels?", _best(view, size, best))]
    if len(ranked) > 1:
        second = ranked[1]
        out.append(("By how much, and is that significant?", _margin(view, size, best, second)))
    out.append(("What did the rules contribute?", _rules(view, size, best)))
    if "ssvm" in view.methods and "annealed" in view.methods and view.runs("ssvm", size):
        out.append(("What did the pool contribute?", _unlabelled(view, size)))
    out.append(("What did it cost?", _cost(view, size, best)))
    largest = list(view.sizes)[-1]
    if largest != size:
        top = view.ranked(largest, view.main)[0]
        out.append((f"And with {view.name_of(largest)} labels?", _best(view, largest, top)))
    return out


def warnings_of(view: View) -> list[str]:
    """Warnings about the figures."""
    out = []
    if view.synthetic:
        out.append("Synthetic data, made by a generator: these figures say nothing about real text.")
    if view.frame["quick"]:
        out.append("A quick run: little data, few methods and few draws.")
    if view.select == "best-test":
        out.append(
            f"Points of paths are the {CHOICES['best-test']}: optimistic figures, for comparison with the paper."
        )
    if len({tuple(sorted(record["versions"].items())) for record in view.records}) > 1:
        out.append("The runs were made with different versions of semistruct or its libraries.")
    if any(len({tuple(view.runs(method, size)) for method in view.methods}) > 1 for size in view.sizes):
        out.append("Some runs are missing: not all methods have the same draws.")
    return out


def _best(view: View, size: str, best: str) -> str:
    scores = view.scores(best, size, view.main)
    deviation = statistics.deviation(scores)
    shown = "" if isnan(deviation) else f" ± {100 * deviation:.1f}"
    draws = "one run" if len(scores) == 1 else f"{len(scores)} draws"
    accuracy = 100 * statistics.mean(scores)
    name = LINEUP[best].title
    return f"{name[0].upper()}{name[1:]}: {accuracy:.1f}{shown} % of tokens right {IN_WORDS[view.main]}, over {draws}."


def _margin(view: View, size: str, best: str, second: str) -> str:
    found = view.against(best, second, size, view.main)
    by = f"{100 * found.difference:.1f} points ahead of {LINEUP[second].title}"
    return f"{by}; {significance(found)}."


def significance(found: Against) -> str:
    """Both tests in words."""
    verdict = "significant" if found.significant else "not significant"
    over = f"{verdict} over the reported sequences (paired bootstrap, p {_p(found.bootstrap)})"
    if found.draws < 2:
        return f"{over}; there is only one draw"
    least = 2 / 2**found.draws
    sure = "significant" if found.flip < SIGNIFICANT else "not significant"
    limit = f"; no p below {least:.3g} is possible with {found.draws} draws" if least >= SIGNIFICANT else ""
    return f"{over}, {sure} over the draws (exact sign-flip test, p {_p(found.flip)}{limit})"


def _rules(view: View, size: str, best: str) -> str:
    def gain(method: str) -> float:
        return 100 * (view.mean(method, size, "rules") - view.mean(method, size, "plain"))

    gains = [f"{gain(best):+.1f} points at prediction for {LINEUP[best].title}"]
    if best != "ssvm" and view.runs("ssvm", size):
        gains.append(f"{gain('ssvm'):+.1f} for {LINEUP['ssvm'].title}")
    return ", ".join(gains) + "."


def _unlabelled(view: View, size: str) -> str:
    ways = []
    for decoding in view.decodings:
        found = view.against("annealed", "ssvm", size, decoding)
        ways.append(
            f"{100 * found.difference:+.1f} points {IN_WORDS[decoding]} (p over sequences {_p(found.bootstrap)})"
        )
    return f"Annealed over supervised SSVM: {', '.join(ways)}."


def _cost(view: View, size: str, best: str) -> str:
    text = f"{view.seconds(best, size):.1f} s a fit for {LINEUP[best].title}"
    if best != "ssvm" and view.runs("ssvm", size):
        text += f", against {view.seconds('ssvm', size):.1f} s for {LINEUP['ssvm'].title}"
    total = sum(sum(record["seconds"].values()) for record in view.records)
    return f"{text}; all {len(view.records)} runs together took {total / 60:.1f} minutes."


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
