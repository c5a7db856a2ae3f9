#!/usr/bin/env python3
"""Set up everything and run one thing; needs only Python >= 3.11.

python3 dev.py demo      a virtual environment in .venv, the package with its compiled core, and `semistruct demo`
python3 dev.py test      the same with the development tools, and the tests on all cores; further words go to pytest
python3 dev.py test --all    also the second stage: tests with a browser, with killed processes, and of the campaign
python3 dev.py checked   the tests of the kernels and a short campaign, with every index checked and with sanitizers
python3 dev.py fuzz      made-up inputs at every door, for as long as `--minutes N` says
python3 dev.py lint      ruff and mypy
python3 dev.py docs      the documentation, as pages in site/
python3 dev.py screenshots   the pictures of the workbench in docs/images/, taken in Chromium
python3 dev.py stubs     the types of the core for mypy, in src/semistruct/_core.pyi
python3 dev.py bench     the benchmark peers, and benchmarks/supervised.py (words go to it)

The core is built with the C++ compiler of the machine, or with one from PyPI where there is none.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENV = HERE / ".venv"
BIN = ENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = str(BIN / "python")
LOCK = HERE / "requirements.lock"
STUBS = "src/semistruct/_core.pyi"
CORE, EVERYTHING = ".", ".[dev,spacy,work,tables,bench,docs]"
KERNEL_TESTS = (
    "core", "chain", "posterior", "rule_tables", "rule_search", "conditions", "confidence", "switching",
    "projection", "transductive", "sdm", "sdm_kernels", "multiclass", "names",
)  # fmt: skip


def run(*command: str, quiet: bool = False, **env: str) -> None:
    """Run a command; a quiet one is heard only if it fails."""
    into = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True} if quiet else {}
    done = subprocess.run(command, cwd=HERE, check=False, env=os.environ | env, **into)
    if done.returncode:
        sys.exit(done.stdout if quiet else done.returncode)


def install(*what: str, quiet: bool = False, **env: str) -> None:
    pip = (PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", str(LOCK))
    run(*pip, *what, quiet=quiet, **env)


def set_up(what: str) -> None:
    """Make .venv with the package alone or with all it can use, in the locked versions, unless that was done before."""
    import tomllib  # older versions of Python, which are refused, do not have it

    stamp = ENV / "installed"
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))
    installed = repr((LOCK.read_text(encoding="utf-8"), project["build-system"], project["project"], sys.version))
    wanted = hashlib.sha256(installed.encode()).hexdigest()
    found = stamp.read_text().split() if stamp.exists() else []
    if found in ([wanted, EVERYTHING], [wanted, what]):
        return
    print("setting up .venv (once)", flush=True)
    if found != [wanted, CORE]:
        venv.create(ENV, with_pip=True, clear=True)
        install("scikit-build-core", "nanobind", "cmake", "ninja")
    # the package is src/ as it is with the core that `build` puts there; its dependencies and metadata are installed
    install("--no-build-isolation", what, SKBUILD_WHEEL_CMAKE="false", SKBUILD_WHEEL_EXCLUDE="**")
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(ENV)}))
    (packages / "semistruct.pth").write_text(f"{HERE / 'src'}\n")
    stamp.write_text(f"{wanted} {what}")


def build(folder: Path, into: Path, *options: str) -> None:
    """Bring the core in `into`/semistruct up to date; what is half done stays in `folder`."""
    cmake = str(BIN / "cmake")
    cache = folder / "CMakeCache.txt"
    own = cache.exists() and f"CMAKE_HOME_DIRECTORY:INTERNAL={HERE.as_posix()}\n" in cache.read_text(encoding="utf-8")
    if not own or not (folder / "cmake_install.cmake").exists():  # the last thing that cmake writes
        nanobind = subprocess.run([PYTHON, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True, check=True)
        python = (f"-DPython_EXECUTABLE={PYTHON}", f"-Dnanobind_DIR={nanobind.stdout.strip()}")
        shutil.rmtree(folder, ignore_errors=True)
        print("building the compiled core (once)", flush=True)
        run(cmake, "-S", str(HERE), "-B", str(folder), *python, *(options or compiler()), quiet=True)
    run(cmake, "--build", str(folder), "--config", "Release", quiet=True)
    run(cmake, "--install", str(folder), "--config", "Release", "--prefix", str(into), quiet=True)


def compiler() -> list[str]:
    """What cmake is told about the compiler: nothing where it can find one, or to take the one from PyPI."""
    ninja = ["-GNinja", f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}"]
    studio = Path(os.environ.get("PROGRAMFILES(X86)", "")) / "Microsoft Visual Studio" / "Installer" / "vswhere.exe"
    if os.name == "nt" and studio.exists():
        return []
    if "CXX" in os.environ or any(map(shutil.which, ("c++", "g++", "clang++"))):
        return ninja
    print("no C++ compiler was found; taking the one of the package ziglang (once)", flush=True)
    try:
        install("ziglang", quiet=True)
    except SystemExit:
        sys.exit("no C++ compiler can be had: install g++ or clang, or ziglang with pip, which needs access to PyPI")
    tools = {"CXX_COMPILER": "c++", "AR": "ar", "RANLIB": "ranlib"}
    for tool in tools.values():
        script = f'@"{PYTHON}" -m ziglang {tool} %*' if os.name == "nt" else f'exec "{PYTHON}" -m ziglang {tool} "$@"'
        tools_file(tool).write_text(script + "\n" if os.name == "nt" else f"#!/bin/sh\n{script}\n")
        tools_file(tool).chmod(0o755)
    # unlike others, it builds for this very machine and with a sanitizer unless it is told not to
    flags = ["-DCMAKE_CXX_FLAGS=-mcpu=baseline -fno-sanitize=undefined", "-DSEMISTRUCT_AVX2=-mcpu=x86_64+avx2"]
    return [*ninja, *flags, *(f"-DCMAKE_{name}={tools_file(tool)}" for name, tool in tools.items())]


def tools_file(tool: str) -> Path:
    return BIN / (f"zig-{tool}.cmd" if os.name == "nt" else f"zig-{tool}")


def checked() -> dict[str, str]:
    """A copy of the package with a checked core; returns the environment that Python needs to import it."""
    gcc = shutil.which("g++")
    if gcc is None:
        sys.exit("`dev.py checked` needs g++, for its sanitizers")
    folder = ENV / "checked"
    shutil.rmtree(folder / "src", ignore_errors=True)
    shutil.copytree(HERE / "src", folder / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    build(folder / "build", folder / "src", "-GNinja", f"-DCMAKE_CXX_COMPILER={gcc}", "-DSEMISTRUCT_CHECKED=ON")
    # the sanitizer's library has to be there before Python is, and C++ before it looks for what C++ throws
    libraries = [subprocess.check_output([gcc, f"-print-file-name={name}"], text=True).strip()
                 for name in ("libasan.so", "libstdc++.so")]  # fmt: skip
    path = f"{folder / 'src'}{os.pathsep}{HERE / 'tests'}"
    return {"PYTHONPATH": path, "LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": "detect_leaks=0"}


def main() -> None:
    tests = [PYTHON, "-m", "pytest", "-n", "auto", "--dist", "loadfile"]  # a file's fixtures are made once
    commands = {
        "demo": [[PYTHON, "-m", "semistruct", "demo"]],
        "test": [tests],
        "checked": [
            [*tests, *(f"tests/test_{name}.py" for name in KERNEL_TESTS)],
            [PYTHON, "-m", "fuzz", "--minutes", "1", "--part", "calls", "--part", "decoding"],
        ],
        "fuzz": [[PYTHON, "-m", "fuzz"]],
        "lint": [
            [PYTHON, "-m", "ruff", "check", "."],
            [PYTHON, "-m", "ruff", "format", "--check", "."],
            [PYTHON, "-m", "mypy"],
        ],
        "docs": [[PYTHON, "-m", "mkdocs", "build", "--strict"]],
        "screenshots": [[PYTHON, "docs/screenshots.py"]],
        "stubs": [
            [PYTHON, "-m", "nanobind.stubgen", "--quiet", "--module", "semistruct._core", "--output-file", STUBS],
            [PYTHON, "-m", "ruff", "format", "--quiet", STUBS],
        ],
        "bench": [[PYTHON, "benchmarks/supervised.py"]],
    }
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit("semistruct needs Python 3.11 or newer")
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    words = [word for word in sys.argv[2:] if word != "--all"]
    if sys.argv[1:] == ["test"]:
        words = ["-m", "not second_stage"]
    set_up(CORE if sys.argv[1] == "demo" else EVERYTHING)
    env = {"NO_MKDOCS_2_WARNING": "1"}  # the theme speaks of its successor at every build
    if sys.argv[1] == "checked":
        env |= checked()
    else:
        build(ENV / "core", HERE / "src")
    if sys.argv[1] == "fuzz":
        env["PYTHONPATH"] = str(HERE / "tests")
    for command in commands[sys.argv[1]]:
        run(*command, *words, **env)


if __name__ == "__main__":
    main()
