"""Times are those of the log, however long pictures took."""

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from gpvae.report.clock import between, task_seconds
from tests.report.made import write_log


def test_seconds_leave_pictures_out(tmp_path: Path) -> None:
    seconds = write_log(tmp_path, num_tasks=4)
    assert task_seconds(tmp_path, 4) == pytest.approx(seconds)


def test_as_tensorboard_reads_it(tmp_path: Path) -> None:
    write_log(tmp_path)
    log = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0, "images": 0})
    log.Reload()
    scored = {event.step: event.wall_time for event in log.Scalars("nlpd/seen")}
    drawn = [(event.step, event.wall_time) for event in log.Images("stream")]
    assert task_seconds(tmp_path, 3) == between(log.FirstEventTimestamp(), scored, drawn, 3)


def test_what_a_log_does_not_tell(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no TensorBoard log"):
        task_seconds(tmp_path, 1)
    write_log(tmp_path, num_tasks=2)
    with pytest.raises(ValueError, match="no scores after task 3"):
        task_seconds(tmp_path, 3)
    with pytest.raises(ValueError, match="run backwards"):
        between(5.0, {1: 4.0}, [], 1)


@pytest.mark.parametrize("kept", [0, 5, 30, 200])
def test_a_log_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path, kept: int) -> None:
    write_log(tmp_path)
    (file,) = tmp_path.glob("events*")
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(ValueError, match="no scores after task"):
        task_seconds(tmp_path, 3)


def test_a_damaged_log(tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.1").write_bytes(b"\x05" + bytes(11) + b"\xff" * 5 + bytes(4))
    with pytest.raises(ValueError, match="cannot be read"):
        task_seconds(tmp_path, 1)
    (tmp_path / "events.out.tfevents.1").write_bytes(b"\xff" * 100)
    with pytest.raises(ValueError, match="no scores after task 1"):
        task_seconds(tmp_path, 1)
