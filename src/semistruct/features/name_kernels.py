"""Looking up names: texts end to end, each with a zero byte behind it, and a hash table of those that are known.

Texts are read eight bytes at a time, little end first: words[i] holds the bytes i to i + 7, so that words overlap.
"""

import numpy as np

from semistruct.compiled import inlined, kernel

SLOT = np.dtype([("hash", np.uint64), ("number", np.int32), ("start", np.int32)])
"""Of the table: the number of a name, -1 if the slot is free, and where the name begins."""

FACTOR = np.uint64(0x9E3779B97F4A7C15)
LOW, HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
PLACES = np.uint64(0x0001020304050607)
ONE, SEVEN, EIGHT, HALF, LAST = np.uint64(1), np.uint64(7), np.uint64(8), np.uint64(32), np.uint64(56)
LARGEST = np.int32(2**31 - 1)


@inlined
def read(words, at):
    """(hash, end) of the name that begins at `at`."""
    hashed = np.uint64(0)
    word = words[at]
    zero = (word - LOW) & ~word & HIGH  # the lowest bit that is set is the highest one of the first zero byte
    while zero == 0:
        hashed = (hashed ^ word) * FACTOR
        hashed ^= hashed >> HALF
        at += 8
        word = words[at]
        zero = (word - LOW) & ~word & HIGH
    zero &= ~zero + ONE
    hashed = (hashed ^ (word & (zero - ONE))) * FACTOR
    hashed ^= hashed >> HALF
    return hashed, at + np.int64(((zero >> SEVEN) * PLACES) >> LAST)


@inlined
def same(words, a, others, b, size):
    """Whether the name of `size` bytes at a is the one at b."""
    while size >= 8:
        if words[a] != others[b]:
            return False
        a, b, size = a + 8, b + 8, size - 8
    return ((words[a] ^ others[b]) << (np.uint64(7 - size) * EIGHT)) == 0  # with the zero byte


@kernel
def enter(words, n, slots):
    """Enter the names 0 .. n - 1; returns where their text ends.  The table has free slots left."""
    mask = np.uint64(len(slots) - 1)
    at = 0
    for number in range(n):
        hashed, end = read(words, at)
        k = hashed & mask
        while slots[k].number >= 0:
            k = (k + ONE) & mask
        slots[k].hash, slots[k].number, slots[k].start = hashed, number, at
        at = end + 1
    return at


@inlined
def put_in_order(found, n, out, first):
    """Write the n numbers found into `out`, increasing; returns whether they are different.

    The place of each is counted, which has no branches to guess.  `found` has room for seven more.
    """
    end = (n + 7) & ~7
    for i in range(n, end):
        found[i] = LARGEST
    total = 0
    for i in range(n):
        own, place = found[i], np.int32(0)
        for j in range(end):
            place = np.int32(place + np.int32(found[j] < own))  # not int64, of which fewer are counted at once
        out[first + place] = own
        total += int(place)
    return total == n * (n - 1) // 2


@kernel
def look_up(words, sizes, slots, known, found, counts, rows):
    """Write how many known names each token has, and their numbers, increasing; returns how many these are.

    Token t has sizes[t] names; one without names has an empty text.  -1 is returned if a token has a name twice, or if
    there are more texts, or fewer, than there should be.
    """
    mask = np.uint64(len(slots) - 1)
    at, n, last = 0, 0, len(words) - 1
    for t in range(len(sizes)):
        own = 0
        for _ in range(sizes[t]):
            if at >= last:
                return -1
            hashed, end = read(words, at)
            k = hashed & mask
            while slots[k].number >= 0:
                if slots[k].hash == hashed and same(words, at, known, slots[k].start, end - at):
                    found[own] = slots[k].number
                    own += 1
                    break
                k = (k + ONE) & mask
            at = end + 1
        if sizes[t] == 0:
            at += 1
        if not put_in_order(found, own, rows, n):
            return -1
        counts[t] = own
        n += own
    return n if at == last else -1


@kernel
def gather(places, offsets, firsts, rows, sizes, ends, known, found, counts, out):
    """Write how many features of templates each token has, and these, increasing, each once; returns how many.

    places   (word, before, behind) of the tokens
    firsts   word w has the rows firsts[i, w] .. firsts[i, w + 1] - 1 of `rows` at offsets[i]
    sizes    sequence template k gives sizes[k, t] rows to token t, those from ends[k] on in `known`; -1 for none
    """
    word, before, behind = places
    n = 0
    for t in range(len(word)):
        own = 0
        for i in range(len(offsets)):
            if -before[t] <= offsets[i] <= behind[t]:
                w = word[t + offsets[i]]
                for j in range(firsts[i, w], firsts[i, w + 1]):
                    found[own] = rows[j]
                    own += 1
        for k in range(len(sizes)):
            for _ in range(sizes[k, t]):
                if known[ends[k]] >= 0:
                    found[own] = known[ends[k]]
                    own += 1
                ends[k] += 1
        if not put_in_order(found, own, out, n):
            own = without_repeats(found, own)
            put_in_order(found, own, out, n)
        counts[t] = own
        n += own
    return n


@kernel
def without_repeats(found, n):
    """Leave each of n numbers once, in front; returns how many are left."""
    left = 0
    for i in range(n):
        new = True
        for j in range(left):
            new = new and found[j] != found[i]
        if new:
            found[left] = found[i]
            left += 1
    return left
