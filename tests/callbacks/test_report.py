import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from torch.utils.data import DataLoader

from callbacks.report import TaskReport
from tests.callbacks.learner import ACCURACY, NLPD, Learner, learn

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),  # advice for real loaders
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),  # Lightning 2.6 with torch 2.13
]


def read(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_the_csv_file_holds_every_score_to_the_last_digit(tmp_path: Path) -> None:
    learn(tmp_path, TaskReport(print_table=False))
    path = tmp_path / "run" / "task_metrics.csv"
    assert path.read_text().splitlines()[0] == "after_task,task,metric,variable,value"
    rows = read(path)
    found = {(int(row["after_task"]), row["task"], row["metric"]): float(row["value"]) for row in rows}
    assert len(found) == len(rows) == 2 * (6 + 3)
    for name, scores in (("nlpd", NLPD), ("accuracy", ACCURACY)):
        for i in range(3):
            assert found[i + 1, "", name] == scores[i, : i + 1].mean()
            for j in range(i + 1):
                assert found[i + 1, str(j + 1), name] == scores[i, j]
    assert sorted(path.name for path in path.parent.iterdir()) == ["metrics.csv", "task_metrics.csv"]


def test_matrix_has_all_scores(tmp_path: Path) -> None:
    report = TaskReport(print_table=False)
    learn(tmp_path, report)
    assert report.metrics == ["nlpd", "accuracy"]
    above = np.triu(np.ones((3, 3), dtype=bool), k=1)
    np.testing.assert_array_equal(report.matrix("nlpd"), np.where(above, np.nan, NLPD))


def test_forgetting_is_logged_from_the_second_task_on_to_every_logger(tmp_path: Path) -> None:
    learn(tmp_path, TaskReport(print_table=False))
    for folder in ("run", "other"):
        rows = [row for row in read(tmp_path / folder / "metrics.csv") if row["nlpd/forgetting"]]
        assert [int(row["step"]) for row in rows] == [2, 3]
        assert [float(row["nlpd/forgetting"]) for row in rows] == [0.5, np.mean([2.0 - 1.0, 2.25 - 2.0])]
        assert [float(row["nlpd/backward_transfer"]) for row in rows] == [-0.5, -0.625]
        assert [float(row["accuracy/forgetting"]) for row in rows] == [0.25, 0.125]


def test_new_rows_replace_old_ones_and_later_rows_are_dropped(tmp_path: Path) -> None:
    report = TaskReport(print_table=False)
    learn(tmp_path / "a", report)
    learn(tmp_path / "b", report)
    once, twice = ((tmp_path / x / "run" / "task_metrics.csv").read_text() for x in "ab")
    assert once == twice
    learn(tmp_path / "c", report, num_tasks=2, module=Learner({"nlpd": NLPD + 1, "accuracy": ACCURACY}))
    assert report.matrix("nlpd").shape == (2, 2)
    assert report.matrix("nlpd")[1, 0] == 2.5


def test_a_resumed_run_continues_the_rows_of_the_checkpoint(tmp_path: Path) -> None:
    first, second = TaskReport(print_table=False), TaskReport(print_table=False)
    trainer = learn(tmp_path / "a", first, num_tasks=2)
    trainer.save_checkpoint(tmp_path / "two.ckpt")
    learn(tmp_path / "b", second, num_tasks=3, ckpt_path=tmp_path / "two.ckpt")
    whole = TaskReport(print_table=False)
    learn(tmp_path / "c", whole)
    resumed, at_once = ((tmp_path / x / "run" / "task_metrics.csv").read_text() for x in "bc")
    assert resumed == at_once


def test_state_has_plain_values(tmp_path: Path) -> None:
    report, copy = TaskReport(print_table=False), TaskReport()
    learn(tmp_path, report)
    torch.save(report.state_dict(), tmp_path / "state.pt")
    copy.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert copy.state_dict() == report.state_dict()
    assert len(copy.state_dict()["value"]) == 18
    np.testing.assert_array_equal(copy.matrix("accuracy"), report.matrix("accuracy"))


def test_validation_within_a_task_is_not_a_score_after_one(tmp_path: Path) -> None:
    module = Learner({"nlpd": NLPD})
    module.late = True
    report = TaskReport()
    learn(tmp_path, report, module=module)
    assert report.metrics == []
    assert not (tmp_path / "run" / "task_metrics.csv").exists()


def test_validating_alone_reports_nothing(tmp_path: Path) -> None:
    report, module = TaskReport(), Learner({"nlpd": NLPD})
    module.begun = 1
    trainer = Trainer(
        accelerator="cpu", logger=False, callbacks=[report], enable_progress_bar=False, default_root_dir=tmp_path
    )
    trainer.validate(module, DataLoader(torch.zeros(1)), verbose=False)
    assert int(module.learned) == 1
    assert report.metrics == []


def test_the_table_of_ten_tasks_fits_eighty_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = -np.arange(100.0).reshape(10, 10) * 1.234567
    learn(tmp_path, TaskReport(), num_tasks=10, module=Learner({"nlpd": scores, "rmse": scores}))
    shown = capsys.readouterr().out
    table = shown[: shown.index("Logs")]
    assert max(len(line.rstrip()) for line in table.splitlines()) <= 80
    last = next(line for line in table.splitlines() if "after 10" in line).split()
    assert last[2:5] == ["-111", "-112", "-114"]
    assert len(last) == 2 + 10 + 1
    assert "forgetting" in shown
    assert "backward transfer" in shown
    assert str(tmp_path / "run") in shown


def test_the_numbers_of_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learn(tmp_path, TaskReport())
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["after", "1", "1.00", "1.00"] in lines
    assert ["after", "2", "1.50", "2.00", "1.75"] in lines
    assert ["after", "3", "2.00", "2.25", "0.33", "1.53"] in lines
    assert ["nlpd", "1.5278", "+0.6250", "-0.6250"] in lines
    assert ["accuracy", "0.8333", "+0.1250", "-0.1250"] in lines


def test_too_many_tasks_for_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = TaskReport()
    report.load_state_dict({"after_task": [30], "task": [1], "metric": ["nlpd"], "value": [1.0]})
    report.on_fit_end(Trainer(accelerator="cpu", logger=False, default_root_dir=tmp_path), LightningModule())
    assert "30 tasks, too many for a table here" in capsys.readouterr().out
