"""Model files: one zip archive with two members, and nothing in it that could run.

    model.json           format version, method and its parameters, how text is cut, labels, feature names, rules,
                         calibration, ranker, card
    weights.safetensors  the weights, and vectors of words, as plain arrays

A file is written under another name and moved to its place when it is complete.  Reading trusts nothing:
member names, sizes, checksums and shapes are checked before use.
"""

from __future__ import annotations

import errno
import json
import os
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from semistruct._version import __version__
from semistruct.base.errors import ModelError, ParameterError, quoted, shortened
from semistruct.base.files import reason, replacing
from semistruct.core.chain.inference import ChainWeights
from semistruct.features import Encoder, Features, FeatureSet
from semistruct.features.templates import named_functions
from semistruct.features.user_features import TokenFunction, trusted_function
from semistruct.features.vectors import WordVectors
from semistruct.model.calibration import Calibration
from semistruct.model.model import Model
from semistruct.model.ranking import LARGEST, Ranker
from semistruct.rules import Function, Rules

FORMAT = 5  # 1 had no tokens: text was cut into words; 2 no checksums of sequences; 3 no calibration; 4 no ranker
MEMBERS = {"model.json", "weights.safetensors"}
MAX_RATIO = 300  # `save` packs even weights that are all zero to no less than 1/230; a bomb is packed to 1/1000
SMALL = 1 << 20  # bytes unpacked at a time; below this size any ratio is harmless
WIDEST = 1 << 24  # numbers of a vector, so that the rows of all can be counted


def write_model(
    path: str | os.PathLike[str], model: Model, description: dict[str, Any], card: dict[str, Any] | None = None
) -> None:
    """Write a model with the description of the estimator that it belongs to; see `read_model`."""
    if model.rules and any(isinstance(rule, Function) for rule in model.rules):
        warnings.warn("rules that are functions cannot be saved in a model file; they are left out", stacklevel=3)
    features = model.encoder.features
    about = {
        "format": FORMAT,
        **description,
        "labels": model.labels,
        "features": features
        and {  # without arrays and functions, which specs name
            "specs": features.specs,
            "resources": features.resources,
            "vectors": {name: vectors.words for name, vectors in features.vectors.items()},
        },
        "names": list(model.encoder.vocabulary),
        "widths": model.encoder.vocabulary.widths,
        "rules": None if model.rules is None else model.rules.to_dict(),
        "calibration": None if model.calibration is None else model.calibration.to_dict(),
        "ranker": None if model.ranker is None else model.ranker.to_dict(),
        "card": {"semistruct": __version__, "created": datetime.now(UTC).isoformat(timespec="seconds"), **(card or {})},
    }
    # "surrogatepass": a token may hold half a character, and is read back as it was
    text = json.dumps(about, ensure_ascii=False, default=_plain).encode("utf-8", "surrogatepass")
    arrays = {"tokens": model.weights.tokens, "trans": model.weights.trans}
    if features:
        arrays |= {f"vectors {i}": vectors.matrix for i, vectors in enumerate(features.vectors.values())}
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("model.json", text)
        archive.writestr("weights.safetensors", save_arrays({k: np.ascontiguousarray(v) for k, v in arrays.items()}))


def read_model(path: str | os.PathLike[str], trust: Collection[str] = ()) -> tuple[Model, dict[str, Any]]:
    """(the model, the content of model.json); `trust` names the modules whose functions it may call."""
    about, arrays = _members(path)
    if not isinstance(about, dict) or type(about.get("format")) is not int or about["format"] < 1:
        raise ModelError(f"{path}: not a semistruct model: model.json has no format number")
    if about["format"] != FORMAT:
        card = about["card"] if isinstance(about.get("card"), dict) else {}
        made_by = shortened(str(card.get("semistruct", "(unknown version)")))
        hint = "" if about["format"] > FORMAT else "; train again"
        number = shortened(str(about["format"]))
        problem = f"model format {number} of semistruct {made_by}; this version reads {FORMAT}{hint}"
        raise ModelError(f"{path}: {problem}")
    with refusing_damage(path):
        _check_types(about)
        features = _features(about["features"], arrays, trust, path) if about["features"] else None
        encoder = Encoder(features, about["names"], about["widths"])
        model = Model(tuple(about["labels"]), encoder, ChainWeights(arrays["tokens"], arrays["trans"]))
        _check_weights(model)
        if about.get("rules") is not None:
            rules = Rules.from_dict(about["rules"])
            rules.check_labels(model.labels)
            model = replace(model, rules=rules)
        if about["calibration"] is not None:
            model = replace(model, calibration=Calibration.from_dict(about["calibration"]))
        if about["ranker"] is not None:
            model = replace(model, ranker=Ranker.from_dict(about["ranker"]))
    return model, about


def _features(
    about: dict[str, Any], arrays: dict[str, np.ndarray], trust: Collection[str], path: str | os.PathLike[str]
) -> Features:
    """The feature set that was described."""
    functions = functions_of(about["specs"], trust, path)
    vectors = {
        name: WordVectors(tuple(words), arrays[f"vectors {i}"])
        for i, (name, words) in enumerate(about["vectors"].items())
    }
    return Features(tuple(about["specs"]), about["resources"], vectors, functions)


def functions_of(
    features: FeatureSet, trust: Collection[str], path: str | os.PathLike[str]
) -> dict[str, TokenFunction]:
    """The functions that a feature set of a model file names, by `module:name`; refused if they are not trusted."""
    return {text: trusted_function(text, trust, path) for text in named_functions(features)}


@contextmanager
def refusing_damage(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors raised by reading a model file, or by its content, become a ModelError."""
    try:
        yield
    except ModelError:
        raise
    except OSError as err:
        if err.errno != errno.EINVAL:  # otherwise the archive names a place before its beginning
            raise ModelError(f"{path}: cannot read: {reason(err)}") from None
        raise ModelError(f"{path}: not a semistruct model, or damaged") from None
    except (zipfile.BadZipFile, EOFError):
        raise ModelError(f"{path}: not a semistruct model, or damaged") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError, SafetensorError) as err:
        raise ModelError(f"{path}: the model is damaged ({err})") from None
    except (zlib.error, RuntimeError):  # also of members that are encrypted, or packed in ways of later versions of zip
        raise ModelError(f"{path}: the model is damaged: its content cannot be unpacked") from None


def _plain(value: Any) -> Any:
    """A numpy number as a number of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a model file cannot hold {quoted(value)}, a {type(value).__name__}")


def _check_types(about: dict[str, Any]) -> None:
    """Refuse names that are not texts, before anything is built from them."""
    for key in ("labels", "names"):
        texts = isinstance(about[key], list) and all(isinstance(name, str) for name in about[key])
        if not texts or len(set(about[key])) != len(about[key]):
            raise ValueError(f"the {key} are not a list of distinct strings")
    if not about["labels"]:
        raise ValueError("there are no labels")
    tables = about["features"]["resources"].values() if about["features"] else ()
    if not all(isinstance(value, str) for table in tables for value in table.values()):
        raise ValueError("a lexicon or cluster file holds something else than strings")
    listed = about["features"]["vectors"].values() if about["features"] else ()
    if not all(isinstance(word, str) for words in listed for word in words):
        raise ValueError("vectors belong to something else than strings")
    names = set(about["names"])
    if not all(name in names and type(n) is int and 0 < n <= WIDEST for name, n in about["widths"].items()):
        raise ValueError(f"the widths are not whole numbers from 1 to {WIDEST} for some of the names")
    if not isinstance(about["card"], dict):
        raise ValueError("the card is not a mapping")


def _members(path: str | os.PathLike[str]) -> tuple[Any, dict[str, np.ndarray]]:
    """The two members of the archive; of each no more is unpacked than its declared size and one piece."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"{quoted(path)} is not the path of a model file")

    def content(name: str) -> bytes:
        with archive.open(name) as member:
            return b"".join(iter(lambda: member.read(SMALL), b""))

    with refusing_damage(path), zipfile.ZipFile(path) as archive:
        most = os.path.getsize(path)
        for member in archive.infolist():
            if member.filename not in MEMBERS:
                raise ModelError(f"{path}: not a semistruct model: it holds {quoted(member.filename)}")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise zipfile.BadZipFile
            if member.file_size > max(SMALL, MAX_RATIO * min(member.compress_size, most)):
                raise ModelError(f"{path}: refused: {member.filename} would unpack to {member.file_size} bytes")
        return json.loads(content("model.json")), load_arrays(content("weights.safetensors"))


def _check_weights(model: Model) -> None:
    Y, F, K = len(model.labels), max(model.encoder.n_features, 1), model.encoder.n_kinds
    for name, array, shape in (("tokens", model.weights.tokens, (F, Y)), ("trans", model.weights.trans, (K, Y, Y))):
        if array.shape != shape or array.dtype != np.float64:
            raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}, expected {shape} float64")
        if not (np.abs(array) <= LARGEST).all():
            raise ValueError(f"{name} holds a weight that is not a number or larger than {LARGEST:g}")
