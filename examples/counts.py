"""Learn a stream of counts, with calibrated prediction intervals."""

# %% [markdown]
# # A stream of counts
#
# Cases per week, arrivals per hour, photons per second: counts often arrive as a stream, and often vary more than a
# Poisson distribution allows. In this example, ten batches arrive one after the other and the model sees each of them
# once. At the end, it predicts intervals that should contain 90 % of the counts. We check whether they do.

# %%
import gpytorch
import matplotlib.pyplot as plt
import torch
from torch import Tensor
from torch.distributions import Distribution, NegativeBinomial
from torch.nn.functional import softplus

import gpvae

torch.set_num_threads(1)  # small matrices do not profit from more threads

NUM_BATCHES, POINTS_PER_BATCH, NUM_INDUCING = 10, 50, 40

# %% [markdown]
# The rate varies between about one and fifty, in waves of different lengths. The counts are overdispersed: their
# variance is rate + rate² / 8.


# %%
def rate(x: Tensor) -> Tensor:
    """The expected count."""
    return softplus(24 + 18 * torch.sin(1.9 * x) + 9 * torch.sin(4.3 * x + 1)) + 1


def draw_data(num: int, seed: int) -> tuple[Tensor, Tensor]:
    """Counts at random times between 0 and 10, in order."""
    rng = torch.Generator().manual_seed(seed)
    x = 10 * torch.rand(num, generator=rng, dtype=torch.float64).sort().values
    spread = 8.0
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        counts = NegativeBinomial(spread, logits=(rate(x) / spread).log()).sample()
    return x, counts


# %% [markdown]
# Counts only need a suitable likelihood. `update` then finds q(u) by natural gradients. A Gaussian site summarises the
# past, so the thousandth batch costs as much as the first. The hyperparameters, including the dispersion, are fitted to
# the first two batches or taken from another model, and then stay fixed.


# %%
def learn(
    likelihood: gpytorch.likelihoods.Likelihood, x: Tensor, y: Tensor, like: gpvae.OnlineGP | None = None
) -> gpvae.OnlineGP:
    """A model that has seen every batch once, with the kernel of another model if one is given."""
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    gp = gpvae.OnlineGP(gpvae.inducing.LegS(NUM_INDUCING), kernel, likelihood)
    if like is None:
        first = 2 * POINTS_PER_BATCH
        gp.fit_hyperparameters(x[:first], y[:first])
    else:
        gp.kernel.load_state_dict(like.kernel.state_dict())
    for x_batch, y_batch in zip(x.split(POINTS_PER_BATCH), y.split(POINTS_PER_BATCH), strict=True):
        gp.update(x_batch, y_batch)
    return gp


# %% [markdown]
# The prediction is a distribution over counts. Cumulative probabilities give its quantiles.


# %%
def quantiles(y: Distribution, levels: list[float], max_count: int = 250) -> Tensor:
    """The smallest counts whose cumulative probabilities reach the levels, `[len(levels), N]`."""
    counts = torch.arange(max_count, dtype=torch.float64)
    reached = y.log_prob(counts[:, None]).exp().cumsum(0)
    return torch.stack([(reached < level).sum(0).double() for level in levels])


# %% [markdown]
# We compare the negative binomial likelihood with a Poisson likelihood, which does not allow for overdispersion, using
# the same kernel. Coverage is the share of held-out counts within the interval. It should be 90 %, or slightly more
# because counts are discrete.


# %%
x, y = draw_data(NUM_BATCHES * POINTS_PER_BATCH, seed=0)
x_test, y_test = draw_data(1000, seed=1)
best = learn(gpytorch.likelihoods.NegativeBinomialLikelihood(), x, y)
models = {"negative binomial": best, "Poisson": learn(gpytorch.likelihoods.PoissonLikelihood(), x, y, like=best)}
print(f"{'':<20}{'NLPD':>8}{'coverage':>10}{'first batch':>13}{'last batch':>12}")
early, late = x_test < x[POINTS_PER_BATCH], x_test > x[-POINTS_PER_BATCH]
for name, gp in models.items():
    predicted = gp.predict(x_test)
    low, high = quantiles(predicted, [0.05, 0.95])
    inside = ((y_test >= low) & (y_test <= high)).double()
    shares = [float(inside[part].mean()) for part in (slice(None), early, late)]
    nlpd = -float(predicted.log_prob(y_test).mean())
    print(f"{name:<20}{nlpd:>8.2f}{shares[0]:>10.1%}{shares[1]:>13.1%}{shares[2]:>12.1%}")

# %%
grid = torch.linspace(0, 10, 400, dtype=torch.float64)
fig, axes = plt.subplots(2, 1, figsize=(9, 4.6), sharex=True, sharey=True, layout="constrained", num="Both models")
for ax, (name, gp) in zip(axes, models.items(), strict=True):
    predicted = gp.predict(grid)
    low, high = quantiles(predicted, [0.05, 0.95])
    ax.fill_between(grid, low, high, step="mid", color="tab:blue", alpha=0.2, lw=0, label="90 % of counts")
    ax.plot(grid, predicted.mean, color="tab:blue", lw=1.5, label="expected count")
    ax.plot(grid, rate(grid), color="black", lw=0.8, ls="--", label="the truth")
    ax.plot(x, y, ".", color="black", ms=2.5)
    for edge in x[POINTS_PER_BATCH::POINTS_PER_BATCH]:
        ax.axvline(edge, color="grey", lw=0.5, ls=":")
    ax.set_title(name, loc="left", fontsize=10)
axes[0].legend(fontsize=8, ncols=3, frameon=False, loc="upper right")
axes[0].set_ylim(0, 110)
axes[0].set_xlim(0, 10)
axes[-1].set_xlabel("time; the dotted lines divide the batches")
plt.show()
