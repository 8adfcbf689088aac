import csv
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from gpvae.cli.summary_command import SummaryCommand
from gpvae.metrics import Score, TaskTable
from gpvae.results.experiments import mean_interval
from gpvae.results.summary import summarise

#: NLPD of three runs: [run, after_task, task].
NLPD = np.array([[[1.0, 0], [1.5, 2.0]], [[1.2, 0], [1.9, 2.2]], [[0.7, 0], [0.9, 1.6]]])


def write(folder: Path, scores: np.ndarray, metric: str = "nlpd") -> Path:
    table = TaskTable()
    for i, row in enumerate(scores, start=1):
        table.add(Score(i, None, metric, "", row[:i].mean()))
        for j in range(1, i + 1):
            table.add(Score(i, j, metric, "", row[j - 1]))
    table.write(folder / "task_metrics.csv")
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for seed, scores in enumerate(NLPD):
        write(tmp_path / "runs" / "toy" / f"seed_{seed}", scores)
    return tmp_path / "runs"


def by_hand(values: np.ndarray) -> tuple[float, float, float]:
    low, high = stats.t.interval(0.95, len(values) - 1, loc=values.mean(), scale=stats.sem(values))
    return values.mean(), low, high


def test_means_and_intervals_are_scipys(runs: Path) -> None:
    (toy,) = summarise([runs])
    assert (toy.name, toy.num_tasks, toy.metrics, len(toy.runs)) == ("toy", 2, ["nlpd"], 3)
    expected = {
        (1, 1, "nlpd", ""): NLPD[:, 0, 0],
        (2, 1, "nlpd", ""): NLPD[:, 1, 0],
        (2, 2, "nlpd", ""): NLPD[:, 1, 1],
        (1, None, "nlpd", ""): NLPD[:, 0, 0],
        (2, None, "nlpd", ""): NLPD[:, 1].mean(axis=1),
        ("nlpd", ""): NLPD[:, 1, 0] - NLPD[:, 0, 0],
    }
    found = {**toy.scores, **toy.forgetting}
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        interval = found[key]
        assert (interval.mean, interval.low, interval.high) == pytest.approx(by_hand(values), rel=1e-12)
        assert interval.runs == 3


def test_accuracy_that_falls_is_forgetting(tmp_path: Path) -> None:
    write(tmp_path / "moons" / "seed_0", np.array([[0.75, 0], [0.5, 1.0]]), metric="accuracy")
    (moons,) = summarise([tmp_path / "moons"])
    assert moons.forgetting["accuracy", ""].mean == 0.25


def test_one_run_has_no_interval(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    interval = mean_interval([2.0])
    assert interval.mean == 2
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    SummaryCommand().main([str(runs / "toy" / "seed_0")])
    shown = capsys.readouterr().out
    assert "1 run," in shown
    assert "1.7500" in shown
    assert "1.7500 ±" not in shown


def test_several_experiments_are_compared_row_by_row(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(runs / "other" / "seed_0", NLPD[0])
    SummaryCommand().main([str(runs)])
    (other,) = (line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["other"])
    score, forgetting = NLPD[0, 1].mean(), NLPD[0, 1, 0] - NLPD[0, 0, 0]
    assert other.split() == ["other", "1", "2", f"{score:.4f}", f"{forgetting:.4f}"]


def test_runs_are_found_once_each_and_hidden_ones_not_at_all(runs: Path) -> None:
    write(runs / "other" / "seed_0", NLPD[0])
    write(runs / ".old" / "seed_0", NLPD[0])
    file = runs / "toy" / "seed_0" / "task_metrics.csv"
    assert {experiment.name: len(experiment.runs) for experiment in summarise([runs, file])} == {"toy": 3, "other": 1}
    (toy,) = summarise([file, runs / "toy" / "seed_1"])
    assert len(toy.runs) == 2


def test_a_folder_above_that_is_hidden_does_not_matter(tmp_path: Path) -> None:
    write(tmp_path / ".cache" / "toy" / "seed_0", NLPD[0])
    assert len(summarise([tmp_path / ".cache" / "toy"])) == 1


def test_experiments_of_the_same_name_go_by_their_paths(tmp_path: Path) -> None:
    for place in ("a", "b"):
        write(tmp_path / place / "toy" / "seed_0", NLPD[0])
    assert [experiment.name for experiment in summarise([tmp_path])] == [str(tmp_path / x / "toy") for x in "ab"]


def test_shown(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    SummaryCommand().main([str(runs)])
    shown = capsys.readouterr().out
    mean, low, high = by_hand(NLPD[:, 1].mean(axis=1))
    assert "toy: 3 runs, after task 2" in shown
    assert f"{mean:.4f} ± {(high - low) / 2:.4f}" in shown
    assert "task 1" not in shown
    SummaryCommand().main([str(runs), "--tasks"])
    shown = capsys.readouterr().out
    mean, low, high = by_hand(NLPD[:, 1, 0])
    (line,) = [line for line in shown.splitlines() if line.strip().startswith("task 1")]
    assert line.split() == ["task", "1", f"{mean:.4f}", "±", f"{(high - low) / 2:.4f}"]


def test_csv_file(runs: Path, tmp_path: Path) -> None:
    SummaryCommand().main([str(runs), "--csv", str(tmp_path / "all.csv")])
    with (tmp_path / "all.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        *("experiment", "after_task", "task", "metric", "variable"),
        *("mean", "low", "high", "runs"),
    ]
    assert len(rows) == 6
    (row,) = [row for row in rows if (row["metric"], row["after_task"], row["task"]) == ("nlpd", "2", "1")]
    found = tuple(float(row[column]) for column in ("mean", "low", "high"))
    assert found == pytest.approx(by_hand(NLPD[:, 1, 0]), rel=1e-12)
    assert (row["experiment"], row["runs"]) == ("toy", "3")


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as exit_info:
        SummaryCommand().main(arguments)
    assert exit_info.value.code == 1
    return capsys.readouterr().err


def test_nothing_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = "expected <experiment>/seed_<n>/task_metrics.csv somewhere in it"
    assert f"no run in {tmp_path}: {expected}" in refused([str(tmp_path)], capsys)
    assert "there is no " in refused([str(tmp_path / "none")], capsys)


@pytest.mark.parametrize("line", ["2,1,nlpd,,many", "2,1,nlpd,", "x,1,nlpd,,0.5", "1,2,nlpd,,0.5", "0,,nlpd,,0.5", ""])
def test_malformed_lines_are_named(runs: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    file = runs / "toy" / "seed_1" / "task_metrics.csv"
    file.write_text("after_task,task,metric,variable,value\n1,1,nlpd,,0.5\n" + line + "\n")
    assert f"{file}, line 3: " in refused([str(runs)], capsys)


@pytest.mark.parametrize("line", ["2,1,nlpd,many", "2,1,nlpd", "x,1,nlpd,0.5", "1,2,nlpd,0.5", ""])
def test_malformed_lines_of_the_old_layout_are_named(runs: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    file = runs / "toy" / "seed_1" / "task_metrics.csv"
    file.write_text("after_task,task,metric,value\n1,1,nlpd,0.5\n" + line + "\n")
    assert f"{file}, line 3: " in refused([str(runs)], capsys)


def test_files_of_the_old_layout_are_read(tmp_path: Path) -> None:
    file = tmp_path / "task_metrics.csv"
    file.write_text("after_task,task,metric,value\n2,1,nlpd:t2m,0.5\n2,2,nlpd_seen,1.5\n2,2,nlpd_seen:t2m,2.5\n")
    expected = [(2, 1, "nlpd", "t2m", 0.5), (2, None, "nlpd", "", 1.5), (2, None, "nlpd", "t2m", 2.5)]
    assert TaskTable.read(file).rows() == expected
    TaskTable.read(file).write(file)
    assert TaskTable.read(file).rows() == expected


def test_other_files_are_refused(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = runs / "toy" / "seed_1" / "task_metrics.csv"
    file.write_bytes(b"\xff\xfe\x00nonsense")
    assert f"{file}, line 1: expected the columns" in refused([str(runs)], capsys)
    file.write_text("after_task,task,metric,value\n")
    assert f"{file} holds no scores yet" in refused([str(runs)], capsys)


def test_unfinished_runs_are_named(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(runs / "toy" / "seed_2", NLPD[2][:1])
    error = refused([str(runs)], capsys)
    assert "runs of toy ended at different tasks" in error
    assert "seed_1 after task 2, seed_2 after task 1" in error


def test_a_table_survives_its_file(tmp_path: Path) -> None:
    table = TaskTable()
    table.add(Score(1, 1, "nlpd", "", 0.1 + 0.2))
    table.add(Score(2, 1, "nlpd", "", 1e-300))
    table.write(tmp_path / "new" / "task_metrics.csv")
    assert TaskTable.read(tmp_path / "new" / "task_metrics.csv").scores == table.scores
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["task_metrics.csv"]


def test_variables_are_shown_when_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = TaskTable()
    for after_task, task, value in ((1, 1, 1.0), (2, 1, 1.5), (2, 2, 2.0)):
        for variable, factor in (("", 1), ("t2m", 2), ("tp", 3)):
            table.add(Score(after_task, task, "nlpd", variable, factor * value))
            table.add(Score(after_task, None, "nlpd", variable, factor * value))
    table.write(tmp_path / "era5" / "seed_1" / "task_metrics.csv")
    SummaryCommand().main([str(tmp_path), "--csv", str(tmp_path / "few.csv")])
    assert "t2m" not in capsys.readouterr().out + (tmp_path / "few.csv").read_text()
    assert summarise([tmp_path])[0].metrics == ["nlpd"]
    SummaryCommand().main([str(tmp_path), "--variables", "--csv", str(tmp_path / "all.csv")])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["all", "seen", "2.0000"] in lines
    assert ["t2m", "4.0000", "1.0000"] in lines
    assert ["tp", "6.0000", "1.5000"] in lines
    assert "era5,2,1,nlpd,t2m,3.0," in (tmp_path / "all.csv").read_text()
