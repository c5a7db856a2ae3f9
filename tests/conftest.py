"""What tests share: settings of hypothesis, commands called in process, and a folder with data and a model."""

import re
import signal

import pytest
from hypothesis import settings

from cli_cases import fill, train
from semistruct import make_citations, write
from semistruct.app.cli import main
from semistruct.learning import settings as learning

# How long an example takes says more about the machine; the campaign looks for new examples, the tests repeat theirs.
settings.register_profile("semistruct", deadline=None, derandomize=True)
settings.load_profile("semistruct")


SECOND_STAGE = {
    "test_fuzz", "test_labelling_processes", "test_leaving", "test_terminal", "test_work_away", "test_work_both",
    "test_work_browser", "test_work_page",
}  # fmt: skip
"""Tests with a browser, with killed processes, and of the campaign: `python3 dev.py test --all` runs them too."""


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem in SECOND_STAGE:
            item.add_marker("second_stage")


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


@pytest.fixture
def rejected(run):
    """The one line with which a command refuses; if a folder is given first, nothing in it has changed."""

    def files(folder):
        return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}

    def call(*args, folder=None):
        before = folder and files(folder)
        code, out, err = run(*args)
        assert (code, out) == (2, ""), err
        assert re.fullmatch(r"semistruct: .*\n", err)
        assert folder is None or files(folder) == before
        return err

    return call


@pytest.fixture(scope="session")
def refs(tmp_path_factory):
    """A folder with train.tsv, test.tsv, refs.txt and refs.model, which is learned from the first."""
    folder = tmp_path_factory.mktemp("refs")
    for name, n, seed, to in [("train.tsv", 15, 1, "tsv"), ("test.tsv", 10, 2, "tsv"), ("refs.txt", 4, 3, "text")]:
        write(make_citations(n, seed=seed), folder / name, to)
    with pytest.raises(SystemExit) as done:
        main(["train", str(folder / "train.tsv"), "-o", str(folder / "refs.model"), "-C", "0.5", "-p", "tol=0.1", "-q"])
    assert not done.value.code
    return folder


@pytest.fixture(scope="session")
def annealed_refs(tmp_path_factory):
    """The folder of `cli_cases.fill` with refs.model, an annealed model."""
    folder = tmp_path_factory.mktemp("annealed")
    fill(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "SECOND_START_UNTIL", 0)
        with pytest.raises(SystemExit) as done:
            main([str(arg) for arg in train(folder, folder / "refs.model")])
    assert not done.value.code
    return folder


@pytest.fixture(scope="module")
def crossed_if_small():
    """Several models label for each other, even with a few sequences in the pool."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "CROSSED_FROM", 2)
        yield


@pytest.fixture
def file(tmp_path):
    """Make a file of the given text or bytes."""

    def make(content, name="data"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make
