"""Plots exist, can be read back and show the numbers."""

from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from semistruct.report.plots import BLUE, GREY, learning_curve

SIZES, RUNS = (5, 20, 100), [[0.5, 0.75], [0.8, 0.9], [0.955]]


def has_colour(image, colour):
    close = 0.02  # of 1, in each channel
    return bool((np.abs(image[..., :3] - to_rgb(colour)).max(axis=-1) < close).any())


def test_png(tmp_path):
    path = tmp_path / "curve.png"
    learning_curve(path, SIZES, RUNS, title="A title")
    image = imread(path)
    assert image.ndim == 3
    assert min(image.shape[:2]) > 300
    assert has_colour(image, BLUE)
    assert has_colour(image, GREY)
    assert not has_colour(image, "#ff0000")


def test_svg_shows_sizes_means_and_title(tmp_path):
    path = tmp_path / "curve.svg"
    learning_curve(path, SIZES, RUNS, title="A title")
    text = path.read_text()
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    for shown in ("A title", "5", "20", "100", "62.5", "85.0", "95.5"):  # drawn as outlines, named in comments
        assert f"<!-- {shown} -->" in text


def test_each_size_has_its_runs(tmp_path):
    with pytest.raises(ValueError, match="zip"):
        learning_curve(tmp_path / "x.png", SIZES, RUNS[:2], title="")
