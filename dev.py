#!/usr/bin/env python3
"""Set up everything and run one thing; needs only Python >= 3.11.

python3 dev.py demo      a virtual environment in .venv, the package, and `semistruct demo`
python3 dev.py test      the same with the development tools, and the tests on all cores; further words go to pytest
python3 dev.py bounds    the tests of the kernels once more, with every index into an array checked
python3 dev.py fuzz      made-up inputs at every door, for as long as `--minutes N` says; indexes are checked here, too
python3 dev.py lint      ruff and mypy
python3 dev.py docs      the documentation, as pages in site/
python3 dev.py screenshots   the pictures of the workbench in docs/images/, taken in Chromium
python3 dev.py bench     the benchmark peers, and benchmarks/supervised.py (words go to it)
"""

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENV = HERE / ".venv"
BIN = ENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = str(BIN / "python")
LOCK = HERE / "requirements.lock"
CORE, EVERYTHING = ".", ".[dev,spacy,work,ray,bench,docs]"
KERNEL_TESTS = (
    "chain", "given", "posterior", "rule_tables", "rule_search", "conditions", "confidence", "switching", "projection",
    "transductive", "sdm", "multiclass", "names",
)  # fmt: skip


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=HERE, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def set_up(what: str) -> None:
    """Make .venv with the package alone or with all it can use, in the locked versions, unless that was done before."""
    stamp = ENV / "installed"
    files = LOCK.read_bytes() + (HERE / "pyproject.toml").read_bytes() + sys.version.encode()
    wanted = hashlib.sha256(files).hexdigest()
    found = stamp.read_text().split() if stamp.exists() else []
    if found in ([wanted, EVERYTHING], [wanted, what]):
        return
    print("setting up .venv (once)", flush=True)
    if found != [wanted, CORE]:
        venv.create(ENV, with_pip=True, clear=True)
    install = (PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", str(LOCK))
    run(*install, "hatchling", "editables")
    run(*install, "--no-build-isolation", "--editable", what)
    stamp.write_text(f"{wanted} {what}")


def main() -> None:
    commands = {
        "demo": [[PYTHON, "-m", "semistruct", "demo"]],
        "test": [[PYTHON, "-m", "pytest", "-n", "auto"]],
        "bounds": [[PYTHON, "-m", "pytest", "-n", "auto", *(f"tests/test_{name}.py" for name in KERNEL_TESTS)]],
        "fuzz": [[PYTHON, "-m", "fuzz"]],
        "lint": [
            [PYTHON, "-m", "ruff", "check", "."],
            [PYTHON, "-m", "ruff", "format", "--check", "."],
            [PYTHON, "-m", "mypy"],
        ],
        "docs": [[PYTHON, "-m", "mkdocs", "build", "--strict"]],
        "screenshots": [[PYTHON, "docs/screenshots.py"]],
        "bench": [[PYTHON, "benchmarks/supervised.py"]],
    }
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit("semistruct needs Python 3.11 or newer")
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    set_up(CORE if sys.argv[1] == "demo" else EVERYTHING)
    os.environ["NO_MKDOCS_2_WARNING"] = "1"  # the theme speaks of its successor at every build
    if sys.argv[1] in ("bounds", "fuzz"):
        os.environ["NUMBA_BOUNDSCHECK"] = "1"
    if sys.argv[1] == "fuzz":
        os.environ["PYTHONPATH"] = str(HERE / "tests")
    for command in commands[sys.argv[1]]:
        run(*command, *sys.argv[2:])


if __name__ == "__main__":
    main()
