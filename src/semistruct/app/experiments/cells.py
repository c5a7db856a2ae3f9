"""Cells of an experiment, run side by side, and their records: lines of JSON in a file that grows.

A cell holds the plain values that say what one run is about, such as corpus, method, size and draw.  The record of the
run holds the cell under "cell", and what came out.  Cells that have a record are not run again, so that an interrupted
experiment goes on where it ended, and one file can grow by sizes, draws and methods.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from semistruct.base import threads
from semistruct.base.errors import DataError

Cell = dict[str, Any]
Record = dict[str, Any]
Show = Callable[[int, int, Cell | None], None]


class Records:
    """The records of a file, by their cells."""

    def __init__(self, path: Path | None) -> None:
        """path: a file that may exist; None keeps the records in memory only."""
        self.path, self._found = path, dict[str, Record]()
        if path is not None and path.exists():
            self._read(path)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def find(self, cell: Cell) -> Record | None:
        return self._found.get(_key(cell))

    def add(self, record: Record) -> None:
        """Append a record; it is on the disk when this returns."""
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        self._found[_key(record["cell"])] = record

    def _read(self, path: Path) -> None:
        """Read the records; an incomplete last line, left by a killed process, is cut off."""
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.split(b"\n")[:-1], 1):
            try:
                record = json.loads(line)
                self._found[_key(record["cell"])] = record
            except (ValueError, KeyError, TypeError):
                raise DataError.at(path, number, "not a record of a run") from None
        if whole != content:
            os.truncate(path, len(whole))


def _key(cell: Cell) -> str:
    return json.dumps(cell, sort_keys=True)


def run_cells(
    cells: Sequence[Cell],
    run: Callable[[Cell], Record],
    records: Records,
    *,
    jobs: int | None = None,
    show: Show | None = None,
) -> list[Record]:
    """The records of the cells, in their order; those that have none yet are run.

    run   makes the record of a cell, with one thread; with more than one job it must be importable
    jobs  processes that run cells side by side; None for one per core
    show  is called with the number of records that are there, the number of cells, and the cell that was run last
    """
    waiting = [cell for cell in cells if records.find(cell) is None]
    done = len(cells) - len(waiting)

    def note(record: Record) -> None:
        nonlocal done
        records.add(record)
        done += 1
        if show:
            show(done, len(cells), record["cell"])

    if show and waiting:
        show(done, len(cells), None)
    jobs = min(jobs or threads.available(), len(waiting))
    if jobs > 1:
        _run_side_by_side(waiting, run, note, jobs)
    else:
        for cell in waiting:
            note(run(cell))
    return [record for cell in cells if (record := records.find(cell)) is not None]


def _run_side_by_side(
    cells: Sequence[Cell], run: Callable[[Cell], Record], note: Callable[[Record], None], jobs: int
) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=_start_process) as pool:
        try:
            for future in as_completed([pool.submit(run, cell) for cell in cells]):
                note(future.result())
        except BaseException:
            for process in multiprocessing.active_children():
                process.kill()
            raise


def _start_process() -> None:
    """One thread, and no answer to Ctrl-C: the process that started this one answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
