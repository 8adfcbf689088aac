"""A run has the times that it has measured, or the reason why they cannot be read."""

from pathlib import Path

import pytest

from gpvae.results.runs import Run, read_runs
from gpvae.results.task_times import FILE_NAME
from tests.report.made import write_run, write_times


def read(folder: Path) -> Run:
    (run,), left_out = read_runs([folder])
    assert not left_out
    return run


def test_seconds_come_back_by_task_and_activity(tmp_path: Path) -> None:
    seconds = write_times(write_run(tmp_path, num_tasks=4), num_tasks=4)
    assert (read(tmp_path).times, read(tmp_path).times_error) == (seconds, "")


def test_a_run_without_the_file(tmp_path: Path) -> None:
    assert (read(write_run(tmp_path)).times, read(tmp_path).times_error) == (None, f"there is no {FILE_NAME}")


@pytest.mark.parametrize("num_tasks", [2, 4])
def test_tasks_must_be_those_of_the_scores(tmp_path: Path, num_tasks: int) -> None:
    write_times(write_run(tmp_path), num_tasks)
    run = read(tmp_path)
    assert run.times is None
    tasks = ", ".join(map(str, range(1, num_tasks + 1)))
    assert run.times_error == f"{FILE_NAME}: expected the tasks 1 to 3; got {tasks}"


@pytest.mark.parametrize("kept", [0, 5, 30, 50, 80])
def test_a_file_that_is_cut_off(tmp_path: Path, kept: int) -> None:
    write_times(write_run(tmp_path))
    file = tmp_path / FILE_NAME
    assert len(file.read_bytes()) > 100
    file.write_bytes(file.read_bytes()[:kept])
    run = read(tmp_path)
    assert run.times is None
    assert run.times_error.startswith(FILE_NAME)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("3,-1.0,0,0,0", "line 4: expected seconds, at least 0; got -1.0"),
        ("3,nan,0,0,0", "line 4: expected seconds, at least 0; got nan"),
        ("3,1,inf,0,0", "line 4: expected seconds, at least 0; got inf"),
        ("3,1,much,0,0", "line 4: could not convert string to float: 'much'"),
        ("x,1,0,0,0", "line 4: invalid literal for int"),
        ("3,1,0,0", "line 4: zip"),
    ],
)
def test_a_damaged_row(tmp_path: Path, row: str, reason: str) -> None:
    write_times(write_run(tmp_path), num_tasks=2)
    with (tmp_path / FILE_NAME).open("a") as file:
        file.write(f"{row}\n")
    run = read(tmp_path)
    assert run.times is None
    assert run.times_error.startswith(f"{FILE_NAME}, {reason}")


@pytest.mark.parametrize("content", [b"\xff" * 100, b"task,learning\n1,2\n", b'"' + b"x" * 200_000], ids=len)
def test_another_file(tmp_path: Path, content: bytes) -> None:
    write_run(tmp_path)
    (tmp_path / FILE_NAME).write_bytes(content)
    run = read(tmp_path)
    assert run.times is None
    assert (
        "expected the columns task,learning,scoring,drawing,saving" in run.times_error
        or "field limit" in run.times_error
    )


def test_the_reason_does_not_name_folders_of_the_machine(tmp_path: Path) -> None:
    (write_run(tmp_path) / FILE_NAME).mkdir()
    run = read(tmp_path)
    assert run.times is None
    assert FILE_NAME in run.times_error
    assert str(tmp_path) not in run.times_error
