"""Plots exist, can be read back and show the numbers."""

import errno
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread

from semistruct.app.report.plots import BLUE, GREY, learning_curve, path_of_models
from semistruct.base.errors import DataError

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


AXIS = "C_u", "weight of each sequence of the pool"


def a_path(dev):
    """A path of three points, the second one taken, and its history."""
    points = [
        {"C_u": c, "dev_score": a if dev else None, "mistakes": m, "chosen": c == 0.025}
        for c, a, m in [(None, 0.5, 4.5), (0.025, 0.9, 1.25), (0.25, 0.8, 2.0)]
    ]
    history = [
        {"C_u": c, "step": step, "objective": 100.0 - k, "broken": 5 - k, "switched": 10 * k}
        for k, (c, step) in enumerate([(0.025, "match"), (0.025, "learn"), (0.25, "match"), (0.25, "learn")])
    ]
    return points, history


@pytest.mark.parametrize("dev", [True, False])
def test_path_of_models_as_svg(tmp_path, dev):
    path = tmp_path / "path.svg"
    path_of_models(path, *a_path(dev), AXIS, "token accuracy")
    text = path.read_text()
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    titles = {True: "token accuracy on dev data, %", False: "known mistakes per sequence"}
    for shown in ("start", "0.025", "0.25", "chosen", titles[dev], "labels switched"):
        assert f"<!-- {shown} -->" in text
    assert f"<!-- {titles[not dev]} -->" not in text


def test_the_chosen_point_is_marked(tmp_path):
    """Another one chosen, another picture."""
    points, history = a_path(dev=True)
    images = []
    for taken in range(3):
        path_of_models(
            tmp_path / "x.png",
            [{**p, "chosen": i == taken} for i, p in enumerate(points)],
            history,
            AXIS,
            "token accuracy",
        )
        images.append(imread(tmp_path / "x.png").tobytes())
    assert len(set(images)) == 3


def test_the_path_of_a_supervised_fit_is_one_point(tmp_path):
    points = [{"C_u": None, "dev_score": None, "mistakes": 1.0, "chosen": True}]
    path_of_models(tmp_path / "path.svg", points, [], AXIS, "token accuracy")
    assert "<!-- chosen -->" in (tmp_path / "path.svg").read_text()


def test_a_plot_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    def full(self, file, **_):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "path.png"
    path.write_text("old")
    monkeypatch.setattr(Figure, "savefig", full)
    with pytest.raises(DataError, match=r"path\.png: cannot write: no space left on device"):
        path_of_models(path, *a_path(True), AXIS, "token accuracy")
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]
