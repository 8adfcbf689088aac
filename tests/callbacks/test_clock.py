"""Times of tasks: every second belongs to one activity of one task."""

import time
from pathlib import Path

import pytest
import torch

from callbacks import TaskClock
from callbacks.clock import timed
from gpvae.results.task_times import ACTIVITIES, FILE_NAME, read_times, write_times
from tests.callbacks.learner import NLPD, Learner, learn

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
]
PAUSE = 0.05


class Slow(Learner):
    """Pauses when it learns, is scored and saves."""

    def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
        loss = super().training_step(batch, batch_idx)
        time.sleep(PAUSE)
        return loss

    def on_validation_epoch_end(self) -> None:
        super().on_validation_epoch_end()
        time.sleep(2 * PAUSE)

    def on_train_epoch_end(self) -> None:
        with timed(self.trainer, "saving"):
            time.sleep(3 * PAUSE)


def test_every_second_belongs_to_an_activity(tmp_path: Path) -> None:
    start = time.perf_counter()
    learn(tmp_path, TaskClock(), module=Slow({"nlpd": NLPD}))
    elapsed = time.perf_counter() - start
    seconds = read_times(tmp_path / "run" / FILE_NAME)
    assert set(seconds) == {(task, activity) for task in (1, 2, 3) for activity in ACTIVITIES}
    for task in (1, 2, 3):
        for activity, pauses in (("learning", 1), ("scoring", 2), ("saving", 3)):
            assert seconds[task, activity] >= pauses * PAUSE - 1e-3
        assert seconds[task, "drawing"] == 0
    assert 3 * 6 * PAUSE <= sum(seconds.values()) <= elapsed


def test_a_resumed_run_continues_the_times(tmp_path: Path) -> None:
    trainer = learn(tmp_path / "a", TaskClock(), num_tasks=2, module=Slow({"nlpd": NLPD}))
    trainer.save_checkpoint(tmp_path / "two.ckpt")
    learn(tmp_path / "b", TaskClock(), module=Slow({"nlpd": NLPD}), ckpt_path=tmp_path / "two.ckpt")
    first, both = (read_times(tmp_path / x / "run" / FILE_NAME) for x in "ab")
    assert {task for task, _ in both} == {1, 2, 3}
    assert both[1, "learning"] == first[1, "learning"]


def test_without_a_clock_nothing_is_timed(tmp_path: Path) -> None:
    trainer = learn(tmp_path, module=Slow({"nlpd": NLPD}), num_tasks=1)
    with timed(trainer, "drawing"):
        assert not (tmp_path / "run" / FILE_NAME).exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nonsense", "expected the columns task,learning,scoring,drawing,saving"),
        ("task,learning,scoring,drawing,saving\n1,2,3,4\n", "line 2"),
        ("task,learning,scoring,drawing,saving\n1,2,3,4,much\n", "line 2"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / FILE_NAME).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_times(tmp_path / FILE_NAME)


def test_times_are_written_and_read_back(tmp_path: Path) -> None:
    write_times({(1, "learning"): 1.25, (2, "saving"): 0.5}, tmp_path / FILE_NAME)
    seconds = read_times(tmp_path / FILE_NAME)
    assert (seconds[1, "learning"], seconds[1, "saving"], seconds[2, "saving"]) == (1.25, 0.0, 0.5)
