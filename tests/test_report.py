"""The page that reports experiments: self-contained, safe, sortable, also in a real browser."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from experiment_cases import record, some_records
from semistruct.app.experiments.tables import Cell, Table
from semistruct.app.experiments.view import View
from semistruct.app.report.comparison import markdown, write_reports

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "{{ 7 * 7 }}", "a&b"]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Tags(HTMLParser):
    """All tags and attributes, and whether every tag is closed."""

    VOID = frozenset({"meta", "br", "img", "link", "hr", "input"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def written(folder, records):
    write_reports(View(records), folder, "semistruct reproduce citations -o out")
    return (folder / "report.html").read_text()


@pytest.fixture
def page(tmp_path):
    return written(tmp_path, some_records())


def test_the_page_parses_and_loads_nothing(page):
    found = Tags(page)
    assert found.open == []
    assert [tag for tag, _ in found.tags].count("html") == 1
    for tag, attrs in found.tags:
        assert tag not in ("link", "iframe", "object", "embed", "img", "base", "form")
        for name, value in attrs.items():
            if name in ("src", "href", "xlink:href", "action", "srcset", "data", "poster"):
                assert value.startswith("#"), (tag, name, value)
    assert re.search(r"url\(\s*['\"]?(?!#)", page) is None
    assert "@import" not in page
    outside = re.sub(r'xmlns(:\w+)?="http[^"]*"', "", page)
    assert "http:" not in outside
    assert "https:" not in outside


def test_figures_are_drawn_inside_and_take_the_colour_of_the_text(page):
    assert page.count("<svg") == 3
    assert "currentColor" in page
    assert "#20242b" not in page.split("</style>", 1)[1]
    for name in ("paths", "labelled", "time"):
        assert f'id="figure-{name}"' in page


def test_hostile_rules_stay_text(tmp_path):
    found = Tags(
        written(tmp_path, [record("ssvm", "5", s, [([1, 1, 1, 1], [2, 1, 1, 1])], left_out=HOSTILE) for s in (0, 1)])
    )
    assert [tag for tag, _ in found.tags].count("script") == 1
    assert "img" not in {tag for tag, _ in found.tags}
    assert not any(name.startswith("on") for _, attrs in found.tags for name in attrs)
    text = "".join(found.text)
    for rule in HOSTILE:
        assert rule in text


def test_the_page_is_for_phones_for_paper_and_for_the_night(page):
    for wanted in ('name="viewport"', "prefers-color-scheme: dark", "@media print", "overflow-x: auto"):
        assert wanted in page


def test_the_summary_comes_first(page):
    assert page.index("Which method is best with 5 labels?") < page.index("<table")
    text = " ".join("".join(Tags(page).text).split())
    assert "Annealed SSVM: 90.0 ± 0.0 % of tokens right under the rules, over 3 draws." in text


def test_columns_that_peek_are_marked_and_what_others_have_published_is_grey(page):
    marked = {(tag, attrs.get("class")) for tag, attrs in Tags(page).tags}
    assert {("th", "peek"), ("td", "grey")} <= marked
    assert '<td class="grey" data-value="74.74">74.74 BSS' in page


def test_synthetic_data_is_marked(tmp_path):
    page = written(tmp_path, some_records(synthetic=True))
    assert "Citations (synthetic): methods compared" in page
    assert "Synthetic data, made by a generator" in page


def test_markdown_escapes_what_would_be_read_as_markup():
    table = Table("t", "Title", [Cell("a|b")], [[Cell("x*y", style="best")]], ["_note_"])
    text = markdown("T", "semistruct reproduce x", [], [], [table])
    assert "Made by `semistruct reproduce x`." in text
    assert "| a\\|b |" in text
    assert "| **x\\*y** |" in text
    assert "\\_note\\_" in text


def test_pages_are_the_same_for_the_same_records(tmp_path):
    assert written(tmp_path, some_records()) == written(tmp_path, some_records())


# ---- in a browser


def browse(page, folder, script, width=1200):
    """The document after a script has run."""
    path = folder / "page.html"
    path.write_text(page.replace("</body>", f"<script>{script}</script></body>"))
    command = [
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
        f"--window-size={width},900", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=True).stdout


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium to look at the page with")
def test_a_click_sorts_a_table(page, tmp_path):
    click = """
        const head = document.querySelectorAll("#overview th")[1], out = [];
        for (let i = 0; i < 2; i++) {
          head.click();
          out.push([...document.querySelectorAll("#overview tbody td:first-child")].map(c => c.textContent).join());
        }
        document.body.dataset.order = out.join(";") + ";" + head.getAttribute("aria-sort");
    """
    dom = browse(page, tmp_path, click)
    assert 'data-order="annealed SSVM,SSVM, supervised;SSVM, supervised,annealed SSVM;ascending"' in dom


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium to look at the page with")
def test_the_page_fits_a_phone(page, tmp_path):
    measure = (
        "document.body.dataset.over = document.documentElement.scrollWidth - document.documentElement.clientWidth;"
    )
    assert 'data-over="0"' in browse(page, tmp_path, measure, width=500)
