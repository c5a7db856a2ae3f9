"""Why a sequence was chosen, in a sentence."""

from __future__ import annotations

import numpy as np

from semistruct.picking.choice import Choice

NAMED = 3  # traits or labels that a reason names
CLEAR = 5  # characters, with quotes, of the names that are told if there are any
RARE = 0.25  # the share of the labelled sequences below which few have a label
ALSO = 0.5  # a second reason is told if it is at least half as strong as the first


def reason(choice: Choice, i: int, parts: dict[str, float]) -> str:
    """Why sequence i is the best; to be asked before it is taken."""
    order = sorted(parts, key=lambda name: -parts[name])
    texts = {name: text for name in order if parts[name] > 0 and (text := WORDS[name](choice, i))}
    strong = [text for name, text in texts.items() if parts[name] >= ALSO * parts[order[0]]]
    return "; ".join((strong or list(texts.values())[:1])[:2]) or "the best of what is left"


def _cover(choice: Choice, i: int) -> str:
    own, worth = choice.has[[i]].indices, choice.new()
    best = [choice.traits.names[f] for f in own[np.argsort(-worth[own], kind="stable")] if worth[f] > 0]
    names = ", ".join(([name for name in best if len(name) >= CLEAR] or best)[:NAMED])
    return f"shows what many others have and nothing labelled does: {names}" if names else ""


def _doubt(choice: Choice, i: int) -> str:
    assert choice.signals is not None
    wrong, changed = choice.signals.doubt[i], int(choice.signals.changed[i])
    text = f"about {max(round(wrong), 1)} of its {int(choice.lengths[i])} labels may be wrong"
    return f"{text}, and the rules changed {changed} of them" if changed else text


def _rare(choice: Choice, i: int) -> str:
    assert choice.signals is not None
    own = np.flatnonzero(choice.signals.has[i])
    rarest = own[np.argsort(choice.seen[own], kind="stable")][:NAMED]
    unseen = [choice.signals.names[y] for y in rarest if choice.seen[y] < 1]
    if unseen:
        return f"may have {' and '.join(unseen)}, which no labelled sequence has"
    if choice.seen[rarest[0]] < RARE * choice.n_seen:
        return f"may have {choice.signals.names[rarest[0]]}, which few labelled sequences have"
    usual = np.median(choice.signals.has[choice.open].sum(axis=1))
    return f"may have {len(own)} different labels, more than most others" if len(own) > usual else ""


WORDS = {"cover": _cover, "doubt": _doubt, "rare": _rare}
