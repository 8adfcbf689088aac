"""Axes end at the bounds of a metric, outliers do not crowd the rest, and shades do not exaggerate."""

import math
from pathlib import Path

import numpy as np
import pytest

from gpvae.metrics import METRICS, Score, describe
from gpvae.metrics.task_table import FILE_NAME, TaskTable
from gpvae.report.arrange import arrange
from gpvae.report.charts import plot_single_tasks, plot_tasks_seen
from gpvae.report.groups import Entry
from gpvae.report.heat_maps import NUM_SHADES, heat_maps
from gpvae.report.page import write_report
from gpvae.report.palette import assign_styles
from gpvae.results.runs import find_run_folders, read_runs
from tests.report.made import config, write_run
from tests.report.reading import Page


def entry(folder: Path, metric: str, low: float, high: float) -> Entry:
    """A method with scores from a range, both ends among them."""
    run = write_run(folder / "toy" / "seed_0", 0, config())
    table = TaskTable()
    values = iter(np.linspace(low, high, 9))
    for after in range(1, 4):
        table.add(Score(after, None, metric, "", next(values)))
        for task in range(1, after + 1):
            table.add(Score(after, task, metric, "", next(values)))
    table.write(run / FILE_NAME)
    ((group,),) = (data_set.groups for data_set in arrange(read_runs(find_run_folders([folder]))[0]))
    return group.entries[0]


@pytest.mark.parametrize("metric", ["accuracy", "coverage", "ece"])
def test_axes_end_at_the_bounds_of_the_metric(tmp_path: Path, metric: str) -> None:
    found = entry(tmp_path, metric, 0.0, 1.0)
    for draw in (plot_tasks_seen, plot_single_tasks):
        figure = draw([found], assign_styles([[found.identity]]), metric)
        assert figure is not None
        (ax,) = figure.axes
        least, most = describe(metric).bounds
        low, high = ax.spines["left"].get_bounds()
        assert least <= low < high <= most
        shown = [tick for tick in ax.get_yticks() if ax.get_ylim()[0] <= tick <= ax.get_ylim()[1]]
        assert least <= min(shown) <= max(shown) <= most


@pytest.mark.parametrize(("num_seeds", "drawn"), [(2, False), (3, True)])
def test_bands_need_three_seeds(tmp_path: Path, num_seeds: int, drawn: bool) -> None:
    for seed in range(num_seeds):
        write_run(tmp_path / "toy" / f"seed_{seed}", seed, config())
    ((group,),) = (data_set.groups for data_set in arrange(read_runs(find_run_folders([tmp_path]))[0]))
    figure = plot_tasks_seen(group.entries, assign_styles([[group.entries[0].identity]]), "nlpd")
    assert figure is not None
    (band,) = figure.axes[0].collections
    assert any(len(path.vertices) for path in band.get_paths()) == drawn


def test_axes_of_nlpd_have_no_bounds(tmp_path: Path) -> None:
    found = entry(tmp_path, "nlpd", -1.0, 2.0)
    figure = plot_tasks_seen([found], assign_styles([[found.identity]]), "nlpd")
    assert figure is not None
    low, high = figure.axes[0].get_ylim()
    assert low < -1.0
    assert high > 1.0


@pytest.mark.parametrize(
    ("metric", "scores", "cut"),
    [
        ("ece", [0.048, 0.051, 0.048, 0.052, 0.035, 0.1], False),  # most are alike, and the end is what counts
        ("nlpd", [-0.6, -0.6, -0.9, -1.0, -0.8, -0.9, 0.4, 1.4], False),  # one method forgets
        ("nlpd", [-2.6, -2.5, -2.4, -2.0, 1.0, 77.0], True),  # one method diverges
        ("nlpd", [0.3, 0.3, 0.3, math.inf], True),
    ],
)
def test_only_what_would_crowd_the_rest_is_cut_off(tmp_path: Path, metric: str, scores: list[float], cut: bool) -> None:
    run = write_run(tmp_path / "toy" / "seed_0", 0, config(data_num_tasks=len(scores)))
    table = TaskTable()
    for after, score in enumerate(scores, start=1):
        table.add(Score(after, None, metric, "", score))
    table.write(run / FILE_NAME)
    ((group,),) = (data_set.groups for data_set in arrange(read_runs(find_run_folders([tmp_path]))[0]))
    (found,) = group.entries
    figure = plot_tasks_seen([found], assign_styles([[found.identity]]), metric)
    assert figure is not None
    low, high = figure.axes[0].get_ylim()
    assert low < min(scores)
    assert (high < max(scores)) == cut


@pytest.mark.parametrize(
    ("num_tasks", "title"), [(5, "NLPD of single tasks:"), (10, "NLPD of tasks 1, 2, 4 and 8 of 10:")]
)
def test_the_page_says_which_tasks_it_shows_one_by_one(tmp_path: Path, num_tasks: int, title: str) -> None:
    write_run(tmp_path / "runs" / "toy" / "seed_0", 0, config(data_num_tasks=num_tasks), num_tasks=num_tasks)
    write_report([tmp_path / "runs"], tmp_path / "page.html")
    assert f"{title} just learnt (hollow)" in Page((tmp_path / "page.html").read_text()).text


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("share", "brightest"), [(0.1, 0.1), (3.0, 1.0)])
def test_a_tiny_range_has_few_shades(tmp_path: Path, metric: str, share: float, brightest: float) -> None:
    found = entry(tmp_path, metric, 0.9, 0.9 + share * describe(metric).resolution)
    (drawn,) = heat_maps([found], metric)
    shades = [cell.shade for row in drawn.rows for cell in row if cell.shade is not None]
    assert len(shades) == 6
    assert max(shades) - min(shades) <= round(brightest * (NUM_SHADES - 1)) + 1
    if share > 1:
        assert max(shades) == NUM_SHADES - 1
