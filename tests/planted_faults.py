"""Parts of a campaign in which something is wrong."""

import os
import signal
import time

from fuzz.part import Input, Part
from semistruct.errors import DataError


class Letters(Part):
    """Refuses inputs with an x; what else happens is up to the test."""

    name = "letters"
    seconds = 0.5

    def make(self, rng):
        return Input("".join(rng.choices("abx", [9, 9, 1], k=12)).encode())

    def run(self, given):
        if b"x" in given.content:
            raise DataError("an x")
        return "accepted"


class Broken(Letters):
    def run(self, given):
        if given.content.count(b"x") == 2:
            raise KeyError("two x")
        return super().run(given)


class Hanging(Letters):
    def run(self, given):
        while given.content.count(b"x") == 2:
            time.sleep(0.1)
        return super().run(given)


class Crashing(Letters):
    def run(self, given):
        if given.content.count(b"x") == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().run(given)


class Greedy(Letters):
    def run(self, given):
        if given.content.count(b"x") == 2:
            assert len(bytearray(3 << 29))
        return super().run(given)


class Wordy(Letters):
    def run(self, given):
        if given.content.count(b"x") == 2:
            raise DataError("")
        return super().run(given)


class Undecided(Letters):
    def run(self, given):
        return None if given.content.count(b"x") == 2 else super().run(given)
