"""Every number of the page is one that `gpvae summary` gives, or `task_metrics.csv` holds."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from gpvae.metrics import describe
from gpvae.report.heat_maps import MAX_TASKS, tasks_to_show
from gpvae.report.tables import best_rows, format_times
from gpvae.results.experiments import Experiment, Interval, mean_interval
from gpvae.results.summary import summarise
from gpvae.results.terminal import format_short
from tests.report.made import SECONDS
from tests.report.reading import Page, Table

#: The experiments of each table of scores, as the page has them in order.
GROUPS = [["moons"], ["solar_OVC", "solar_OHSGPR"], ["solar_150"]]


@pytest.fixture(scope="module")
def experiments(runs: Path) -> dict[str, Experiment]:
    return {experiment.name: experiment for experiment in summarise([runs])}


def ends(experiment: Experiment, metrics: list[str]) -> list[str]:
    """What a row of the table should say."""
    end = experiment.num_tasks
    pairs = [(experiment.scores[end, None, metric, ""], experiment.forgetting[metric, ""]) for metric in metrics]
    return [str(cell) for pair in pairs for cell in pair]


def test_scores_are_those_of_the_summary(page: Page, experiments: dict[str, Experiment]) -> None:
    tables = page.tables_called("After the last task")
    assert len(tables) == len(GROUPS)
    for table, names in zip(tables, GROUPS, strict=True):
        if len(names) == 1:  # a score in each row
            experiment = experiments[names[0]]
            assert table.rows[0][1:] == ["all tasks", "forgetting"]
            assert [row[0] for row in table.rows[1:]] == [describe(metric).label for metric in experiment.metrics]
            assert [cell for row in table.rows[1:] for cell in row[1:]] == ends(experiment, experiment.metrics)
            assert f" {experiment.num_tasks} tasks." in table.caption
            continue
        body = table.rows[2:]
        assert len(body) == len(names)
        for row, name in zip(body, names, strict=True):
            experiment = experiments[name]
            assert row[1:3] == [str(len(experiment.runs)), str(experiment.num_tasks)]
            assert row[3:] == ends(experiment, experiment.metrics)


def test_one_best_of_each_column(page: Page, experiments: dict[str, Experiment]) -> None:
    _, table, _ = page.tables_called("After the last task")
    rivals = [experiments[name] for name in GROUPS[1]]
    for column, (metric, forgetting) in enumerate(product(("nlpd", "rmse"), (False, True)), start=3):
        cells = [e.forgetting[metric, ""] if forgetting else e.scores[3, None, metric, ""] for e in rivals]
        means = [cell.mean for cell in cells]
        assert [bold[column] for bold in table.bold[2:]] == [mean == min(means) for mean in means]
    alone = page.tables_called("After the last task")[2]
    assert not any(any(row) for row in alone.bold)


@pytest.mark.parametrize(
    ("metric", "values", "best"),
    [
        ("nlpd", [1.0, 0.5, 0.5], {1, 2}),
        ("accuracy", [0.1, 0.9, np.nan], {1}),
        ("coverage", [0.5, 0.95, 1.0], {1}),
        ("rmse", [np.nan, 1.0], set()),
    ],
)
def test_what_is_best(metric: str, values: list[float], best: set[int]) -> None:
    assert best_rows([Interval(value, np.nan, np.nan, 1) for value in values], metric, False) == best
    assert best_rows([None, None], metric, False) == set()


def heat_map(page: Page, label: str, metric: str, group: int) -> Table:
    """Forgetting matrices come in the order of the groups."""
    return page.tables_called(f"{label}: {describe(metric).label} of each task (across)")[group]


@pytest.mark.parametrize("metric", ["nlpd", "rmse"])
@pytest.mark.parametrize(("label", "name", "group"), [("OVC", "solar_OVC", 0), ("OVC", "solar_150", 1)])
def test_forgetting_matrices_are_the_means(
    page: Page, experiments: dict[str, Experiment], metric: str, label: str, name: str, group: int
) -> None:
    table = heat_map(page, label, metric, group)
    assert table.rows[0] == ["after", "1", "2", "3"]
    for after, row in enumerate(table.rows[1:], start=1):
        scores = experiments[name].scores
        known = [format_short(scores[after, task, metric, ""].mean) for task in range(1, after + 1)]
        assert row == [str(after), *known, *[""] * (3 - after)]


def test_times_are_those_of_the_runs_without_drawing(page: Page) -> None:
    (table,) = page.tables_called("Seconds")  # of the only group that has any
    learning, scoring, saving = ([SECONDS[of] * task for task in (1, 2, 3)] for of in ("learning", "scoring", "saving"))
    expected = [learning[0], sum(learning) / 3, sum(learning), sum(scoring), sum(saving)]
    assert len(table.rows) == 3
    for row in table.rows[1:]:
        assert row[1:] == [
            *[f"{format_short(value)} ({format_short(value)} – {format_short(value)})" for value in expected],
            "3 of 3",
        ]
    assert "solar_150/seed_0: there is no task_times.csv" in page.text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [([], "–"), ([2.0], "2.00"), ([1.0, 100.0, 2.0], "2.00 (1.00 – 100)"), ([1.0, 2.0], "1.50 (1.00 – 2.00)")],
)
def test_times_are_medians_with_their_range(seconds: list[float], text: str) -> None:
    assert format_times(seconds) == text


def test_a_long_stream_is_shown_in_part() -> None:
    assert tasks_to_show(3) == [1, 2, 3]
    assert tasks_to_show(1) == [1]
    many = tasks_to_show(500)
    assert (len(many), many[0], many[-1]) == (MAX_TASKS, 1, 500)


def test_infinite_scores_have_no_interval() -> None:
    with np.errstate(invalid="ignore"):
        assert str(mean_interval([np.inf, 1.0])) == "inf"
