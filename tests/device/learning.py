"""Streams learnt by Lightning on a device."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from lightning import Callback, LightningModule, Trainer

from callbacks import ContinualLearning
from datamodules import TaskStream
from tests.device import second_device


def trainer(device: torch.device | str, data: TaskStream, *callbacks: Callback, **options: Any) -> Trainer:
    """A trainer that learns a stream on a device."""
    place = {"accelerator": "cpu"} if str(device) == "cpu" else {"strategy": second_device.strategy()}
    chosen = {
        "callbacks": [ContinualLearning(), *callbacks],
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        **data.trainer_options,
        **place,
        **options,
    }
    return Trainer(**chosen)


def learn(
    module: LightningModule,
    data: TaskStream,
    device: torch.device | str,
    *,
    resume: Path | None = None,
    beside: Sequence[Callback] = (),
    **options: Any,
) -> dict[str, torch.Tensor]:
    """Learn a stream on a device, with other callbacks beside, and return all scores and the parameters, on the CPU."""
    fit = trainer(device, data, *beside, **options)
    fit.fit(module, datamodule=data, ckpt_path=resume, weights_only=True)
    scores = {name: value.cpu().double() for name, value in fit.callback_metrics.items()}
    return scores | {name: value.detach().cpu() for name, value in module.state_dict().items()}


def assert_same(ours: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], tolerance: float) -> None:
    """Assert that scores and states agree."""
    assert ours.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(
            ours[name],
            value,
            rtol=tolerance,
            atol=tolerance,
            equal_nan=True,
            msg=lambda text, name=name: f"{name}: {text}",
        )
