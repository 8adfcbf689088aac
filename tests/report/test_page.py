"""The page needs nothing but itself, shows text as text, and can be read in order."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpvae.report.page import ENVIRONMENT, render, write_report
from gpvae.report.tables import Cell, Table
from tests.report.made import config, write_picture, write_run
from tests.report.reading import POLICY, Page

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>&lt;$\\frac{'
PARAGRAPH = ENVIRONMENT.from_string('<p title="{{ value }}" class="x">{{ text }}</p>')
TABLE = ENVIRONMENT.from_string('{% from "table.html" import render_table %}{{ render_table(table) }}')
#: What would load something, or run something.
LOADING = {"script", "link", "iframe", "object", "embed", "base", "form", "video", "audio", "source", "frame"}


def assert_self_contained(page: Page) -> None:
    tags = {tag for tag, _ in page.elements}
    assert not tags & LOADING
    for name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster"):
        for value in page.attributes(name):
            assert value.startswith(("#", "data:image/png;base64,")), f"{name}={value[:80]}"
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert not re.findall(r"url\((?!#)", " ".join(page.attributes("style")))


def test_self_contained(page: Page, page_file: Path) -> None:
    assert_self_contained(page)
    text = page_file.read_text(encoding="utf-8")
    assert "http:" not in text
    assert "https:" not in text
    assert "@import" not in text
    assert str(page_file.parent) not in text
    policy = next(a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == POLICY


def test_addresses_within_the_page_lead_somewhere(page: Page) -> None:
    ids = page.attributes("id")
    assert len(set(ids)) == len(ids)
    targets = [value[1:] for name in ("href", "xlink:href") for value in page.attributes(name) if value[0] == "#"]
    assert targets
    assert set(targets) <= set(ids)
    clips = re.findall(r"url\(#([^)]+)\)", " ".join(page.attributes("clip-path")))
    assert set(clips) <= set(ids)


def test_names_of_methods_lead_to_their_configs(page: Page) -> None:
    configs = {attributes["id"] for tag, attributes in page.elements if tag == "pre"}
    assert len(configs) > 2
    linked = [value[1:] for value in page.attributes("href") if "-config" in value]
    assert set(linked) == configs


def test_headings_in_order_and_words_for_what_is_seen(page: Page) -> None:
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) == 1
    titles = [text for _, text in page.headings]
    assert {"Several", "Solar irradiance", "Solar irradiance, M = 50", "Solar irradiance, M = 150"} <= set(titles)
    assert page.elements[0] == ("html", {"lang": "en"})
    for tag, attributes in page.elements:
        if tag == "img":
            assert attributes["alt"]
        if tag == "svg":
            assert attributes.get("aria-label") or attributes.get("aria-hidden") == "true"
        if tag == "th":
            assert attributes["scope"] in ("col", "row", "colgroup")
    assert all(table.caption for table in page.tables)


def test_sections_of_a_group(page: Page) -> None:
    start = [text for _, text in page.headings].index("Solar irradiance, M = 50")
    following = [text for _, text in page.headings[start + 1 : start + 7]]
    drawn = ["Scores", "Over the tasks seen", "Forgetting", "Predictions after the last task", "Time", "Configs"]
    assert following == drawn
    assert sum(tag == "img" for tag, _ in page.elements) == 2  # of the first seed of each method that drew
    assert "class_path: datamodules.Solar" in page.text


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Names of folders, metrics, pictures, options and classes that are markup."""
    name = HOSTILE.replace("/", "∕")
    settings = config(HOSTILE, 50, HOSTILE, inducing=HOSTILE, data_paths=HOSTILE, data_task_order=HOSTILE)
    folder = write_run(tmp_path / "runs" / name / "seed_<b>", 0, settings, metrics=("nlpd", HOSTILE.lower()))
    write_picture(folder, "<i>_03")
    (folder / "config.yaml").write_text((folder / "config.yaml").read_text() + "\n# </pre></details>" + HOSTILE)
    write_run(tmp_path / "runs" / (name + "2") / "seed_0", 0, config())
    (tmp_path / "runs" / "<u>" / "seed_0").mkdir(parents=True)
    (tmp_path / "runs" / "<u>" / "seed_0" / "task_metrics.csv").write_text(f"{HOSTILE}\n")
    return tmp_path / "runs"


def test_hostile_names_are_shown_as_text(hostile: Path, tmp_path: Path) -> None:
    write_report([hostile], tmp_path / "page.html", HOSTILE)
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert_self_contained(page)
    assert page.headings[0] == (1, HOSTILE)
    assert page.text.count("<script>alert(1)</script>") >= 6
    assert "</pre></details>" in page.text
    charts = [value for value in page.attributes("aria-label") if value.startswith("Line chart")]
    assert any(HOSTILE.lower() in description for description in charts)
    assert "<u>/seed_0" in page.text


@given(st.text(), st.text())
def test_text_comes_back_as_it_was(text: str, value: str) -> None:
    page = Page(render(PARAGRAPH, text=text, value=value))
    assert page.text == read_back(text)
    assert page.elements == [("p", {"title": read_back(value), "class": "x"})]


def read_back(text: str) -> str:
    """Characters that HTML does not allow are replaced."""
    return re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)


@given(st.lists(st.lists(st.text(), min_size=3, max_size=3), min_size=1, max_size=4), st.text(), st.booleans())
def test_tables_hold_their_text(texts: list[list[str]], caption: str, bold: bool) -> None:
    head, *rows = texts
    cells = [[Cell(text, note=caption, link="x" * (not bold), bold=bold) for text in row] for row in rows]
    page = Page(render(TABLE, table=Table(caption, [list(map(Cell, head))], cells)))
    (table,) = page.tables
    assert table.caption == read_back(caption)
    assert table.rows == [[read_back(text) for text in row] for row in texts]
    assert table.bold == [[False] * 3] + [[bold and bool(text) for text in row] for row in rows]


def test_the_same_runs_give_the_same_page(runs: Path, page_file: Path, tmp_path: Path) -> None:
    write_report([runs], tmp_path / "again.html", "Several")
    pattern = re.compile(r"<time.*?</time>")
    old, new = (pattern.sub("", path.read_text(encoding="utf-8")) for path in (page_file, tmp_path / "again.html"))
    assert old == new
