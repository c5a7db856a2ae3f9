"""What the tests of features share."""

import json
import zipfile

import numpy as np


def values_by_token(encoder, batch):
    """{feature name: value} of each token."""
    names, values = encoder.feature_names(), np.broadcast_to(batch.values, batch.indices.shape)
    return [
        {names[batch.indices[j]]: values[j].item() for j in range(a, b)}
        for a, b in zip(batch.indptr, batch.indptr[1:], strict=False)
    ]


def rewritten(path, target, change):
    """A model file with another model.json."""
    with zipfile.ZipFile(path) as archive:
        about, weights = json.loads(archive.read("model.json")), archive.read("weights.safetensors")
    change(about)
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("model.json", json.dumps(about))
        archive.writestr("weights.safetensors", weights)
    return target
