"""The figure of skill by variable."""

import numpy as np

from callbacks.figures.skill import initial_and_final, skill_figure
from gpvae.metrics import Score, TaskTable
from tests.callbacks.figures.reading import points


def test_skill_is_the_mean_over_tasks_when_just_learnt_and_after_the_last() -> None:
    matrix = np.array([[1.0, np.nan, np.nan], [2.0, 3.0, np.nan], [4.0, 5.0, np.nan]])
    assert initial_and_final(matrix) == (2.0, 4.5)
    assert np.isnan(initial_and_final(np.full((2, 2), np.nan))).all()
    table = TaskTable()
    for variable, now in (("t2m", 3.0), ("tp", 5.0), ("u10", 1.5)):
        for metric in ("nlpd", "rmse"):
            table.add(Score(1, 1, metric, variable, 1.0))
            table.add(Score(2, 1, metric, variable, now))
            table.add(Score(2, 2, metric, variable, 2.0))
    figure = skill_figure(table, ", synthetic data", 40)
    assert figure.get_suptitle() == "Skill by variable, mean over tasks, synthetic data"
    assert len(figure.axes) == 2
    ax = figure.axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["tp", "t2m", "u10"]  # from below
    np.testing.assert_array_equal(points(ax, "just learnt")[:, 0], [1.5, 1.5, 1.5])
    np.testing.assert_array_equal(points(ax, "after the last task")[:, 0], [3.5, 2.5, 1.75])
