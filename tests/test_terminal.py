"""Every command on a real terminal, narrow and wide; without colours; interrupted; with a reader that goes away."""

import codecs
import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress

import pytest

from semistruct.data.datasets import make_citations
from semistruct.data.formats import write

COMMANDS = {
    "help": "--help",
    "help of train": "train --help",
    "help of reproduce": "reproduce --help",
    "data make": "data make citations -n 3",
    "data list": "data list",
    "methods": "methods",
    "one method": "methods daso",
    "rules": "rules citations",
    "rules on data": "rules citations --on few.tsv",
    "train": "train few.tsv -u pool.txt -r citations -C 0.5 -p schedule=1,10 -p rounds=1 -f word -o a.model",
    "evaluate": "evaluate a.model few.tsv",
    "predict": "predict a.model pool.txt",
    "dump": "dump a.model",
    "pick": "pick pool.txt -n 2 -r citations",
    "curve": "curve few.tsv -r citations --sizes 2,4 --folds 2 -f word",
    "demo": "demo -o demo",
    "bad input": "evaluate a.model missing.tsv",
    "bad usage": "train --nonsense",
}
SAID = {
    "help": "Usage", "help of train": "Usage", "help of reproduce": "Usage", "data make": "\tauthor",
    "data list": "citations", "methods": "annealed", "one method": "schedule", "rules": "author",
    "rules on data": "author", "train": "model written to", "evaluate": "token accuracy", "predict": "<author>",
    "dump": "features", "curve": "label", "pick": "worthwhile", "demo": "learning-curve.png",
    "bad input": "semistruct: missing.tsv: cannot read", "bad usage": "semistruct: no such option: --nonsense",
}  # fmt: skip
ALL = """
import json, sys
from semistruct.app.cli import demo, main
demo.SIZES, demo.DRAWS, demo.N_TEST, demo.N_POOL = (4, 6), 1, 5, 5
for name, command in json.loads(sys.argv[1]).items():
    try:
        main(command)
        code = 0
    except SystemExit as done:
        code = done.code or 0
    sys.stdout.flush()
    print(f"=== {name} {code}", file=sys.stderr)
"""
COLOUR = re.compile(r"\x1b\[(?:[\d;]*;)?(?:3[0-7]|4[0-7]|9[0-7]|10[0-7]|38;|48;)[\d;]*m")
STYLE = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("terminal")
    data = make_citations(20, seed=5)
    write(data.examples[:8], path / "few.tsv", "tsv")
    write(data.examples[8:], path / "pool.txt", "text")
    return path


class Terminal:
    """A pseudo-terminal of this width with a process in it, whose standard streams and interruptions it has."""

    def __init__(self, command, folder, columns=80, **environment):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        usual = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CI")}
        self.process = subprocess.Popen(
            [sys.executable, *command], cwd=folder, env={**usual, "TERM": "xterm-256color", **environment},
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        self.seen, self.text = "", codecs.getincrementaldecoder("utf-8")("replace")  # a part may end inside a letter

    def read(self, until=None):
        """All that is shown, or all up to a text."""
        with suppress(OSError):  # when the other end is closed
            while (until is None or until not in self.seen) and (part := os.read(self.ours, 65536)):
                self.seen += self.text.decode(part)
        return self.seen

    def press(self, key):
        os.write(self.ours, key)

    def code(self):
        self.read()
        os.close(self.ours)
        return self.process.wait()


def shown(folder, columns, **environment):
    """{command: (exit code, what it shows)}, all by one process."""
    commands = {name: shlex.split(command) for name, command in COMMANDS.items()}
    terminal = Terminal(["-c", ALL, json.dumps(commands)], folder, columns, **environment)
    assert terminal.code() == 0, terminal.seen[-2000:]
    found = re.findall(r"(.*?)=== ([\w ]+) (\d+)", terminal.seen, re.DOTALL)
    return {name: (int(code), text) for text, name, code in found}


@pytest.fixture(scope="module")
def narrow(folder):
    return shown(folder, 40)


@pytest.fixture(scope="module")
def wide(folder):
    return shown(folder, 200)


@pytest.fixture(scope="module")
def plain(folder):
    return shown(folder, 80, NO_COLOR="1")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("width", ["narrow", "wide", "plain"])
def test_every_command_on_a_terminal(request, width, name):
    code, text = request.getfixturevalue(width)[name]
    assert code == (2 if name.startswith("bad") else 0), text
    assert "Traceback" not in text
    assert "".join(SAID[name].split()) in "".join(STYLE.sub("", text).replace("│", "").split())


def test_a_terminal_without_colours(plain, wide):
    assert not [name for name, (_, text) in plain.items() if COLOUR.search(text)]
    assert COLOUR.search(wide["help"][1])
    assert COLOUR.search(wide["demo"][1])


def test_help_fits_a_narrow_terminal(narrow):
    for name in ("help", "help of train", "help of reproduce"):
        lines = STYLE.sub("", narrow[name][1]).splitlines()
        assert max(map(len, lines)) <= 40, name


def test_ctrl_c_on_a_terminal(folder):
    """The key is answered by one sentence, and nothing stays half written."""
    write(make_citations(400, seed=7).examples, folder / "large.txt", "text")
    command = "-m semistruct train few.tsv -u large.txt -r citations -C 0.5 -o stopped.model"
    terminal = Terminal(command.split(), folder, 120)
    terminal.read("round 1")
    before = set(os.listdir(folder))
    terminal.press(b"\x03")
    assert terminal.code() == 130
    text = STYLE.sub("", terminal.seen)
    assert "semistruct: interrupted, the model in stopped.model is" in text
    assert "Traceback" not in text
    assert set(os.listdir(folder)) - before == {"stopped.model"}


def test_ctrl_c_while_a_command_waits_for_its_input(folder, narrow):
    terminal = Terminal(["-m", "semistruct", "predict", "a.model"], folder, 120)
    terminal.press(b"B. Russell. On denoting. 1905.\n")
    terminal.read("1905")
    time.sleep(3.0)  # until it reads; on a slow machine it still starts, and ends no less
    terminal.press(b"\x03")
    assert terminal.code() == 130
    assert "semistruct: interrupted" in terminal.seen
    assert "Traceback" not in terminal.seen


@pytest.mark.parametrize(
    "command",
    [
        "data make citations -n 2000",
        "predict a.model many.txt",
        "rules citations",
        "methods",
        "dump a.model -k 100",
    ],
)
def test_a_reader_that_goes_away(folder, narrow, command):
    write(make_citations(300, seed=8).examples, folder / "many.txt", "text")
    line = f"{shlex.quote(sys.executable)} -m semistruct {command} | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"
