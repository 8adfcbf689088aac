"""The results of a run, and how to reproduce them."""

import csv
import shutil
from pathlib import Path

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import Tensor

from gpvae.modules import StreamingGP
from tests.cli.program import assert_same, run, run_here, weights, write_config

RUN = Path("runs/small/seed_3")
METRICS = ["nlpd", "rmse", "crps", "ece"]
SKILLS = ["skill_persistence", "skill_variance"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the installed program has learnt three tasks, free-form, with figures."""
    folder = tmp_path_factory.mktemp("run")
    model = {"method": "OHSVGP", "hyperparameters": "fit_first_task", "lengthscale": None, "noise": None}
    data = {"steps_per_epoch": 20, "batch_size": 8}
    write_config(folder, model=model, data=data, figures={"dpi": 20, "num_points": 20})
    result = run(folder, "fit", "-c", "small.yaml")
    assert result.returncode == 0, result.stderr
    assert "NLPD on each task, after each task" in result.stdout
    assert "Logs, scores and checkpoints are in runs/small/seed_3" in result.stdout
    return folder


def scores(file: Path) -> dict[tuple[str, ...], float]:
    with file.open() as rows:
        return {
            (row["after_task"], row["task"], row["metric"]): float(row["value"])
            for row in csv.DictReader(rows)
            if not row["variable"]
        }


def test_every_task_is_scored_after_every_task(folder: Path) -> None:
    tasks = {"1": ("1", ""), "2": ("1", "2", ""), "3": ("1", "2", "3", "")}
    expected = {(after, task, metric) for after in tasks for task in tasks[after] for metric in (*METRICS, *SKILLS)}
    found = scores(folder / RUN / "task_metrics.csv")
    assert found.keys() == expected
    assert all(torch.isfinite(torch.tensor(list(found.values()))))


def test_tensorboard(folder: Path) -> None:
    events = EventAccumulator(str(folder / RUN), size_guidance={"images": 0, "scalars": 0}).Reload()
    scalars = {tag: events.Scalars(tag) for tag in events.Tags()["scalars"]}
    steps = {tag: [event.step for event in found] for tag, found in scalars.items()}
    for metric in (*METRICS, *SKILLS):
        for task in (1, 2, 3):
            assert steps[f"{metric}/task_{task:02d}"] == list(range(task, 4))
        assert steps[f"{metric}/seen"] == [1, 2, 3]
        assert steps[f"{metric}/forgetting"] == steps[f"{metric}/backward_transfer"] == [2, 3]
    assert steps["bound"] == steps["memory/numbers"] == [1, 2, 3]
    assert len({event.value for event in scalars["memory/numbers"]}) == 1  # it does not grow with the stream
    assert steps["foresight_coverage/all"] == steps["foresight_skill_persistence/1-6"] == [2, 3]
    assert steps["train/loss"] == [9, 19, 29, 39, 49, 59]
    table = scores(folder / RUN / "task_metrics.csv")
    logged = {after: event.value for after, event in zip([2, 3], scalars["nlpd/task_02"], strict=True)}
    assert logged == pytest.approx({after: table[str(after), "2", "nlpd"] for after in (2, 3)}, rel=1e-6)
    images = {tag: [event.step for event in events.Images(tag)] for tag in events.Tags()["images"]}
    assert images.keys() == {"stream", "foresight", *(f"forgetting/{metric}" for metric in METRICS)}
    assert all(steps == [3] for steps in images.values())  # drawn after the last task


def test_figures(folder: Path) -> None:
    names = {path.name for path in (folder / RUN / "figures").iterdir()}
    forgetting = (f"forgetting_{metric}.png" for metric in METRICS)
    assert names == {"stream_03.png", *forgetting, "foresight.png"}
    assert all((folder / RUN / "figures" / name).read_bytes().startswith(b"\x89PNG") for name in names)


def test_checkpoints_answer_without_data(folder: Path) -> None:
    checkpoints = folder / RUN / "checkpoints"
    names = {path.name for path in checkpoints.iterdir()}
    assert names == {"task_01.ckpt", "task_02.ckpt", "task_03.ckpt", "last.ckpt"}
    assert_same(weights(checkpoints / "task_03.ckpt"), weights(checkpoints / "last.ckpt"))
    x = torch.linspace(0, 1, 5, dtype=torch.float64)[:, None]
    first, last = (
        StreamingGP.load_from_checkpoint(checkpoints / name, weights_only=True)
        for name in ("task_01.ckpt", "last.ckpt")
    )
    assert (int(first.learned), int(last.learned)) == (1, 3)
    with torch.no_grad():
        means: list[Tensor] = [module.predict(x).mean for module in (first, last)]
    assert all(bool(torch.isfinite(mean).all()) for mean in means)
    assert not torch.equal(*means)


def test_the_saved_config_reproduces_the_run(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / RUN / "config.yaml", tmp_path / "any_name.yaml")
    run_here(tmp_path, "fit", "-c", "any_name.yaml", "--figures.enabled", "false")
    assert (tmp_path / RUN / "task_metrics.csv").read_bytes() == (folder / RUN / "task_metrics.csv").read_bytes()
    assert_same(*(weights(root / RUN / "checkpoints" / "last.ckpt") for root in (tmp_path, folder)))


@pytest.mark.parametrize("command", ["validate", "test"])
def test_evaluation_gives_the_numbers_of_the_table(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path for path in folder.rglob("*"))
    run_here(folder, command, "-c", "small.yaml", "--ckpt_path", "last")
    text = capsys.readouterr().out
    for (after, task, metric), value in scores(folder / RUN / "task_metrics.csv").items():
        if after == "3" and task and metric in METRICS:
            (line,) = [line for line in text.splitlines() if f" {metric}/task_{task:>02} " in line]
            assert float(line.split("│")[2]) == pytest.approx(value, rel=1e-9)
    assert sorted(path for path in folder.rglob("*")) == before


def test_a_new_run_moves_the_earlier_one(tmp_path: Path) -> None:
    write_config(tmp_path)
    run_here(tmp_path, "fit", "-c", "small.yaml")
    table = (tmp_path / RUN / "task_metrics.csv").read_bytes()
    (tmp_path / RUN / "note.txt").write_text("of the first run")
    run_here(tmp_path, "fit", "-c", str(RUN / "config.yaml"))
    assert not (tmp_path / RUN / "note.txt").exists()
    (moved,) = (tmp_path / "runs" / ".earlier" / "small").iterdir()
    assert (moved / "note.txt").exists()
    assert (moved / "task_metrics.csv").read_bytes() == (tmp_path / RUN / "task_metrics.csv").read_bytes() == table
    run_here(tmp_path, "fit", "-c", "small.yaml", "--seed_everything", "4")
    assert (tmp_path / "runs" / "small" / "seed_4" / "task_metrics.csv").read_bytes() != table
    run_here(tmp_path, "fit", "-c", "small.yaml", "--name", "twin")
    assert (tmp_path / "runs" / "twin" / "seed_3" / "task_metrics.csv").read_bytes() == table


def test_a_stream_can_be_stopped_and_resumed(tmp_path: Path) -> None:
    write_config(tmp_path, data={"batch_size": 6})
    run_here(tmp_path, "fit", "-c", "small.yaml", "--name", "whole")
    run_here(tmp_path, "fit", "-c", "small.yaml", "--data.stop_after", "1")
    assert {after for after, _, _ in scores(tmp_path / RUN / "task_metrics.csv")} == {"1"}
    run_here(tmp_path, "fit", "-c", "small.yaml", "--ckpt_path", "last")
    whole = tmp_path / "runs" / "whole" / "seed_3"
    assert (tmp_path / RUN / "task_metrics.csv").read_bytes() == (whole / "task_metrics.csv").read_bytes()
    run_here(tmp_path, "fit", "-c", "small.yaml", "--ckpt_path", "last")  # nothing remains to be done
    assert (tmp_path / RUN / "task_metrics.csv").read_bytes() == (whole / "task_metrics.csv").read_bytes()


@pytest.mark.parametrize(
    "args", [["enable_progress_bar", "false"], ["callbacks", "TQDMProgressBar"]], ids=["none", "own"]
)
def test_progress_bars_other_than_ours(args: list[str], tmp_path: Path) -> None:
    write_config(tmp_path)
    run_here(tmp_path, "fit", "-c", "small.yaml", "--data.stop_after", "1", f"--trainer.{args[0]}", args[1])
    assert (tmp_path / RUN / "task_metrics.csv").exists()
