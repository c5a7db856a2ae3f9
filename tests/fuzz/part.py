"""What a part of the campaign is, and what counts as a failure.

A part makes inputs from random numbers and runs them.  An input is accepted, or it is refused by a SemistructError of
one line; anything else is a failure.
"""

import hashlib
import json
import time
import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path

from semistruct.errors import SemistructError

ANSWERS = ("accepted", "refused")
LONGEST = 1000  # characters of a message
SHRINKING = 3.0  # seconds


@dataclass(frozen=True)
class Input:
    content: bytes
    options: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """place is the same for failures that probably have the same cause."""

    part: str
    index: int
    place: str
    report: str
    given: Input | None

    @property
    def name(self):
        return f"{self.part.replace(' ', '-')}-{hashlib.sha256(self.place.encode()).hexdigest()[:8]}"


class Part:
    """
    name     in the table and in the names of failures
    share    of the time of the campaign, relative to that of others
    seconds  that one input may take
    memory   bytes that all inputs together may take; None for a part that runs commands
    batch    inputs that are run without a look at the clock
    """

    name = ""
    share = 1.0
    seconds = 5.0
    memory = 1 << 30
    batch = 500

    def warm(self, folder):
        """Prepare what all inputs need; `folder` is for files."""
        self.folder = Path(folder)

    def make(self, rng):
        """An input."""
        raise NotImplementedError

    def run(self, given):
        """One of ANSWERS, or an exception."""
        raise NotImplementedError

    def smaller(self, content):
        """Contents with something left out, large parts first."""
        return without_pieces(content)


class JsonPart(Part):
    """A part whose contents are JSON, from which entries are left out."""

    def smaller(self, content):
        for value in without_entries(json.loads(content)):
            yield json.dumps(value).encode()


def without_pieces(content):
    size = len(content) // 2
    while size:
        for start in range(0, len(content), size):
            yield content[:start] + content[start + size :]
        size //= 2


def without_entries(value):
    keys = range(len(value)) if isinstance(value, list) else list(value) if isinstance(value, dict) else ()
    for key in keys:
        rest = value.copy()
        del rest[key]
        yield rest
    for key in keys:
        for inner in without_entries(value[key]):
            changed = value.copy()
            changed[key] = inner
            yield changed


def attempt(part, given):
    """(answer, None), or (None, (place, report)) for a failure."""
    try:
        answer = part.run(given)
        if answer not in ANSWERS:
            return None, (f"answered {answer!r:.40}", f"the part answered {answer!r}")
        return answer, None
    except SemistructError as err:
        message = str(err)
        if len(message.splitlines()) == 1 and len(message) <= LONGEST:
            return "refused", None
        words = "a message of several lines or none" if len(message) <= LONGEST else "a long message"
        return None, _described(err, f"{words}: ")
    except BaseException as err:
        return None, _described(err, "")


def shrunk(part, given, place, alive):
    """The smallest input found that fails at the same place; calls alive() before each attempt."""
    end, smaller = time.monotonic() + SHRINKING, True
    while smaller:
        smaller = False
        for content in part.smaller(given.content):
            if time.monotonic() > end:
                return given
            alive()
            candidate = replace(given, content=content)
            if (attempt(part, candidate)[1] or ("",))[0] == place:
                given, smaller = candidate, True
                break
    return given


def _described(err, words):
    frames = traceback.extract_tb(err.__traceback__)
    ours = [f for f in frames if "semistruct" in Path(f.filename).parts] or frames
    where = f"{Path(ours[-1].filename).name}:{ours[-1].name}" if ours else ""
    report = "".join(traceback.format_exception(err))
    return f"{words}{type(err).__name__} in {where}", words + report
