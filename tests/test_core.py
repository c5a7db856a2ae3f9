"""The compiled core: its stub is true; what does not fit is refused by a sentence, and so is a core that is missing."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import semistruct
from semistruct import _core
from semistruct.chain.records import Scorer
from semistruct.core import kernels
from semistruct.rules.records import ENTRY, TARGET, Events

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
    assert len(stub) > 40
    assert stub == signatures()


def test_both_modules_have_the_same_functions():
    assert {name for name in vars(kernels) if name[0] != "_"} == {name for name in vars(_core) if name[0] != "_"}


# arguments -------------------------------------------------------------------------------------------------


def totals(counts=None, out=None):
    kernels.total_of(np.ones((2, 3)) if counts is None else counts, np.zeros(3) if out is None else out)


def test_what_fits_is_taken():
    out = np.zeros(3)
    totals(out=out)
    assert out.tolist() == [2.0, 2.0, 2.0]


def read_only(n):
    array = np.zeros(n)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (
            {"counts": np.ones((2, 3), np.float32)},
            r"counts must be a C-ordered array of float64 with 2 axes, not float32 with shape \(2, 3\)",
        ),
        ({"counts": np.ones((2, 3), np.int64)}, "not int64 with shape"),
        ({"counts": np.ones((2, 3), ">f8")}, "not >f8 with shape"),
        ({"counts": np.ones((3, 2)).T}, r"a C-ordered array of float64 .* not float64 with shape \(2, 3\)"),
        ({"counts": np.ones((2, 6))[:, ::2]}, "a C-ordered array"),
        ({"counts": np.ones(3)}, r"with 2 axes, not float64 with shape \(3,\)"),
        ({"counts": np.ones((2, 3, 1))}, "with 2 axes"),
        ({"counts": [[1.0, 1.0, 1.0]]}, "counts must be a C-ordered array of float64 with 2 axes, not list"),
        ({"out": read_only(3)}, "totals must be a C-ordered array of float64 with 1 axis to write to"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments, refusal):
    with pytest.raises(TypeError, match=f"^total_of: .*{refusal}"):
        totals(**arguments)


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
    none = np.zeros(0, np.int32)
    events = Events(none, none, 0, np.zeros(0, np.int64), np.zeros(0, ENTRY), np.zeros(0, np.int64))
    with pytest.raises(TypeError, match=r"^count_window: first must be an integer, not float$"):
        kernels.count_window(events, 0.5, np.zeros(1, np.int16), 0, 1, 1.0, np.zeros(0), np.zeros(0, np.int64))


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


def test_the_number_of_arguments_is_told():
    with pytest.raises(TypeError, match=r"^total_of takes 2 arguments, not 1$"):
        kernels.total_of(np.zeros((1, 1)))
    with pytest.raises(TypeError, match=r"^total_of takes 2 arguments, not 3$"):
        kernels.total_of(np.zeros((1, 1)), np.zeros(1), 0)


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
