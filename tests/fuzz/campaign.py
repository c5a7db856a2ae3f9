"""Runs the parts in worker processes, and survives what happens to them.

Input number i of a part depends on the seed, the part and i only.  A worker says which input it is at; one that takes
too long or dies is replaced, and the campaign goes on.  Each distinct failure is written to a folder of its own.
"""

import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from fuzz.part import Failure, Input, attempt, shrunk

PREPARING, IDLE = -1, -2
PREPARATION = 300.0  # seconds for compiling kernels
BATCH_SECONDS = 1.0
REDRAW = 0.5
SHRINKING = 10.0  # seconds to shrink what hangs or crashes, where each attempt costs a worker


@dataclass
class Tally:
    tried: int = 0
    accepted: int = 0
    refused: int = 0
    failures: int = 0
    seconds: float = 0.0
    following: int = 0  # number of the first input that nobody was asked to run
    left_over: list = field(default_factory=list)  # (first, count) that came back

    def next_range(self, count, limit):
        """(first, count) of inputs to run next; a count of 0 if there are none."""
        if self.left_over:
            return self.left_over.pop()
        first = self.following
        self.following += count if limit is None else min(count, limit - first)
        return first, self.following - first


@dataclass
class Result:
    tallies: dict
    failures: dict = field(default_factory=dict)  # by name

    @property
    def failed(self):
        return any(tally.failures for tally in self.tallies.values())

    def table(self):
        head = ("part", "tried", "accepted", "refused", "failures", "per second")
        rows = [
            (name, t.tried, t.accepted, t.refused, t.failures, f"{t.tried / t.seconds if t.seconds else 0:.1f}")
            for name, t in self.tallies.items()
        ]
        total = [sum(row[i] for row in rows) for i in range(1, 5)]
        rows.append(("all", *total, f"{total[0] / max(sum(t.seconds for t in self.tallies.values()), 1e-9):.1f}"))
        return [f"{row[0]:<12}" + "".join(f"{cell!s:>12}" for cell in row[1:]) for row in (head, *rows)]


class Worker:
    """A process that runs inputs."""

    def __init__(self, parts, seed, folder):
        context = multiprocessing.get_context("spawn")
        self.folder = tempfile.mkdtemp(dir=folder)
        self.pipe, theirs = context.Pipe()
        self.clock = context.RawArray("d", [PREPARING, time.monotonic(), 0, 0])  # input, since, accepted, refused
        self.process = context.Process(target=serve, args=(theirs, self.clock, parts, seed, self.folder), daemon=False)
        self.process.start()
        theirs.close()
        self.part = None

    def ask(self, part, *job):
        self.part = part
        self.clock[:] = [PREPARING, time.monotonic(), 0, 0]
        self.pipe.send((part.name, *job))

    def answer(self):
        """What came back; "hang" or "crash" if nothing will; None if it is at work."""
        try:
            if self.pipe.poll():
                return self.pipe.recv()
        except (EOFError, ConnectionError):
            return "crash"
        index, since, *_ = self.clock
        limit = PREPARATION if index == PREPARING else self.part.seconds
        if index != IDLE and time.monotonic() - since > limit:
            return "hang"
        return None if self.process.is_alive() or self.pipe.poll() else "crash"

    def wait(self):
        while (answer := self.answer()) is None:
            time.sleep(0.01)
        return answer

    def end(self):
        self.process.kill()
        self.process.join()
        self.pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def serve(pipe, clock, parts, seed, folder):
    """The life of a worker: batches of inputs, or single ones."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    os.chdir(folder)
    warm, base = set(), 0
    while (job := pipe.recv()) is not None:
        name, *what = job
        part = parts[name]
        _limit_memory(None)
        if name not in warm:
            own = Path(folder) / name.replace(" ", "-")
            own.mkdir()
            part.warm(own)
            warm.add(name)
            base = _memory()
        if part.memory is not None:
            _limit_memory(base + part.memory)
        if what[0] == "make":
            pipe.send(part.make(_generator(seed, name, what[1])))
        elif what[0] == "try":
            clock[:2] = [0, time.monotonic()]
            pipe.send(attempt(part, what[1]))
        else:
            pipe.send(_batch(part, seed, *what[1:], clock))
        clock[0] = IDLE


def _batch(part, seed, first, count, known, clock):
    """(tally, failures) of the inputs from `first` on; ends early if they take long."""
    began, shrinking, tally, failures = time.monotonic(), 0.0, Tally(), []
    for i in range(first, first + count):
        given = part.make(_generator(seed, part.name, i))

        def alive(i=i):
            clock[:] = [i, time.monotonic(), tally.accepted, tally.refused]

        alive()
        answer, failure = attempt(part, given)
        tally.tried += 1
        if failure is None:
            setattr(tally, answer, getattr(tally, answer) + 1)
        else:
            tally.failures += 1
            place, report = failure
            found = Failure(part.name, i, place, report, None)
            if found.name not in known and part.memory is not None:
                since = time.monotonic()
                found = replace(found, given=shrunk(part, given, place, alive))
                shrinking += time.monotonic() - since
            failures.append(replace(found, given=found.given or given))
            known = {*known, found.name}
        if time.monotonic() - began - shrinking > BATCH_SECONDS:
            break
    tally.seconds = time.monotonic() - began - shrinking
    return tally, failures


def campaign(parts, *, seconds=None, inputs=None, seed=0, workers=None, folder=None, show=None):
    """Run until the time is up or every part has had as many inputs; returns a Result.

    folder  for failures, made when there is one; show is called with the Result now and then
    """
    parts = {part.name: part for part in parts}
    result = Result({name: Tally() for name in parts})
    began, drawn = time.monotonic(), 0.0
    room = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="semistruct-fuzz-", dir=room, ignore_cleanup_errors=True) as place:
        team = [Worker(parts, seed, place) for _ in range(workers or os.cpu_count() or 1)]
        try:
            while True:
                on_time = seconds is None or time.monotonic() - began < seconds
                for i, worker in enumerate(team):
                    if worker.part is not None and (answer := worker.answer()) is not None:
                        if not _note(result, worker, answer, folder):
                            worker.end()
                            team[i] = worker = Worker(parts, seed, place)
                        worker.part = None
                    if worker.part is None and on_time:
                        _hand_out(worker, parts, result, inputs)
                if show and time.monotonic() - drawn > REDRAW:
                    drawn = time.monotonic()
                    show(result)
                if all(worker.part is None for worker in team):
                    break
                multiprocessing.connection.wait([w.pipe for w in team if w.part is not None], timeout=0.05)
        finally:
            for worker in team:
                worker.end()
        for failure in [f for f in result.failures.values() if f.given is None]:
            given = _remade(Worker(parts, seed, place), parts[failure.part], failure)
            given = _shrunk_from_outside(parts, seed, place, replace(failure, given=given))
            result.failures[failure.name] = failure = replace(failure, given=given)
            write(failure, folder)
    return result


def _hand_out(worker, parts, result, inputs):
    """A batch of the part that has had the least time for its share."""
    tallies = result.tallies
    waiting = [
        p for p in parts.values() if inputs is None or tallies[p.name].left_over or tallies[p.name].following < inputs
    ]
    if not waiting:
        return
    part = min(waiting, key=lambda p: _progress(tallies[p.name], p))
    worker.first, worker.count = tallies[part.name].next_range(part.batch, inputs)
    worker.ask(part, "batch", worker.first, worker.count, set(result.failures))


def _progress(tally, part):
    """The time that a part has had, with a guess for what is under way, in units of its share."""
    under_way = (tally.following - sum(n for _, n in tally.left_over) - tally.tried) / part.batch * BATCH_SECONDS
    return (tally.seconds + under_way) / part.share


def _note(result, worker, answer, folder):
    """Add what a worker answered; False if the worker is no longer of use."""
    tally = result.tallies[worker.part.name]
    if isinstance(answer, str):
        index, since, accepted, refused = worker.clock
        index = worker.first if index < 0 else int(index)
        place = f"{answer}: {_ending(worker, answer)}"
        failure = Failure(worker.part.name, index, place, f"{place}, at input {index}\n", None)
        result.failures.setdefault(failure.name, failure)
        done = index + 1 - worker.first
        tally.tried += done
        tally.accepted += int(accepted)
        tally.refused += int(refused)
        tally.failures += done - int(accepted) - int(refused)
        tally.seconds += time.monotonic() - since
        _give_back(tally, worker, done)
        return False
    batch, failures = answer
    _give_back(tally, worker, batch.tried)
    for name in ("tried", "accepted", "refused", "failures", "seconds"):
        setattr(tally, name, getattr(tally, name) + getattr(batch, name))
    for failure in failures:
        if failure.name not in result.failures:
            result.failures[failure.name] = failure
            write(failure, folder)
    return True


def _give_back(tally, worker, done):
    if done < worker.count:
        tally.left_over.append((worker.first + done, worker.count - done))


def _ending(worker, answer):
    if answer == "hang":
        return f"more than {worker.part.seconds:g} s"
    worker.process.join(1)
    code = worker.process.exitcode
    return f"the worker ended with {code}" if code is None or code >= 0 else signal.Signals(-code).name


def _remade(worker, part, failure):
    """The input that a worker could not hand back."""
    try:
        worker.ask(part, "make", failure.index)
        made = worker.wait()
        return made if isinstance(made, Input) else Input(b"")
    finally:
        worker.end()


def _shrunk_from_outside(parts, seed, place, failure):
    """A smaller input that ends its worker too; there is time for a few attempts only."""
    part, given, end = parts[failure.part], failure.given, time.monotonic() + SHRINKING
    smaller = part.memory is not None
    while smaller:
        smaller = False
        for content in part.smaller(given.content):
            if time.monotonic() > end:
                return given
            candidate = replace(given, content=content)
            worker = Worker(parts, seed, place)
            try:
                worker.ask(part, "try", candidate)
                if isinstance(worker.wait(), str):
                    given, smaller = candidate, True
                    break
            finally:
                worker.end()
    return given


def write(failure, folder):
    """The failure as files: the input, its options, and what happened."""
    if folder is None:
        return
    place = Path(folder) / failure.name
    place.mkdir(parents=True, exist_ok=True)
    (place / "input").write_bytes(failure.given.content)
    about = {"part": failure.part, "index": failure.index, "place": failure.place, "options": failure.given.options}
    (place / "about.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
    (place / "report.txt").write_text(failure.report, encoding="utf-8", errors="backslashreplace")


def replay(parts, place):
    """Run the input of a failure once more, in this process."""
    about = json.loads((Path(place) / "about.json").read_text(encoding="utf-8"))
    part = next(part for part in parts if part.name == about["part"])
    with tempfile.TemporaryDirectory() as folder:
        part.warm(folder)
        return attempt(part, Input((Path(place) / "input").read_bytes(), about["options"]))


def drawing():
    """A function that draws the table over the one before."""
    lines = Counter()

    def show(result):
        table = result.table()
        if lines["drawn"]:
            sys.stdout.write(f"\x1b[{lines['drawn']}A")
        sys.stdout.write("".join(f"\x1b[2K{line}\n" for line in table))
        sys.stdout.flush()
        lines["drawn"] = len(table)

    return show


def _generator(seed, name, index):
    return random.Random(f"{seed} {name} {index}")


def _memory():
    """Bytes of address space in use."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _limit_memory(size):
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard if size is None else size, hard))
