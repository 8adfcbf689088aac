"""A stream learnt by Lightning, and the same stream learnt by the library."""

from typing import Any

import torch
from gpytorch.means import ZeroMean
from lightning import Trainer
from torch import Tensor

from callbacks import ContinualLearning
from datamodules import TaskStream
from gpvae.methods import LIKELIHOODS, build_families, build_kernel, find_method
from gpvae.modules import StreamingGP
from gpvae.online_gp import OnlineGP

KERNEL: dict[str, Any] = {"lengthscale": 0.4, "outputscale": 0.8}


def learn(module: StreamingGP, data: TaskStream, **options: Any) -> StreamingGP:
    """Learn the stream by a trainer."""
    trainer = Trainer(
        accelerator="cpu",
        callbacks=[ContinualLearning()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **data.trainer_options,
        **options,
    )
    trainer.fit(module, data)
    return module


def library(
    method: str,
    num_inducing: int,
    data: TaskStream,
    likelihood: str = "gaussian",
    family_options: dict[str, Any] | None = None,
    **options: Any,
) -> OnlineGP:
    """The model of a method in plain Python, after the stream; options are those of its updates."""
    preset, dim = find_method(method), data.input_dim
    family = preset.family_in_space if dim > 1 and preset.family_in_space else preset.family
    families = build_families(family, num_inducing, dim, 0, {**preset.options, **(family_options or {})})
    gp = OnlineGP(families, build_kernel(preset.kernel, dim), LIKELIHOODS[likelihood](), mean=ZeroMean())
    gp.kernel.base_kernel.lengthscale, gp.kernel.outputscale = KERNEL["lengthscale"], KERNEL["outputscale"]
    if likelihood == "gaussian":
        gp.likelihood.noise = 0.02
    data.setup()
    for task in range(data.num_learnt):
        gp.update(*data.task_data(task), **options)
    return gp


def moments(model: StreamingGP | OnlineGP, data: TaskStream) -> Tensor:
    """Predictive means and variances at all test points, and the bound."""
    gp = model.gp if isinstance(model, StreamingGP) else model
    x = torch.cat([task.x_test for task in data.tasks])
    predictive = model.predict(x)
    return torch.cat([predictive.mean, predictive.variance, gp.bound().reshape(1)])
