"""When checkpoints are saved: after each task, and after so many steps within one, however short its epochs are."""

from pathlib import Path

import pytest
from lightning.pytorch import Trainer

from tests.cli.program import run_here, write_config

#: Two tasks of four epochs of three steps.
STREAM = {"model": {"method": "OSVGP"}, "data": {"steps_per_epoch": 3, "batch_size": 5, "epochs_per_task": 4}}


@pytest.mark.parametrize(
    ("every", "expected"),
    [
        ("null", [("task_01", 12), ("task_02", 24)]),
        ("500", [("task_01", 12), ("task_02", 24)]),
        ("5", [("last", 5), ("last", 10), ("task_01", 12), ("last", 17), ("last", 22), ("task_02", 24)]),
        ("6", [("last", 6), ("task_01", 12), ("last", 18), ("task_02", 24)]),
    ],
)
def test_steps_count_across_epochs(
    every: str, expected: list[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = []
    original = Trainer.save_checkpoint

    def save(self: Trainer, path: Path, **options: bool) -> None:
        saved.append((path.name.removesuffix(".ckpt.part"), self.global_step))
        original(self, path, **options)

    monkeypatch.setattr(Trainer, "save_checkpoint", save)
    write_config(tmp_path, **STREAM)
    run_here(tmp_path, "fit", "-c", "small.yaml", "--data.num_tasks", "2", "--checkpoint.every_n_steps", every)
    assert saved == expected
