# ruff: noqa: F401, F811 (fixtures are imported)
"""The page of the workbench pleases: on a phone, in the dark, read aloud, and to colour-blind eyes."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `work` is not installed")

from semistruct.app.work import bench as benches
from work_browser import Watched, bench, browser, opened

PAGE = Path(benches.__file__).parent / "page"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_pane_fits_a_phone(opened, browser, scheme):
    address = f"{opened.client.site}?token={opened.client.token}"
    phone = Watched(browser, address, color_scheme=scheme, has_touch=True)
    phone.page.set_viewport_size({"width": 390, "height": 844})
    phone.page.wait_for_selector(".chip")
    for pane in ("Label", "Pool", "Rules", "Look", "Use"):
        phone.page.click(f"nav >> text={pane}")
        phone.page.wait_for_timeout(150)
        assert phone.page.evaluate("document.documentElement.scrollWidth") <= 390, pane
    ground = phone.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) > 380) == (scheme == "light")
    phone.page.click("nav >> text=Label")
    phone.page.tap("#token-0")
    phone.page.tap("#token-1")
    phone.page.tap(".field:has-text('name')")
    assert [said.split(", ")[1] for said in phone.labels()][:2] == ["name", "name"]
    phone.close()


def test_what_was_seen_at_the_start_is_shown_on_the_first_load(opened, bench):
    assert opened.page.locator(".notice").count() == 0
    bench.notify("labels.jsonl: the last line was cut off")
    opened.page.reload()
    opened.page.wait_for_selector(".notice >> text=labels.jsonl: the last line was cut off")


def test_everything_that_can_be_used_has_a_name(opened):
    nameless = """() => [...document.querySelectorAll("button, a, input, select, textarea")].filter((one) =>
        one.type !== "file" && ![one.getAttribute("aria-label"), one.textContent, one.closest("label")?.textContent]
            .some((words) => words?.trim())).map((one) => one.outerHTML)"""
    for pane in ("Label", "Pool", "Rules", "Look", "Use"):
        opened.page.click(f"nav >> text={pane}")
        opened.page.wait_for_timeout(150)
        assert opened.page.evaluate(nameless) == [], pane


def test_random_work_on_a_sequence_can_be_undone_and_keeps_its_text(opened):
    """A thousand random actions: labels fit tokens, tokens fit the text, and undoing all leads back."""
    problem = opened.page.evaluate((Path(__file__).parent / "work_sequence.js").read_text())
    assert problem is None


def test_25_fields_can_be_told_apart_also_by_colour_blind_eyes():
    text = (PAGE / "colours.js").read_text()
    colours = re.findall(r"#[0-9a-f]{6}", text.partition("STROKES")[0])
    strokes = re.search(r"STROKES = (\[.*?\])", text)[1]
    assert len(colours) * len(json.loads(strokes)) >= 25
    seen = {kind: [_seen(colour, matrix) for colour in colours] for kind, matrix in BLINDNESS.items()}
    for kind, found in seen.items():
        for k, one in enumerate(found):
            for other in found[:k]:
                assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 12, (kind, k)


BLINDNESS = {  # of linear RGB (Machado, Oliveira and Fernandes 2009)
    "none": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def _seen(colour, matrix):
    """A colour as CIELAB, as such eyes see it."""
    rgb = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    r, g, b = (min(1, max(0, sum(m * c for m, c in zip(row, linear, strict=True)))) for row in matrix)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )  # fmt: skip
    x, y, z = (c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_the_page_never_makes_markup_of_data():
    for path in PAGE.glob("*.js"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", path.read_text()), path
