"""Small changes to bytes, text and JSON; the random numbers are drawn by hypothesis, which can make them small."""

import json
import re
from copy import deepcopy

from hypothesis import strategies as st

SIGNS = [
    b"\t", b" ", b"\n", b"\n\n", b"\r\n", b"\r", b"\0", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\xff", b"\xc3",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc2\x85", b"\xc2\xa0", b"\xe3\x80\x80", b"\xe2\x80\x8b", b"\xcc\x81",
    b"\xe2\x80\xae",
    b"\xf0\x9f\x92\xa9", b"?", b"O", b"B-", b"I-x", b"-", b"--", b"...", b"<", b"</", b">", b"&", b"&lt;",
    b"&amp;", b"<a>",
    b"</a>", b'"', b"'", b"\\", b"\\ud800", b"\\u0000", b"{", b"}", b"[", b"]", b",", b":", b"#", b"*", b"&x",
    b"!!python/name:os",
    b"%", b"@", b"|", b"~", b"null", b"true", b"NaN", b"Infinity", b"-DOCSTART-", b"label", b"http://", b"a@b", b"_",
]  # fmt: skip
NUMBERS = [b"0", b"-1", b"1e308", b"-1e999", b"1e-320", b"9" * 30, b"9" * 5000, b"0x10", b"1_0", b".5", b"nan",
    b"inf", b"2147483648",
           b"9223372036854775808", b"\xd9\xa3", b"0.1", b"1.5", b"100"]  # fmt: skip
ENCODINGS = ["utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "cp1252", "utf-7"]
BRACKETS = [(b"[", b"]"), (b'{"a":', b"}"), (b"<a>", b"</a>"), (b"- ", b""), (b"(", b")"), (b"{a: ", b"}")]
NUMBER = re.compile(rb"-?\d+(\.\d+)?")
VALUES = [
    None, True, False, 0, 1, -1, 2, 0.5, 1e308, -1e308, float("nan"), float("inf"), 10**30, 10**400, "", " ", "a",
    "author", "hard", "all",
    "\0", "\n", "\ud800", "x" * 3000, "(a+)+$", "[", "default", "word", "word[-100000000..100000000]",
    [], [[]], [None], ["author"], ["a", "a"],
    [1, 2], {}, {"a": 1},
    {"author": 0.5}, {"rules": []}, [{}], [0.1, 0.2], [2, 1], [None, None], "ssvm", "crf",
]  # fmt: skip


def made_by(make):
    """Inputs that a function makes of a random number generator, which has `randrange` and `choice` only.

    Others of its methods draw numbers that are far from evenly distributed.
    """
    return st.randoms(use_true_random=False).map(make)


def mutated(rng, content, others=(), most=4):
    """`content` with a few changes; pieces of `others` may get in."""
    for _ in range(min(most, rng.choice([1, 1, 1, 2, 2, 3, 4]))):
        content = rng.choice(CHANGES)(rng, content, others)
    return content


def edited(rng, content, others):
    """A short piece is left out, repeated, or replaced; it may be that nothing was there."""
    a = rng.randrange(len(content) + 1)
    b = min(len(content), a + rng.choice([0, 0, 1, 1, 2, 4, 8, 16, 32]))
    how = rng.randrange(10)
    if how < 5:
        new = rng.choice(SIGNS)
    elif how == 5:
        times = rng.choice([2, 2, 2, 3, 3, 10, 10, 100, 1000, 20_000])
        new = content[a:b] * min(times, 300_000 // (b - a + 1))
    elif how == 6:
        depth, (left, right) = rng.choice([2, 9, 100, 3000]), rng.choice(BRACKETS)
        new = left * depth + b"1" + right * depth
    elif how == 7 and others:
        other = rng.choice(others)
        new, b = other[rng.randrange(len(other) + 1) :], len(content)
    else:
        new, b = b"", b if rng.randrange(3) else len(content)
    return content[:a] + new + content[b:]


def flipped(rng, content, others):
    at = rng.randrange(max(1, len(content)))
    return content[:at] + bytes(byte ^ (1 << rng.randrange(8)) for byte in content[at : at + 1]) + content[at + 1 :]


def with_number(rng, content, others):
    found = list(NUMBER.finditer(content))
    if not found:
        return content
    m = rng.choice(found)
    return content[: m.start()] + rng.choice(NUMBERS) + content[m.end() :]


def with_other_lines(rng, content, others):
    rows = content.split(b"\n")
    i, j = rng.randrange(len(rows)), rng.randrange(len(rows))
    one, two = rows[i], rows[j]
    rows[i : i + 1] = rng.choice([[], [two], [one, two], [one + two], [one.replace(b"\t", b" ")]])
    return b"\n".join(rows)


def encoded(rng, content, others):
    try:
        return content.decode("utf-8").encode(rng.choice(ENCODINGS))
    except UnicodeError:
        return content


CHANGES = [*[edited] * 10, flipped, with_number, with_number, with_other_lines, with_other_lines, encoded]


def mutated_value(rng, value, most=3):
    """Plain data with a few entries changed, added or removed."""
    value = json.loads(json.dumps(value))
    for _ in range(min(most, rng.choice([1, 1, 1, 2, 3]))):
        box = [value]
        _change(rng, box, 0)
        value = box[0]
    return value


def _change(rng, parent, key):
    """Change parent[key], or something inside of it."""
    value = parent[key]
    keys = list(range(len(value))) if isinstance(value, list) else sorted(value) if isinstance(value, dict) else []
    if keys and rng.randrange(7):
        _change(rng, value, rng.choice(keys))
        return
    how = rng.randrange(6)
    if how == 0 and keys:
        del value[rng.choice(keys)]
    elif how == 1 and isinstance(value, list):
        value.insert(rng.randrange(len(value) + 1), deepcopy(rng.choice([*VALUES, *value])))
    elif how == 2 and isinstance(value, dict):
        value[rng.choice(["rules", "labels", "weight", "x", *value])] = deepcopy(rng.choice(VALUES))
    elif how == 3 and isinstance(value, list):
        parent[key] = value * rng.choice([2, 50])
    elif how == 4:
        for _ in range(rng.choice([1, 20, 100])):
            value = [value]
        parent[key] = value
    else:
        parent[key] = deepcopy(rng.choice(VALUES))
