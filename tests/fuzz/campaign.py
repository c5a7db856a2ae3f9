"""Runs the parts, each in a process of its own, and survives what happens there.

A part has inputs (a strategy of hypothesis) and runs them.  An input is accepted, or it is refused by a
SemistructError of one line; anything else is a failure.  Hypothesis makes failing inputs small.  Inputs are plain data:
a failure is a file with the input as Python writes it, which `replay` runs once more.
"""

import ast
import hashlib
import multiprocessing
import os
import re
import resource
import signal
import tempfile
import time
import traceback
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

from planted_faults import FAULTS
from semistruct.base.errors import SemistructError

LONGEST = 1000  # characters of a message
SHRINKING = 20.0  # seconds
PREPARATION = 300.0  # seconds for what a part prepares
GRACE = 30.0  # seconds more than an input may take, after which its process is ended
ROUND = (10, 1000)  # inputs of the first round, and of the longest one


class Part:
    """
    name     in the table and in the names of failures
    share    of the time of the campaign, relative to that of others
    seconds  of the processor that one input may take
    memory   bytes that all inputs together may take; None for a part that runs commands
    """

    name = ""
    share = 1.0
    seconds = 5.0
    memory = 1 << 30

    def warm(self, folder):
        """Prepare what all inputs need; `folder` is for files."""
        self.folder = Path(folder)

    def inputs(self):
        """A strategy for inputs, which are plain data."""
        raise NotImplementedError

    def run(self, given):
        """Returns if the input is accepted."""
        raise NotImplementedError


@dataclass
class Failure:
    """place is the same for failures that probably have the same cause."""

    part: str
    place: str
    report: str
    given: object
    after: float = 0.0  # seconds since the campaign began

    @property
    def name(self):
        return f"{self.part.replace(' ', '-')}-{hashlib.sha256(self.place.encode()).hexdigest()[:8]}.txt"

    def write(self, folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
        text = f"part: {self.part}\nplace: {self.place}\ninput: {self.given!r}\n\n{self.report}"
        (Path(folder) / self.name).write_text(text, encoding="utf-8", errors="backslashreplace")


@dataclass
class Tally:
    accepted: int = 0
    refused: int = 0
    failed: int = 0
    seconds: float = 0.0
    failures: dict = field(default_factory=dict)  # by place

    @property
    def tried(self):
        return self.accepted + self.refused + self.failed


class Enough(BaseException):
    """Ends a round at once; hypothesis does not take it for a failure."""


class Hang(Exception):
    """An input takes too long."""


def attempt(part, value):
    """("accepted", None), ("refused", None), or ("failed", (place, report))."""
    try:
        with _in_time(part.seconds):
            part.run(value)
    except SemistructError as err:
        message = str(err)
        if len(message.splitlines()) == 1 and len(message) <= LONGEST:
            return "refused", None
        return "failed", _described(err, "a message of several lines, of none, or a long one: ")
    except Enough:
        raise
    except BaseException as err:
        return "failed", _described(err)
    return "accepted", None


def explore(part, tally, *, seed=0, until=None, inputs=None, note=lambda *_: None):
    """Run rounds of hypothesis until a time, or one round of as many inputs; at least one input is tried.

    note  called before every input and after every round
    """
    number, size = 0, ROUND[0] if inputs is None else inputs
    while number == 0 or (until is not None and time.monotonic() < until):
        began = time.monotonic()
        _round(part, tally, f"{seed} {part.name} {number}", size, until, note)
        tally.seconds += time.monotonic() - began
        number, size = number + 1, min(2 * size, ROUND[1])
        note()


def _round(part, tally, seed, size, until, note):
    known, found, since = set(tally.failures), {}, None

    def run(value):
        nonlocal since
        if tally.tried and (since or until) and time.monotonic() > (since + SHRINKING if since else until):
            raise Enough
        note(value)
        answer, failure = attempt(part, value)
        if since is None:
            setattr(tally, answer, getattr(tally, answer) + 1)
        if failure is None or failure[0] in known:
            return
        since = since or time.monotonic()
        place, report = failure
        best = found.get(place)
        if best is None or len(repr(value)) <= len(repr(best.given)):
            found[place] = Failure(part.name, place, report, value)
        raise AssertionError(place)

    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big")
    config = settings(
        max_examples=size, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink], report_multiple_bugs=False,
    )  # fmt: skip
    try:
        hypothesis.seed(number)(config(given(part.inputs())(run)))()
    except Enough:
        pass
    except Exception as err:
        if not found:  # it is the making of inputs that fails
            place, report = _described(err, "while inputs were made: ")
            found[place] = Failure(part.name, place, report, None)
            tally.failed += place not in known
    tally.failures |= found


@contextmanager
def _in_time(seconds):
    """Time of the processor, since the machine may be busy; a process that waits for ever is ended from outside."""

    def ring(*_):
        raise Hang(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _described(err, words=""):
    """(place, report) of an exception; what an assertion says up to a colon is a place of its own."""
    frames = traceback.extract_tb(err.__traceback__)
    ours = [f for f in frames if "semistruct" in Path(f.filename).parts] or frames
    where = f"{Path(ours[-1].filename).name}:{ours[-1].name}" if ours else ""
    said = f" ({str(err).partition(':')[0][:60]})" if isinstance(err, AssertionError) else ""
    report = words + "".join(traceback.format_exception(err))
    return f"{words}{type(err).__name__} in {where}{said}", report


# processes -------------------------------------------------------------------------------------------------


def work(pipe, clock, part, seed, seconds, planted):
    """The life of a process: one part.  It says since when it is at an input, and sends its tally now and then."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that leads
    warnings.simplefilter("ignore")
    if planted is not None:
        FAULTS[planted].plant()
    until, tally = time.monotonic() + seconds, Tally()
    with tempfile.TemporaryDirectory(prefix="semistruct-fuzz-", dir=_room(), ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        try:
            part.warm(folder)
        except BaseException as err:
            place, report = _described(err, "before the first input: ")
            tally.failures[place] = Failure(part.name, place, report, None)
            tally.failed = 1
        else:
            _limit_memory(part.memory)
            told = 0.0

            def note(value=None):
                nonlocal told
                clock[0] = time.monotonic() + part.seconds
                (Path(folder) / "input").write_text(repr(value), errors="backslashreplace")
                if value is None or time.monotonic() - told > 1:
                    pipe.send(tally)
                    told = time.monotonic()

            pipe.send(Path(folder) / "input")
            explore(part, tally, seed=seed, until=until, note=note)
        os.chdir("/")
        pipe.send(tally)


class Worker:
    """A process with its part."""

    def __init__(self, part, *job):
        context = multiprocessing.get_context("spawn")
        self.part, self.tally, self.place, self.told = part, Tally(), None, set()
        self.pipe, theirs = context.Pipe(duplex=False)
        self.clock = context.RawArray("d", [time.monotonic() + PREPARATION])
        self.process = context.Process(target=work, args=(theirs, self.clock, part, *job))
        self.process.start()
        theirs.close()

    def has_ended(self):
        alive = self.process.is_alive()
        try:
            while self.pipe.poll():
                message = self.pipe.recv()
                if isinstance(message, Tally):
                    self.tally = message
                else:
                    self.place = message
        except (EOFError, ConnectionError):
            alive = False
        hangs = alive and time.monotonic() > self.clock[0] + GRACE
        if alive and not hangs:
            return False
        if hangs:
            self.process.kill()
        self.process.join()
        if self.process.exitcode != 0:
            how = "hang" if hangs else f"ended with {self.process.exitcode}"
            last = self.place.read_text() if self.place and self.place.exists() else "None"
            place = f"the process: {how}"
            self.tally.failures[place] = Failure(self.part.name, place, f"{place}\n", Literally(last))
            self.tally.failed += 1
        return True


class Literally(str):
    """An input as Python writes it."""

    __repr__ = str.__str__


def campaign(parts, *, seconds, seed=0, workers=None, folder=None, planted=None, show=None):
    """{name: tally} of the parts, which share the time of all workers; every part has a try, even if time is up.

    folder   for failures, made when there is one
    planted  the name of a fault, see `planted_faults`
    show     called with every new failure
    """
    workers, total, began = workers or os.cpu_count() or 1, sum(part.share for part in parts), time.monotonic()
    waiting, team, tallies = sorted(parts, key=lambda part: -part.share), [], {part.name: Tally() for part in parts}
    try:
        while waiting or team:
            while waiting and len(team) < workers:
                part = waiting.pop(0)
                team.append(Worker(part, seed, seconds * workers * part.share / total, planted))
            for worker in list(team):
                if worker.has_ended():
                    team.remove(worker)
                tallies[worker.part.name] = worker.tally
                for failure in worker.tally.failures.values():
                    if failure.place not in worker.told:
                        worker.told.add(failure.place)
                        failure.after = time.monotonic() - began
                        if folder is not None:
                            failure.write(folder)
                        if show is not None:
                            show(failure)
            time.sleep(0.05)
    finally:
        for worker in team:
            worker.process.kill()
    return tallies


def is_good(tallies):
    """Nothing failed, and no part did nothing."""
    return all(tally.tried and not tally.failures for tally in tallies.values())


def table(tallies):
    rows = [("part", "tried", "accepted", "refused", "failures", "per second")]
    for name, t in tallies.items():
        rows.append((name, t.tried, t.accepted, t.refused, len(t.failures), f"{t.tried / max(t.seconds, 0.1):.1f}"))
    return [f"{row[0]:<14}" + "".join(f"{cell!s:>12}" for cell in row[1:]) for row in rows]


def replay(parts, path):
    """What becomes of the input of a failure, in this process: see `attempt`."""
    found = re.match(r"part: (.*)\nplace: .*\ninput: (.*)\n", Path(path).read_text(encoding="utf-8"))
    part = next(part for part in parts if part.name == found[1])
    with tempfile.TemporaryDirectory() as folder:
        part.warm(folder)
        return attempt(part, ast.literal_eval(found[2]))


def _room():
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _limit_memory(more):
    """Let this process have so many bytes more than now."""
    if more is not None:
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + more, resource.getrlimit(resource.RLIMIT_AS)[1]))
