"""A Gaussian process in a river loop: predict a point, then learn it."""

# %% [markdown]
# # A river loop
#
# `gpvae.river` has a regressor and a classifier with `learn_one` and `predict_one`. Install them with the extra
# `gpvae[river]`.

# %%
import gpytorch
import matplotlib.pyplot as plt
import torch
from river import compose, datasets, linear_model, metrics, neighbors, preprocessing

import gpvae
from gpvae.river import OnlineGPRegressor

torch.set_num_threads(1)  # small matrices do not profit from more threads
NUM_POINTS = 1000

# %% [markdown]
# The stream is one of river's own: the approval of a president, day by day, with five polls as features. Every model
# predicts each point before it learns it.
#
# The Gaussian process uses only the day. `LegT` is a memory of the last 100 days, and kernel and noise are fitted to
# the first 100 points. It needs no scaler, because each feature has its own lengthscale. A scaler that keeps learning
# would shift the inputs of points that have already been learnt.


# %%
def models() -> dict[str, compose.Pipeline]:
    """Models that learn point by point."""
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=0.5))
    recent = gpvae.inducing.LegT(30, window=100)
    return {
        "linear regression": preprocessing.StandardScaler() | linear_model.LinearRegression(),
        "Bayesian linear regression": preprocessing.StandardScaler() | linear_model.BayesianLinearRegression(),
        "nearest neighbours": preprocessing.StandardScaler() | neighbors.KNNRegressor(),
        "Gaussian process": compose.Select("ordinal_date") | OnlineGPRegressor(kernel, inducing=recent, warm_up=100),
    }


# %% [markdown]
# With `with_dist=True`, a prediction is one of river's normal distributions.


# %%
stream = list(datasets.TrumpApproval().take(NUM_POINTS))
print(f"mean absolute error of {len(stream)} points, each predicted before it is learnt")
for name, model in models().items():
    error, rows = metrics.MAE(), []
    for x, y in stream:
        error.update(y, model.predict_one(x))
        if name == "Gaussian process":
            predicted = model.predict_one(x, with_dist=True)
            rows.append((x["ordinal_date"], y, predicted.mu, predicted.sigma))
        model.learn_one(x, y)
    print(f"  {name:<28}{error.get():.2f}")

# %%
days, y, mu, sigma = (torch.tensor(column) for column in zip(*rows[20:], strict=True))
inside = ((y - mu).abs() < 1.645 * sigma).double().mean()
print(f"of the last {len(y)} points {inside:.0%} are within their 90 % interval")

fig, ax = plt.subplots(figsize=(9, 3.2), layout="constrained", num="Approval, and its prediction")
ax.fill_between(days, mu - 1.64 * sigma, mu + 1.64 * sigma, color="tab:blue", alpha=0.2, lw=0)
ax.plot(days, mu, color="tab:blue", lw=1)
ax.plot(days, y, ".", color="black", ms=2)
ax.set_ylim(float(y.min()) - 2, float(y.max()) + 2)
ax.set_xlabel("day")
ax.set_ylabel("approval in %")
ax.set_title("each point before it is learnt: mean and 90 % interval", loc="left", fontsize=10)
plt.show()
