"""Functions that other processes call."""

import os
import signal
import time

from semistruct.base.errors import DataError


def where(x):
    """x, and the process that was asked."""
    print("not an answer")
    return x, os.getpid()


def slower_first(x):
    time.sleep(0.03 if x % 3 == 0 else 0.0)
    return -x


def fail_at(x):
    if x == 4:
        raise DataError("bad 4")
    if x == 40:
        raise ZeroDivisionError("a bug")
    if x == 400:
        os.kill(os.getpid(), signal.SIGKILL)
    return x
