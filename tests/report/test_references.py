"""What has no inducing variables is shown beside what has, on the same data."""

from pathlib import Path

import pytest

from gpvae.metrics import Score
from gpvae.metrics.task_table import FILE_NAME, TaskTable
from gpvae.report.page import write_report
from tests.report.made import config, write_run
from tests.report.reading import Page


@pytest.fixture
def page(tmp_path: Path) -> Page:
    """Two methods, another M, and a model without M that was scored at the end only and is better than all."""
    write_run(tmp_path / "runs" / "few" / "seed_0", 0, config("OVC", 15))
    write_run(tmp_path / "runs" / "other" / "seed_0", 0, config("OHSGPR", 15))
    write_run(tmp_path / "runs" / "many" / "seed_0", 0, config("OVC", 30))
    settings = config("Renewal")
    del settings["model"]["init_args"]["num_inducing"]
    folder = write_run(tmp_path / "runs" / "renewal" / "seed_0", 0, settings)
    table = TaskTable()
    table.add(Score(3, None, "nlpd", "", -100.0))
    for task in (1, 2, 3):
        table.add(Score(3, task, "nlpd", "", -100.0))
    table.write(folder / FILE_NAME)
    write_report([tmp_path / "runs"], tmp_path / "page.html")
    return Page((tmp_path / "page.html").read_text())


def test_a_reference_is_a_row_of_every_section(page: Page) -> None:
    titles = [text for level, text in page.headings if level == 3]
    assert titles == ["Solar irradiance, M = 15", "Solar irradiance, M = 30"]
    few, many = page.tables_called("After the last task")
    assert [row[0] for row in few.rows[2:]] == ["OVC", "OHSGPR", "Renewal"]
    assert [row[0] for row in many.rows[2:]] == ["OVC", "Renewal"]
    assert few.rows[-1][3:] == ["-100.0000", "–", "–", "–"]
    assert "4 experiments, 4 runs" in page.text


def test_it_is_no_contender(page: Page) -> None:
    few, many = page.tables_called("After the last task")
    assert not any(few.bold[-1])
    assert any(any(row) for row in few.bold)
    assert not any(any(row) for row in many.bold)  # one contender


def test_nothing_empty_is_shown(page: Page) -> None:
    assert not [table.caption for table in page.tables if table.caption.startswith("Renewal: ")]
    assert not page.tables_called("Seconds")


def test_columns_without_a_number_are_left_out(tmp_path: Path) -> None:
    write_run(tmp_path / "toy" / "seed_0", 0, config(data_num_tasks=1), num_tasks=1, metrics=("nlpd",))
    write_report([tmp_path], tmp_path / "page.html")
    (table,) = Page((tmp_path / "page.html").read_text()).tables_called("After the last task")
    assert table.rows[0] == ["OHSGPR", "all tasks"]  # nothing can have been forgotten
    assert table.caption == "After the last task, on seed 0. 1 task."
