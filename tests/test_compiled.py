"""The cache of kernels: used, forgotten when a kernel changes, and done without where it cannot be written or read."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import semistruct
from semistruct import compiled, make_citations
from semistruct.cli.compiling import TEXT, Teller
from semistruct.files import take_lock
from semistruct.formats import write

PACKAGE = Path(semistruct.__file__).parent
COUNT = """
import sys
import numpy as np
from semistruct import compiled, progress
seen = []
progress.compile_watchers.append(seen.append)
if sys.argv[1:2] > [""]:
    compiled.sources = lambda: sys.argv[1]
if len(sys.argv) > 2:
    compiled.PATIENCE = float(sys.argv[2])
from semistruct.chain.kernels import copy, path_score
path = np.zeros(3, np.int16)
copy(np.ones(3, np.int16), path)
assert path.tolist() == [1, 1, 1]
print(seen.count(True), seen.count(False))
"""


def compilations(folder, *words, **environment):
    """How many kernels a fresh process compiles that calls one."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **environment}
    command = [sys.executable, "-c", COUNT, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    began, ended = map(int, done.stdout.split())
    assert began == ended
    return began


def test_what_was_compiled_is_found_again(tmp_path):
    assert compilations(tmp_path) == 1
    assert compilations(tmp_path) == 0


def test_a_change_of_any_kernel_compiles_all_again(tmp_path):
    assert [compilations(tmp_path, word) for word in ("a", "a", "b", "b", "a")] == [1, 0, 1, 0, 1]


def test_kernels_with_checked_bounds_are_others(tmp_path):
    assert compilations(tmp_path) == 1
    assert compilations(tmp_path, NUMBA_BOUNDSCHECK="1") == 1


TOGETHER = """
import sys, time
from pathlib import Path
import numpy as np
from numba.core import event
from semistruct.search.bound_kernels import every_label
class Listener(event.Listener):
    seen = []
    def on_start(self, event):
        self.seen.append(event.data["dispatcher"])
    def on_end(self, event):
        pass
event.register("numba:compile", Listener())
Path(sys.argv[1]).touch()
while not Path(sys.argv[2]).exists():
    time.sleep(0.001)
assert every_label(2, 3).many.tolist() == [3, 3]
print(Listener.seen.count(every_label))
"""


def started_together(folder, n):
    """What n processes print that call a kernel at the same time: how often they compiled it."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER, folder / f"ready{i}", folder / "go"],
            env=environment, stdout=subprocess.PIPE, text=True,
        )
        for i in range(n)
    ]  # fmt: skip
    while not all((folder / f"ready{i}").exists() for i in range(n)):
        time.sleep(0.01)
    (folder / "go").touch()
    return [process.communicate()[0] for process in processes]


def test_two_processes_do_not_compile_the_same(tmp_path):
    assert sorted(started_together(tmp_path, 2)) == ["0\n", "1\n"]


def test_a_process_that_does_not_end_is_not_waited_for_for_ever(tmp_path):
    assert compilations(tmp_path) == 1
    (index,) = tmp_path.rglob("*.nbi")
    index.unlink()
    with open(f"{index}.lock", "ab") as file:
        assert take_lock(file)
        assert compilations(tmp_path, "", "0.1") == 2  # it waits, which it tells, and compiles


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x04N."], ids=["empty", "text", "other"])
def test_a_damaged_cache_is_as_good_as_none(tmp_path, content):
    assert compilations(tmp_path) == 1
    for file in tmp_path.rglob("*.nb[ci]"):
        file.write_bytes(content)
    assert compilations(tmp_path) == 1


def test_a_folder_in_the_place_of_a_file(tmp_path):
    assert compilations(tmp_path) == 1
    for file in [*tmp_path.rglob("*.nbi")]:
        file.unlink()
        file.mkdir()
    assert compilations(tmp_path) == 1


def test_no_place_for_a_cache(tmp_path):
    """Nothing can be written below a file; the folders of the package and of the user are not writable either."""
    (tmp_path / "file").write_text("")
    found = compilations(tmp_path / "file" / "cache", NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator")
    assert found == 1


def test_all_kernels_are_in_files_that_say_so():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^@(kernel|inlined|njit)\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert found
    assert {name for name in found if not name.endswith("kernels.py")} == set()
    users = [path for path in PACKAGE.rglob("*.py") if "from numba" in path.read_text(encoding="utf-8")]
    assert users == [PACKAGE / "compiled.py"]


def test_the_digest_is_of_all_kernels(monkeypatch, tmp_path):
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "compiled.py"))
    (tmp_path / "compiled.py").write_text("a")
    seen = set()
    for name, text in (("x_kernels.py", "1"), ("x_kernels.py", "2"), ("other.py", "3"), ("kernels.py", "4")):
        (tmp_path / name).write_text(text)
        compiled.sources.cache_clear()
        seen.add(compiled.sources())
    compiled.sources.cache_clear()
    assert len(seen) == 3


def test_it_is_said_once_where_there_is_no_terminal(capsys):
    tell = Teller()
    for begins in (True, True, False, False, True, False):
        tell(begins)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"semistruct: {TEXT} (some seconds)\n")


HELD = """
import os, signal, threading
from numba.core import event
from semistruct import compiled, make_citations
steps = []
try:
    with event.trigger_event("numba:compile"):
        with event.trigger_event("numba:compile"):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.1)
            steps.append("inner")
        steps.append("outer")
    steps.append("after")
except KeyboardInterrupt:
    steps.append("interrupted")
try:
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(0.1)
except KeyboardInterrupt:
    steps.append("again")
print(*steps)
"""


def test_an_interruption_is_held_back_until_a_kernel_is_compiled():
    """Raised in a function that LLVM calls, it would be lost."""
    done = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["inner", "outer", "interrupted", "again"]


UNSAVED = """
import os, signal
import numpy as np
from semistruct import progress
from semistruct.chain.kernels import copy
progress.compile_watchers.append(lambda begins: begins or os.kill(os.getpid(), signal.SIGINT))
try:
    copy(np.ones(3, np.int16), np.zeros(3, np.int16))
except KeyboardInterrupt:
    print("interrupted", copy._cache._lock)
"""


def test_an_interruption_leaves_no_lock(tmp_path):
    """Other processes would wait for a kernel that nobody compiles."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", UNSAVED], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["interrupted", "None"]


def test_a_command_that_compiles_ends_soon_and_leaves_nothing(tmp_path):
    write(make_citations(40, seed=1), tmp_path / "few.tsv", "tsv")
    command = [sys.executable, "-m", "semistruct", "train", "few.tsv", "-C", "1", "-o", "a.model"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, text=True, stderr=subprocess.PIPE) as process:
        assert TEXT in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert re.fullmatch("semistruct: interrupted[^\n]*\n", said)
    assert sorted(os.listdir(tmp_path)) == ["cache", "few.tsv"]
