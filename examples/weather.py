"""Train the GP-VAE on a few days of weather, task by task, with and without protection of its networks."""

# %% [markdown]
# # Weather, task after task
#
# This example trains the GP variational autoencoder on several weather variables at several locations, one task after
# the other. All locations share an encoder and a decoder. Each has its own posterior over latent functions, which is
# carried from task to task. No data are kept. The model is a small version of `configs/era5_ohsvgp.yaml`. The weather
# is the package's synthetic sample, so nothing is downloaded.

# %%
import logging
import warnings

import matplotlib.pyplot as plt
import torch
from lightning import Trainer, seed_everything

from gpvae.callbacks import ContinualLearning, TaskReport
from gpvae.datamodules import ERA5
from gpvae.modules import SVGPVAE
from gpvae.vae.keyed_noise import Draws

torch.set_num_threads(1)

VARIABLES = ["t2m", "msl", "u10", "ssrd"]
NUM_TASKS, EPOCHS = 4, 150
logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)  # raised within Lightning

# %% [markdown]
# The stream is a datamodule with four tasks of three days at six locations. A fifth of the hours of each task are held
# out. Values are transformed and standardised by the first task, because later data are not known in advance.


# %%
def weather() -> ERA5:
    """The stream."""
    data = ERA5(
        source="sample",
        variables=VARIABLES,
        points=6,
        num_tasks=NUM_TASKS,
        hours_per_task=72,
        epochs_per_task=EPOCHS,
        seed=1,
    )
    data.setup()
    return data


# %% [markdown]
# The module takes the number of variables, the number of latent functions, and the protection of the networks against
# forgetting: `replay`, `ewc`, `both` or `none`. Both networks also receive the hour of the day (`periods`).


# %%
def learn(data: ERA5, consolidation: str) -> tuple[SVGPVAE, TaskReport]:
    """A model that has learnt one task after the other, and its scores."""
    seed_everything(1, verbose=False)
    module = SVGPVAE(
        method="OHSVGP",
        inducing="CosS",
        num_inducing=40,
        num_variables=data.num_variables,
        latent_dim=6,
        hidden_dim=32,
        consolidation=consolidation,
        periods=[24.0],
        lr=0.01,
        seed=1,
    )
    report = TaskReport(print_table=False)
    trainer = Trainer(
        accelerator="cpu",
        default_root_dir=f"runs/weather_{consolidation}",  # scores are written to task_metrics.csv there
        callbacks=[ContinualLearning(), report],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **data.trainer_options,
    )
    trainer.fit(module, datamodule=data)
    return module, report


# %% [markdown]
# After each task, all tasks so far are scored on their held-out hours. A column shows how the score of a task changes.
# With replay, old tasks get only slightly worse. Without protection they are forgotten, because the decoder changes.


# %%
def show(name: str, report: TaskReport) -> None:
    """Print the forgetting matrix of NLPD."""
    print(f"\nNLPD with {name}: one row after each task, one column per task")
    for row in report.matrix("nlpd"):
        print("  " + "".join(f"{value:>8.2f}" if value == value else " " * 8 for value in row))
    print(f"  mean rise of old tasks: {report.table.forgetting('nlpd'):.2f}")


data = weather()
module, report = learn(data, "replay")
show("replay", report)
show("no protection", learn(data, "none")[1])


# %% [markdown]
# Predictions are mixtures over samples of the latents. `to_physical` converts them to physical units.


# %%
def draw(module: SVGPVAE, data: ERA5, location: int = 0) -> None:
    """Draw reconstructions at one location over the whole stream, after the last task."""
    end = data.num_tasks * data.hours_per_task
    times, series = torch.arange(0, end, 1.0, dtype=torch.float64), torch.tensor([location])
    draws = Draws(1, "evaluate")
    mean, scale = module.vae.decode_samples(times, series, 200, draws)
    samples = mean + scale * draws.normal(series, *mean.shape[1:], purpose="noise").to(mean)
    middle, low, high = (
        data.to_physical(value, series)[0] for value in samples.quantile(torch.tensor([0.5, 0.05, 0.95]), dim=-1)
    )
    _, axes = plt.subplots(data.num_variables, 1, figsize=(9, 6), sharex=True, layout="constrained", num="One location")
    for v, (ax, variable) in enumerate(zip(axes, data.variables, strict=True)):
        ax.fill_between(times, low[:, v], high[:, v], color="tab:blue", alpha=0.2, lw=0)
        ax.plot(times, middle[:, v], color="tab:blue", lw=1.2)
        for task in range(data.num_tasks):
            hours, y, _ = data.task_data(task)
            ax.plot(hours, data.to_physical(y[series], series)[0, :, v], ".", color="black", ms=2)
            ax.axvline(task * data.hours_per_task, color="grey", lw=0.5, ls=":")
        ax.set_ylabel(f"{variable.short_name}\n{variable.units}", fontsize=8)
        ax.tick_params(labelsize=8)
    axes[0].set_title("one location after the last task: median, 90 % interval, hours learnt", loc="left", fontsize=10)
    axes[-1].set_xlabel("hours; the dotted lines divide the tasks")
    axes[-1].set_xlim(0, end)
    plt.show()


draw(module, data)
