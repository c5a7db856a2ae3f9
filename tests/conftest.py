"""What the tests of the command line share."""

import signal

import pytest
from hypothesis import settings

from semistruct.cli import main
from semistruct.fitting import crossing

# How long an example takes says more about the machine; the campaign looks for new examples, the tests repeat theirs.
settings.register_profile("semistruct", deadline=None, derandomize=True)
settings.load_profile("semistruct")


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """An interruption reaches tests and the processes that they start, even if the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(capsys):
    """run(*arguments) gives (exit code, standard output, standard error)."""

    def call(*args):
        capsys.readouterr()
        try:
            main([str(arg) for arg in args])
            code = 0
        except SystemExit as done:
            code = done.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def good(run):
    """The standard output of a command that works."""

    def call(*args):
        code, out, err = run(*args)
        assert (code, err) == (0, "")
        return out

    return call


@pytest.fixture(scope="module")
def crossed_if_small():
    """Several models label for each other, even with a few sequences in the pool."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossing, "LEAST", 2)
        yield
