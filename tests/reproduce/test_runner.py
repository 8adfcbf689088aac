"""Finished runs are kept, killed runs are resumed, failures are listed."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.reproduce.__main__ import main
from benchmarks.reproduce.estimate import format_duration, remaining
from benchmarks.reproduce.experiment import CONFIGS, Experiment
from benchmarks.reproduce.runs import Run
from gpvae.metrics.task_table import FILE_NAME, TaskTable
from gpvae.utils.locks import acquire, release

ROOT = CONFIGS.parent
TINY = Experiment("tiny", "toy", "toy_legs", "a test", {"data.num_tasks": 3}, seeds=1)
#: Enough iterations to be killed between them.
STEPS = {"model.hyperparameters": "train_always", "data.steps_per_epoch": 300, "checkpoint.every_n_steps": 20}
LONGER = Experiment("longer", "toy", "toy_legs", "a test", STEPS, seeds=1)
WRONG = Experiment("wrong", "toy", "toy_legs", "a test", {"model.num_inducing": -1}, seeds=1)


def stamps(folder: Path) -> dict[str, int]:
    """Modification time of each file of the runs."""
    return {str(path): path.stat().st_mtime_ns for path in (folder / "runs").rglob("*") if path.is_file()}


@pytest.mark.slow
def test_failures_are_listed_and_a_finished_run_is_not_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--folder", str(tmp_path)], [WRONG, TINY]) == 1
    output = capsys.readouterr().out
    assert "1 run(s) failed" in output
    assert "wrong, seed 1: exit code 1: error: " in output
    assert "tiny, seed 1: done" in output
    assert (tmp_path / "report.html").is_file()
    assert TaskTable.read(tmp_path / "runs" / "tiny" / "seed_1" / FILE_NAME).num_tasks == 3

    before = stamps(tmp_path)
    assert main(["--folder", str(tmp_path), "--only", "tiny"], [WRONG, TINY]) == 0
    assert stamps(tmp_path) == before
    assert "1 of 1 runs are finished" in capsys.readouterr().out


@pytest.mark.slow
def test_a_killed_run_is_resumed_from_its_last_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = (
        "import sys; from benchmarks.reproduce.__main__ import main; "
        "from tests.reproduce.test_runner import LONGER; sys.exit(main(sys.argv[1:], [LONGER]))"
    )
    words = [sys.executable, "-c", program, "--folder", str(tmp_path)]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True)
    last = tmp_path / "runs" / "longer" / "seed_1" / "checkpoints" / "last.ckpt"
    deadline = time.monotonic() + 300
    while not last.exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    run = Run(LONGER, 1, tmp_path.resolve())
    lock = run.log.with_suffix(".lock")
    free = acquire(lock, timeout=60)  # its process is not a child of this one and cannot be waited for
    assert free is not None
    release(lock, free)
    assert last.exists()
    assert not run.finished()
    assert run.next_words() == [*run.words, "--ckpt_path=last"]

    assert main(["--folder", str(tmp_path)], [LONGER]) == 0, capsys.readouterr().out
    assert run.finished()
    assert "--ckpt_path=last" in run.log.read_text().splitlines()[0]
    assert TaskTable.read(tmp_path / run.folder / FILE_NAME).num_tasks == 3
    assert not (tmp_path / "runs" / ".earlier").exists()


@pytest.mark.slow
def test_a_run_of_another_process_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(TINY, 1, tmp_path.resolve())
    results = tmp_path / run.folder / FILE_NAME
    for file in (run.log, results):
        file.parent.mkdir(parents=True)
        file.write_text("the other's")
    with run.log.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["--folder", str(tmp_path)], [TINY]) == 1
    assert "tiny, seed 1: FAILED, another process is carrying it out" in capsys.readouterr().out
    assert run.log.read_text() == results.read_text() == "the other's"
    assert not run.record.exists()


def test_a_run_with_other_options_is_not_finished(tmp_path: Path) -> None:
    run = Run(TINY, 1, tmp_path)
    run.write(seconds=3.0)
    (tmp_path / run.folder).mkdir(parents=True)
    (tmp_path / run.folder / FILE_NAME).touch()
    assert run.finished()
    assert Run(TINY, 1, tmp_path, pictures=True).finished()
    changed = Experiment("tiny", "toy", "toy_legs", "a test", {"data.num_tasks": 4}, seeds=1)
    assert not Run(changed, 1, tmp_path).finished()
    assert Run(changed, 1, tmp_path).next_words() == Run(changed, 1, tmp_path).words


def test_a_damaged_record_counts_as_missing(tmp_path: Path) -> None:
    run = Run(TINY, 1, tmp_path)
    run.write(seconds=3.0)
    for text in ("", "[]", '{"seconds": 3'):
        run.record.write_text(text)
        assert run.read() == {}
        assert not run.finished()
    assert not json.loads(json.dumps(run.read()))


def test_remaining_time_is_estimated_from_finished_runs(tmp_path: Path) -> None:
    done, same, other = Run(TINY, 1, tmp_path), Run(TINY, 2, tmp_path), Run(LONGER, 1, tmp_path)
    assert remaining([], [same, other]) == pytest.approx(60 * (TINY.minutes + LONGER.minutes))
    done.write(seconds=24.0)  # twice the estimate of the experiment
    assert remaining([done], [same]) == pytest.approx(24.0)
    assert remaining([done], [same, other]) == pytest.approx(24.0 + 2 * 60 * LONGER.minutes)
    assert remaining([done], [same, same], jobs=2) == pytest.approx(24.0)
    assert [format_duration(s) for s in (10, 120, 7260)] == ["less than a minute", "2 min", "2 h 01 min"]


def test_the_list_shows_experiments_and_finished_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--folder", str(tmp_path), "--list", "--only", "tin*"], [TINY, LONGER]) == 0
    output = capsys.readouterr().out
    assert "tiny" in output
    assert "0 of 1" in output
    assert "longer" not in output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [["--jobs", "0"], ["--seeds", "-1"], ["--only", "nothing"]])
def test_invalid_arguments_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words, [TINY])
    assert ended.value.code == 2
