"""What two processes exchange in a step: gradients, a count of values, and logged values when they are logged."""

import json
from pathlib import Path

import pytest

from tests.cli.program import run, script

pytestmark = [pytest.mark.slow, pytest.mark.ci]
PROGRAM = """
import json
from collections import Counter
from pathlib import Path

import torch
import torch.distributed as dist
from lightning import Callback, Trainer

from gpvae.callbacks import ContinualLearning
from gpvae.datamodules import ERA5
from gpvae.modules import SVGPVAE
from gpvae.utils.distributed import leave_process_group

PLANTED = 7.0
calls = Counter()
for name in ("all_reduce", "broadcast", "barrier", "all_gather", "gather"):
    def counted(*args, name=name, original=getattr(dist, name), **kwargs):
        calls[name] += 1
        return original(*args, **kwargs)
    setattr(dist, name, counted)


class Watch(Callback):
    steps = []

    def on_train_batch_start(self, trainer, module, batch, index):
        if trainer.global_step == 2 and trainer.global_rank == 1:
            module.vae.widening.log_factor.fill_(PLANTED)
        calls.clear()

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        planted = float(module.vae.widening.log_factor.max())
        self.steps.append({"step": trainer.global_step, "planted": planted, **calls})


watch = Watch()
data = ERA5(points=4, num_tasks=1, hours_per_task=24, epochs_per_task=8, batch_size=2)
trainer = Trainer(
    **(data.trainer_options | {"log_every_n_steps": 4}), accelerator="cpu", devices=2, strategy="ddp", logger=False,
    enable_checkpointing=False, enable_progress_bar=False, limit_val_batches=0, callbacks=[watch, ContinualLearning()],
)
shipped = {"inducing": "CosineExpansion", "kernel": "matern12", "waves": [24.0], "hyperparameters": "fixed"}
module = SVGPVAE(num_inducing=8, latent_dim=3, hidden_dim=8, consolidation="replay", **shipped)
trainer.fit(module, datamodule=data)
Path(f"rank_{trainer.global_rank}.json").write_text(json.dumps(watch.steps))
leave_process_group()
"""


def test_buffers_are_not_broadcast_and_logged_values_are_reduced_together(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    result = run(tmp_path, "program.py", program=[script("torchrun"), "--standalone", "--nproc_per_node", "2"])
    assert result.returncode == 0, result.stderr
    first, second = (json.loads((tmp_path / f"rank_{rank}.json").read_text()) for rank in (0, 1))
    assert len(first) == 8
    assert all(step["planted"] < 1 for step in first)
    assert [step["planted"] == 7.0 for step in second] == [step["step"] > 2 for step in second]  # it stays
    for step in (*first, *second):
        logged = step["step"] % 4 == 0
        assert step.get("all_reduce", 0) == 1 + logged, step
        assert set(step) <= {"step", "planted", "all_reduce"}, step
