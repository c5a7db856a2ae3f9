"""The compiled core: its stub is true; what does not fit is refused by a sentence, and so is a core that is missing."""

import ast
import importlib.util
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import semistruct
from semistruct import _core
from semistruct.base.threads import spread
from semistruct.core.chain.inference import Scorer
from semistruct.core.kernels import kernels
from semistruct.rules.tables import TARGET

PACKAGE = Path(semistruct.__file__).parent


# the stub --------------------------------------------------------------------------------------------------


def signatures():
    """{name: what stands behind `def`} of every function of the module, with the names that the stub imports."""
    found = {}
    for name, function in vars(_core).items():
        if hasattr(function, "__nb_signature__"):
            ((signature, *_),) = function.__nb_signature__
            found[name] = ast.unparse(ast.parse(signature.replace("typing.Any", "Any") + ": ..."))
    return found


def test_the_stub_says_what_the_module_has():
    """`python3 dev.py stubs` writes it anew."""
    tree = ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8"))
    stub = {node.name: ast.unparse(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert len(stub) > 30
    assert stub == signatures()


def test_both_modules_have_the_same_functions():
    assert {name for name in vars(kernels) if name[0] != "_"} == {name for name in vars(_core) if name[0] != "_"}


# arguments -------------------------------------------------------------------------------------------------


def factors(step=None, top=None):
    rest = np.zeros((2, 1, 3)), np.zeros((2, 3, 1)), np.zeros(2) if top is None else top
    kernels.factors_of(np.zeros((2, 1, 3)) if step is None else step, *rest)


def test_what_fits_is_taken():
    top = np.ones(2)
    factors(top=top)
    assert top.tolist() == [0.0, 0.0]


def read_only(n):
    array = np.zeros(n)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (
            {"step": np.ones((2, 1, 3), np.float32)},
            r"step must be a C-ordered array of float64 with 3 axes, not float32 with shape \(2, 1, 3\)",
        ),
        ({"step": np.ones((2, 1, 3), np.int64)}, "not int64 with shape"),
        ({"step": np.ones((2, 1, 3), ">f8")}, "not >f8 with shape"),
        ({"step": np.ones((3, 1, 2)).T}, r"a C-ordered array of float64 .* not float64 with shape \(2, 1, 3\)"),
        ({"step": np.ones((2, 1, 6))[:, :, ::2]}, "a C-ordered array"),
        ({"step": np.ones(3)}, r"with 3 axes, not float64 with shape \(3,\)"),
        ({"step": np.ones((2, 1, 3, 1))}, "with 3 axes"),
        ({"step": [[[1.0, 1.0, 1.0]]]}, "step must be a C-ordered array of float64 with 3 axes, not list"),
        ({"top": read_only(2)}, "top must be a C-ordered array of float64 with 1 axis to write to"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments, refusal):
    with pytest.raises(TypeError, match=f"^factors_of: .*{refusal}"):
        factors(**arguments)


def penalty(targets, n_tokens=1.0):
    return kernels.penalty(targets, np.zeros(0, np.int64), np.zeros(0), n_tokens, 1.0)


def test_records_of_another_size_are_refused():
    with pytest.raises(TypeError, match=r"penalty: targets must be a C-ordered array of \d+-byte records with 1 axis"):
        penalty(np.zeros(2, [("a", np.int8)]))
    with pytest.raises(TypeError, match="penalty: targets must be"):
        penalty(np.zeros(2))


def test_what_is_no_number_is_refused():
    with pytest.raises(TypeError, match=r"^penalty: n_tokens must be a number, not str$"):
        penalty(np.zeros(0, TARGET), n_tokens="many")
    none, few = np.zeros(0, np.int64), np.zeros(0, np.int32)
    rows = (few, none, none), (none, none.reshape(0, 0), few), (few.reshape(0, 0), few)
    with pytest.raises(TypeError, match=r"^gather_features: most must be an integer, not float$"):
        kernels.gather_features(*rows, 0.5, few, few)


SCORER = Scorer(
    offsets=np.array([0, 1]), indptr=np.array([0, 0]), indices=np.zeros(0, np.int32), values=np.zeros(0),
    kind=np.zeros(1, np.int16), tokens=np.zeros((0, 2)), step=np.zeros((1, 2, 2)),
)  # fmt: skip


def margins(scorer):
    kernels.margins_of_sequences(
        np.zeros(1, np.int64), scorer, np.full(1, -1, np.int16), np.zeros(1, np.int16), np.zeros(1)
    )


@pytest.mark.parametrize(
    ("scorer", "refusal"),
    [
        (
            SCORER._replace(step=np.zeros((2, 2))),
            r"scorer.step must be .* with 3 axes, not float64 with",
        ),
        (SCORER._replace(offsets=np.zeros(2, np.int32)), "scorer.offsets must be .* int64 .* not int32"),
        (tuple(SCORER)[:-1], "scorer must be a tuple with more fields, not 6 fields"),
        ((*SCORER, None), "scorer must be a tuple with fewer fields, not 8 fields"),
        (list(SCORER), "scorer must be a named tuple, not list"),
        (None, "scorer must be a named tuple, not NoneType"),
    ],
)
def test_named_tuples_that_do_not_fit_are_refused(scorer, refusal):
    margins(SCORER)
    with pytest.raises(TypeError, match=f"^margins_of_sequences: {refusal}"):
        margins(scorer)


@pytest.mark.parametrize("given", [1, 5])
def test_the_number_of_arguments_is_told(given):
    with pytest.raises(TypeError, match=f"^factors_of takes 4 arguments, not {given}$"):
        kernels.factors_of(*[np.zeros((1, 1, 1))] * given)


# stopping --------------------------------------------------------------------------------------------------


def slow_chain(T=400, Y=40):
    """What scores one sequence so long that a hundred thousand visits take minutes."""
    tokens, step = np.zeros((1, Y)), np.zeros((1, Y, Y))
    return Scorer(
        offsets=np.array([0, T]), indptr=np.zeros(T + 1, np.int64), indices=np.zeros(0, np.int32),
        values=np.ones(1), kind=np.zeros(T, np.int16), tokens=tokens, step=step,
    )  # fmt: skip


class Ring(Exception):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of timers")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_kernel_ends_within_a_second_of_a_signal(n_jobs):
    """In the main thread and in others, which have all ended when the error comes out."""

    def ring(*_):
        raise Ring

    scorer, again = slow_chain(), np.zeros(100_000, np.int64)
    path, score = np.zeros(scorer.offsets[-1], np.int16), np.zeros(1)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        began = time.monotonic()
        with pytest.raises(Ring):
            spread(
                kernels.decode_sequences, again, scorer, path[:0], np.zeros((0, 40)), path, score,
                n_jobs=n_jobs, piece=20_000,
            )  # fmt: skip
        assert time.monotonic() - began < 1.3
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_flag_stops_a_kernel():
    scorer, flag = slow_chain(), np.ones(1, bool)
    path, score = np.zeros(scorer.offsets[-1], np.int16), np.full(1, np.nan)
    args = scorer, path[:0], np.zeros((0, 40)), path, score
    with pytest.raises(KeyboardInterrupt):
        kernels.decode_sequences((np.zeros(1, np.int64), flag), *args)
    assert np.isnan(score[0])
    kernels.decode_sequences((np.zeros(1, np.int64), ~flag), *args)
    assert score[0] == 0
    with pytest.raises(TypeError, match=r"^decode_sequences: which must be a C-ordered array of bool with 1 axis"):
        kernels.decode_sequences((np.zeros(1, np.int64), np.zeros(1)), *args)


# no core ---------------------------------------------------------------------------------------------------


def test_a_core_that_is_missing_or_of_another_python_is_told_in_one_sentence(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "semistruct", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    for name in ("nothing.txt", "_core.cpython-26-none.so"):
        (tmp_path / "semistruct" / name).touch()
        command = [sys.executable, "-m", "semistruct", "predict", "x.model"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 2
        assert "the compiled core of semistruct is missing, or was built for another Python" in done.stderr
        assert "`pip install .` builds it" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_no_compiler_to_be_had_is_told_in_one_sentence(monkeypatch):
    spec = importlib.util.spec_from_file_location("dev", Path(__file__).parents[1] / "dev.py")
    dev = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dev)
    monkeypatch.setattr(dev, "PYTHON", sys.executable)
    monkeypatch.setattr(dev.shutil, "which", lambda _: None)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    for name in ("CXX", "PROGRAMFILES(X86)"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SystemExit, match=r"^no C\+\+ compiler can be had: install .*PyPI$"):
        dev.compiler()
