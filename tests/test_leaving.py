"""An interruption in the middle of an import, where modules do not expect an exception, ends the command."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from semistruct import make_citations, write

ALWAYS = """
import os, signal, sys, threading, time
def interrupting():
    while True:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
threading.Thread(target=interrupting, daemon=True).start()
from semistruct.app.cli import main
main(sys.argv[1:])
"""
COMMAND = """
import sys
sys.path.insert(0, sys.argv[1])
from semistruct.app.cli.ending import safe_imports
with safe_imports():
    {inside}
print("went on")
"""
GREEDY = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.5)
except BaseException:
    pass
"""


def ignore():
    """What a shell does for commands in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.fixture
def run(tmp_path):
    (tmp_path / "greedy.py").write_text(GREEDY)

    def call(inside, ignored=False):
        command = [sys.executable, "-c", COMMAND.format(inside=inside), str(tmp_path)]
        begin = ignore if ignored else None
        return subprocess.run(command, capture_output=True, text=True, preexec_fn=begin, check=False)

    return call


def test_a_module_cannot_swallow_an_interruption(run):
    done = run("import greedy")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "semistruct: interrupted\n")


def test_elsewhere_it_is_an_exception(run, tmp_path):
    swallowed = f"exec({Path(tmp_path / 'greedy.py').read_text()!r})"
    done = run(swallowed)
    assert (done.returncode, done.stdout) == (0, "went on\n")


def test_a_command_in_the_background_goes_on(run):
    done = run("import greedy", ignored=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")


def test_a_whole_command_in_the_background_goes_on(tmp_path):
    write(make_citations(20, seed=1), tmp_path / "few.tsv", "tsv")
    command = [sys.executable, "-c", ALWAYS, "train", "few.tsv", "-C", "1", "-o", "a.model"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=ignore, check=False)
    assert (done.returncode, (tmp_path / "a.model").exists()) == (0, True), done.stderr
