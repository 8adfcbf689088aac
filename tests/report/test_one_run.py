"""A page about a single run says nothing of seeds and methods that it does not have."""

from pathlib import Path

import pytest

from gpvae.report.page import write_report
from tests.report.made import config, write_run, write_times
from tests.report.reading import Page


@pytest.fixture
def page(tmp_path: Path) -> Page:
    write_times(write_run(tmp_path / "toy" / "seed_4", 4, config()))
    write_report([tmp_path / "toy" / "seed_4"], tmp_path / "page.html")
    return Page((tmp_path / "page.html").read_text())


def test_nothing_is_compared(page: Page) -> None:
    for words in ("all methods", "median over seeds", "95 %", "Student", "Bold", "1 of 1 run"):
        assert words not in page.text
    assert "nav" not in {tag for tag, _ in page.elements}
    assert not any(attributes.get("class") == "legend" for _, attributes in page.elements)


def test_numbers_are_below_each_other(page: Page) -> None:
    (scores,), (times,) = page.tables_called("After the last task"), page.tables_called("Seconds.")
    assert scores.rows[0] == ["OHSGPR", "all tasks", "forgetting"]
    assert [row[0] for row in scores.rows[1:]] == ["NLPD", "RMSE"]
    assert times.rows[0] == ["", "OHSGPR"]
    assert times.rows[1] == ["Learning: first task", "2.50"]
