"""What a ranker sees of a labelling: features of its blocks, and of the order in which they come.

A chain model sees a label and the one before it.  These features see all of a block, and all blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from semistruct.features.words import is_punctuation, shape_of
from semistruct.labels import Span

LONGEST_SHAPE = 6
SHORT = 6  # tokens of a block whose shapes are one feature
PLACES = 4  # parts of a sequence in which a block can begin
LENGTHS = (1, 2, 3, 5, 8, 12, 20)  # the longest of each class
MOST_MARKS, MOST_OF_A_LABEL, MOST_BLOCKS = 6, 3, 12  # counts beyond are one
FIRST, LAST = "<s>", "</s>"


def of_block(tokens: Sequence[str], block: Span) -> Iterator[str]:
    """How long a block is and where it begins, what it begins and ends with, what it holds, and what is beside it."""
    label, own = block.label, tokens[block.start : block.end]
    before, after = tokens[block.start - 1 : block.start] or [FIRST], tokens[block.end : block.end + 1] or [LAST]
    words, shapes = [token.lower() for token in own], [shape_of(token)[:LONGEST_SHAPE] for token in own]
    yield f"length {label} {sum(len(own) > longest for longest in LENGTHS)}"
    yield f"marks {label} {min(sum(is_punctuation(token) for token in own[:-1]), MOST_MARKS)}"
    yield f"place {label} {PLACES * block.start // len(tokens)}"
    yield f"before {label} {before[0].lower()}"
    yield f"after {label} {after[0].lower()}"
    for place, k, two in (("first", 0, shapes[:2]), ("last", -1, shapes[-2:])):
        yield f"{place} word {label} {words[k]}"
        yield f"{place} shape {label} {shapes[k]}"
        yield f"{place} shapes {label} {' '.join(two)}"
    if len(own) <= SHORT:
        yield f"shapes {label} {' '.join(shapes)}"
    for word in sorted(set(words)):
        yield f"word {label} {word}"
    for one in sorted(set(shapes)):
        yield f"shape {label} {one}"


def of_order(labels: Sequence[str]) -> Iterator[str]:
    """How many blocks there are, of which labels, and in which order; `labels` are those of the blocks."""
    yield f"blocks {min(len(labels), MOST_BLOCKS)}"
    number = Counter(labels)
    for label in sorted(number):
        yield f"number {label} {min(number[label], MOST_OF_A_LABEL)}"
    for pair in combinations(sorted(number), 2):
        yield f"both {' '.join(pair)}"
    row = [FIRST, *labels, LAST]
    for two in pairwise(row):
        yield f"order {' '.join(two)}"
    for three in zip(row, row[1:], row[2:], strict=False):
        yield f"order {' '.join(three)}"
