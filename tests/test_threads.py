"""Spreading work over threads: every index once, whatever the number of threads."""

import os
import threading
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from semistruct.base import threads
from semistruct.base.threads import spread

JOBS = st.one_of(st.none(), st.integers(1, 5))


class Recorder:
    """A kernel that notes its calls."""

    def __init__(self):
        self.calls, self.lock = [], threading.Lock()

    def __call__(self, piece, *args):
        with self.lock:
            self.calls.append((indices(piece).tolist(), args, threading.current_thread()))


def indices(part):
    """The numbers of a part, which has a flag beside them in other threads."""
    return part[0] if isinstance(part, tuple) else part


def squares(part, out):
    which = indices(part)
    out[which] = which**2


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 200).flatmap(lambda n: st.permutations(range(n))), JOBS)
def test_every_index_is_passed_exactly_once(which, n_jobs):
    kernel = Recorder()
    spread(kernel, np.array(which, np.int64), "a", 2, n_jobs=n_jobs)
    assert Counter(i for piece, _, _ in kernel.calls for i in piece) == Counter(which)
    assert all(args == ("a", 2) for _, args, _ in kernel.calls)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 300), JOBS)
def test_the_result_does_not_depend_on_the_number_of_threads(n, n_jobs):
    out = np.full(n, -1)
    spread(squares, np.arange(n), out, n_jobs=n_jobs)
    assert_array_equal(out, np.arange(n) ** 2)


@pytest.mark.parametrize(("n", "n_jobs"), [(3, 4), (1000, 1)])
def test_little_work_and_one_job_stay_in_the_calling_thread(n, n_jobs):
    kernel = Recorder()
    spread(kernel, np.arange(n), n_jobs=n_jobs)
    assert [(piece, thread) for piece, _, thread in kernel.calls] == [([*range(n)], threading.current_thread())]


def test_much_work_is_done_by_several_threads_at_once():
    together = threading.Barrier(2, timeout=10)  # passes only if two pieces are under way at the same time
    spread(lambda piece: together.wait(), np.arange(64), n_jobs=2)


def test_an_error_in_a_kernel_reaches_the_caller():
    def fail(piece):
        if 63 in indices(piece):
            raise RuntimeError("piece of 63")

    with pytest.raises(RuntimeError, match="piece of 63"):
        spread(fail, np.arange(64), n_jobs=2)


def test_there_is_at_least_one_core():
    assert 1 <= threads.available() <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_threads_work_again_after_a_fork():
    out = np.zeros(64, np.int64)
    spread(squares, np.arange(64), out, n_jobs=2)  # the parent has its threads
    child = os.fork()
    if child == 0:
        status = 1
        try:
            again = np.zeros(64, np.int64)
            spread(squares, np.arange(64), again, n_jobs=2)
            status = 0 if np.array_equal(again, out) else 1
        finally:
            os._exit(status)  # never back into pytest
    give_up = time.monotonic() + 20
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < give_up:
        time.sleep(0.01)
    if ended[0] == 0:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child waits for threads it does not have")
    assert os.waitstatus_to_exitcode(ended[1]) == 0


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 300), JOBS, st.integers(1, 50))
def test_pieces_of_a_given_size(n, n_jobs, piece):
    kernel = Recorder()
    spread(kernel, np.arange(n), n_jobs=n_jobs, piece=piece)
    assert sorted(i for part, _, _ in kernel.calls for i in part) == list(range(n))
    if n and (n_jobs or threads.available()) > 1:
        assert max(len(part) for part, _, _ in kernel.calls) <= piece


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_piece_stops_the_others(n_jobs):
    seen = []

    def kernel(part):
        first = indices(part)[0]
        seen.append(first)
        time.sleep(0.01)
        if first == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spread(kernel, np.arange(1000), n_jobs=n_jobs, piece=10)
    assert len(seen) < 100


@pytest.mark.parametrize("first", [True, False])
def test_if_one_of_several_calls_fails_the_others_are_told(first):
    stop = threading.Event()

    def fails():
        raise ValueError("no")

    def waits():
        assert stop.wait(60)

    with pytest.raises(ValueError, match="no"):
        threads.at_once([fails, waits] if first else [waits, fails], stop)
    assert threads.at_once([lambda: 1, lambda: 2], threading.Event()) == [1, 2]
