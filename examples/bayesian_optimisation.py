"""Bayesian optimisation with BoTorch, with a model that does not grow."""

# %% [markdown]
# # Bayesian optimisation with BoTorch
#
# `gpvae.botorch.OnlineGPModel` wraps an `OnlineGP` as a BoTorch model. Install it with the extra `gpvae[botorch]`.

# %%
import gpytorch
import matplotlib.pyplot as plt
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.optim import optimize_acqf
from botorch.test_functions import Hartmann

import gpvae
from gpvae.botorch import OnlineGPModel

torch.set_num_threads(1)  # small matrices do not profit from more threads

FUNCTION = Hartmann(dim=3, noise_std=0.02, negate=True, dtype=torch.float64)  # a test function; its maximum is 3.86
BOUNDS = FUNCTION.bounds
NUM_STEPS = 80

# %% [markdown]
# Two models are compared: `OnlineGP` with 60 inducing points, and BoTorch's own exact Gaussian process, which keeps all
# observations. Both use the same kernel and noise, fitted to the first twenty points.


# %%
def start(num: int = 20) -> tuple[gpvae.OnlineGP, torch.Tensor, torch.Tensor]:
    """The first points, and a process that has learnt them."""
    torch.manual_seed(0)
    X = torch.rand(num, 3, dtype=torch.float64)
    y = FUNCTION(X)
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=3))
    gp = gpvae.OnlineGP(gpvae.inducing.PivotedPoints(60), kernel, gpytorch.likelihoods.GaussianLikelihood())
    return gp.fit_hyperparameters(X, y).update(X, y), X, y


class ExactModel(SingleTaskGP):
    """BoTorch's own model with kernel, noise and mean of an `OnlineGP`, on all data."""

    def __init__(self, gp: gpvae.OnlineGP, X: torch.Tensor, y: torch.Tensor) -> None:
        noise = gp.likelihood.noise.detach().expand(len(y), 1)
        super().__init__(X, y[:, None], noise, covar_module=gp.kernel, mean_module=gp.mean.mean, outcome_transform=None)


# %% [markdown]
# Each step maximises the expected improvement, observes the function there, and learns the observation.
# `condition_on_observations` returns a new model of the same size.


# %%
def optimise(model: Model, best: float) -> tuple[list[float], list[int]]:
    """The best observation so far and the numbers kept, after every step."""
    found, kept = [], []
    for step in range(NUM_STEPS):
        torch.manual_seed(step)
        acquisition = LogExpectedImprovement(model, best)
        X, _ = optimize_acqf(acquisition, BOUNDS, q=1, num_restarts=2, raw_samples=32, options={"maxiter": 30})
        y = FUNCTION(X)
        if isinstance(model, OnlineGPModel):
            model = model.condition_on_observations(X, y[:, None])
            size = sum(value.numel() for value in model.state_dict().values())
        else:
            model = model.condition_on_observations(X, y[:, None], noise=model.likelihood.noise[:1, None])
            size = model.train_inputs[0].numel() + len(model.train_targets) ** 2  # the data and their Cholesky factor
        best = max(best, float(y))
        found.append(best)
        kept.append(size)
    return found, kept


# %%
gp, X, y = start()
models = {"OnlineGP, 60 points": OnlineGPModel(gp), "exact": ExactModel(gp, X, y).eval()}
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", num="Best observation, and numbers kept")
for name, model in models.items():
    model.posterior(X[:1])  # the exact model fills its caches, which it conditions on
    found, kept = optimise(model, float(y.max()))
    axes[0].plot(range(1, NUM_STEPS + 1), found, label=name)
    axes[1].plot(range(1, NUM_STEPS + 1), kept, label=name)
    print(
        f"{name:<22}best {found[-1]:.2f} of 3.86 after {NUM_STEPS} steps; keeps {kept[0]:,} numbers, then {kept[-1]:,}"
    )
axes[0].axhline(3.86, color="grey", lw=0.5, ls=":")
axes[0].set_ylabel("best observation")
axes[1].set_ylabel("numbers kept")
axes[1].set_ylim(0, None)
for ax in axes:
    ax.set_xlabel("step")
axes[0].legend(frameon=False)
plt.show()
