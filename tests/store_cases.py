"""A small model in a file, and what is compared and changed of it."""

import json
import zipfile

import pytest
from safetensors.numpy import save as save_arrays

from semistruct import SSVM, load
from semistruct.base.errors import ModelError

X = [["A", ".", "Turing"], ["K", ".", "Gödel", "1931"], ["1936"]]
Y = [["author"] * 3, ["author"] * 3 + ["date"], ["date"]]


def model_state(estimator):
    """All that a model file keeps, in a form that can be compared exactly."""
    found = estimator.model_
    arrays = [(a.dtype.str, a.shape, a.tobytes()) for a in (found.weights.tokens, found.weights.trans)]
    return (
        type(estimator),
        estimator.get_params(),
        found.labels,
        list(found.encoder.vocabulary),
        found.encoder.features and vars(found.encoder.features) | {"specs": list(found.encoder.features.specs)},
        arrays,
    )


def refused(path):
    """The message with which `path` is refused: one line that names it."""
    with pytest.raises(ModelError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert message.count(str(path)) == 1
    assert "\n" not in message
    return message


def description(path):
    """The content of model.json."""
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json"))


def rewritten(path, *, about=None, arrays=None, members=None, drop=(), packing=zipfile.ZIP_DEFLATED):
    """The archive again, with keys of model.json, arrays or whole members replaced."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    if about is not None:
        content["model.json"] = json.dumps(json.loads(content["model.json"]) | about).encode()
    if arrays is not None:
        content["weights.safetensors"] = save_arrays(arrays)
    content.update(members or {})
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name in content.keys() - set(drop):
            archive.writestr(name, content[name])
    return path


@pytest.fixture(scope="module")
def fitted():
    return SSVM(features=["word"], C=2.0).fit(X, Y)


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "m.model"
    fitted.save(path, card={"origin": "three references"})
    return path
