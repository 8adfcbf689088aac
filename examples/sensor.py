"""Learn a sensor week by week from a CSV file, and predict with intervals."""

# %% [markdown]
# # A sensor, week by week
#
# A station measures the temperature of a river every hour and adds a line to a CSV file. We learn four weeks, predict
# with intervals, and go on when the next week arrives. The model keeps none of the measurements.
#
# The file here is synthetic: daily cycles, slow weather and noise. For one day in the second week, the station sent
# nothing. With your own file, start at `pd.read_csv`.

# %%
import gpytorch
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

import gpvae

torch.set_num_threads(1)  # small matrices do not profit from more threads
plt.rcParams["date.converter"] = "concise"

rng = np.random.default_rng(0)
hours = np.arange(5 * 168)
weather = np.convolve(rng.standard_normal(len(hours) + 240), np.hanning(241), "valid")[: len(hours)]
river = pd.DataFrame({"time": pd.date_range("2026-03-02", periods=len(hours), freq="h")})
river["temperature"] = 11 + hours / 250 + 1.5 * np.sin(2 * np.pi * (hours - 9) / 24) + 0.15 * weather
river["temperature"] += 0.15 * rng.standard_normal(len(hours))
outage, past, arriving = river[300:324], river[: 4 * 168], river[4 * 168 :]
past.drop(outage.index).to_csv("river.csv", index=False)

# %% [markdown]
# ## Learn, predict
#
# `OnlineGP` takes the columns of a table. The kernel is fitted to the first batch. `predict_table` returns mean,
# standard deviation and quantiles at any time.

# %%
table = pd.read_csv("river.csv", parse_dates=["time"])
week = (table["time"] - table["time"][0]).dt.days // 7
gp = gpvae.OnlineGP(gpvae.inducing.CosS(150))
for _, batch in table.groupby(week):
    gp.update(batch["time"], batch["temperature"])
print(gp)
print(gp.predict_table(pd.date_range("2026-03-14T09:00", periods=5, freq="6h")).round(2))

# %% [markdown]
# The outage lasts from noon to noon. The interval is narrow before it, and spans four degrees in its middle: the model
# says what it does not know.
#
# ## Say what you know
#
# The river has a daily cycle. The kernel can say so. Dates become hours, so the period is 24. The cycle may change over
# weeks (`RBFKernel`), and there is slow weather as well (`MaternKernel`). It takes two weeks to tell a cycle from the
# weather, so the kernel is fitted to the first two.

# %%
day = gpytorch.kernels.PeriodicKernel()
day.period_length = 24.0
day.raw_period_length.requires_grad_(False)
slowly = gpytorch.kernels.RBFKernel()
slowly.lengthscale = 200.0
kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(1.5)) + gpytorch.kernels.ScaleKernel(day * slowly)

better = gpvae.OnlineGP(gpvae.inducing.CosS(150), kernel, gpytorch.likelihoods.GaussianLikelihood())
first = table[week < 2]
better.fit_hyperparameters(first["time"], first["temperature"])
for _, batch in table.groupby(week):
    better.update(batch["time"], batch["temperature"])
print(better.predict_table(pd.date_range("2026-03-14T09:00", periods=5, freq="6h")).round(2))


# %% [markdown]
# How good are the two? We score them where they saw nothing: in the outage, and on the day after the end of the file.


# %%
def score(name: str, gp: gpvae.OnlineGP, rows: pd.DataFrame) -> None:
    """Print the error, and the share of values in their 90 % interval."""
    predicted, measured = gp.predict_table(rows["time"]), rows.set_index("time")["temperature"]
    error = (predicted["mean"] - measured).abs().mean()
    inside = measured.between(predicted["q0.05"], predicted["q0.95"]).mean()
    print(f"{name:<34}mean absolute error {error:.2f} °C, {inside:.0%} within the 90 % interval")


for title, rows in (("the outage", outage), ("the next day", arriving[:24])):
    score(f"{title}, default kernel", gp, rows)
    score(f"{title}, with a daily cycle", better, rows)

# %% [markdown]
# The default kernel only knows that the river is smooth. It fills short gaps. Where it has nothing to go by, it returns
# to the mean of the first week.
#
# ## Next week
#
# Save the model, and go on when there are new rows: in another process, a week later. The update takes as long as the
# first one, and the file of the model does not grow.

# %%
better.save("river.pt")

later = gpvae.OnlineGP.load("river.pt")
later.update(arriving["time"], arriving["temperature"])

fig, ax = plt.subplots(figsize=(9, 3.4), layout="constrained", num="The five weeks: mean, 90 % interval and outage")
shown = pd.date_range("2026-03-11", "2026-04-12", freq="h")
for model, when, colour, label in (
    (later, shown, "tab:blue", "after week 5"),
    (better, shown[shown >= "2026-03-29"], "tab:orange", "after week 4: a forecast"),
):
    predicted = model.predict_table(when)
    ax.fill_between(when, predicted["q0.05"], predicted["q0.95"], color=colour, alpha=0.25, lw=0)
    ax.plot(when, predicted["mean"], color=colour, lw=1, label=label)
seen = river.drop(outage.index).query("time >= '2026-03-11'")
ax.plot(seen["time"], seen["temperature"], ".", color="black", ms=1.5)
ax.set_ylabel("river in °C")
ax.set_title("five weeks, learnt one after the other: mean and 90 % interval", loc="left", fontsize=10)
ax.legend(frameon=False, fontsize=8, loc="upper left")
plt.show()

# %% [markdown]
# Ahead of the data, the interval widens: see [what to expect of forecasts](../howto/forecast.md).
#
# ## The same without Python
#
# `gpvae fit` learns a table as it grows. It remembers which rows it has learnt, and refuses rows that have changed. A
# task here is a week. In a notebook, write `!gpvae fit ...`; give the same command whenever rows have been added.


# %%
import shlex
import subprocess
import sys


def shell(command: str) -> str:
    """What a command of gpvae prints."""
    words = [sys.executable, "-m", *shlex.split(command)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


fit = "gpvae fit -c own_table --name river --data.paths river.csv --data.extent_per_task 168 --ckpt_path last"
print(shell(fit))

river.drop(outage.index).to_csv("river.csv", index=False)  # the next week has arrived
shell(fit)
run = gpvae.load("runs/river/seed_1")
print(run)

# %% [markdown]
# Predictions are xarray datasets, in the units of the table:

# %%
predicted = run.predict(["2026-03-14T20:00", "2026-03-20T12:20"], quantiles=[0.05, 0.95])
print(predicted["quantiles"].to_pandas().round(2))

# %% [markdown]
# Continue with [a table of your own](../howto/own_table.md) for every option, or with
# [which likelihood](../howto/when_to_use_what.md#which-likelihood) if your sensor counts, or has outliers.
