"""An online Gaussian process in a scikit-learn pipeline."""

# %% [markdown]
# # A scikit-learn pipeline
#
# `gpvae.sklearn` has a regressor and a classifier with `fit`, `partial_fit` and `predict`. They work in pipelines,
# cross-validation and parameter searches. Install them with the extra `gpvae[sklearn]`.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import make_friedman1, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gpvae.sklearn import OnlineGPClassifier, OnlineGPRegressor

torch.set_num_threads(1)  # small matrices do not profit from more threads

# %% [markdown]
# The first part cross-validates three models on a table with ten inputs, five of them irrelevant. With 100 inducing
# variables for some 200 points, the online Gaussian process scores the same as scikit-learn's own, which keeps all
# points and cannot be updated.


# %%
def compare() -> None:
    """Print R² in cross-validation."""
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    exact = ConstantKernel(10.0) * RBF(np.ones(10)) + WhiteKernel()
    models = {
        "ridge regression": RidgeCV(),
        "exact Gaussian process": GaussianProcessRegressor(exact, normalize_y=True, random_state=0),
        "online Gaussian process": OnlineGPRegressor(num_inducing=100),
    }
    warnings.simplefilter("ignore", ConvergenceWarning)  # irrelevant inputs have unbounded lengthscales
    print("R² in cross-validation")
    for name, model in models.items():
        scores = cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3)
        print(f"  {name:<25}{scores.mean():.2f}")


compare()


# %% [markdown]
# The second part learns a classifier by `partial_fit`, on two moons that arrive from left to right in ten batches.
# After the last batch it knows both moons from end to end. Where there were no points, it remains uncertain.


# %%
def learn_moons() -> tuple[OnlineGPClassifier, np.ndarray, np.ndarray]:
    """A classifier that has seen each batch once, and all points, to draw them."""
    X, y = make_moons(500, noise=0.15, random_state=0)
    order = X[:, 0].argsort()
    X, y = X[order], y[order]
    model = OnlineGPClassifier(num_inducing=40)
    shares = []
    for batch in np.array_split(np.arange(len(X)), 10):
        model.partial_fit(X[batch], y[batch], classes=[0, 1])
        shares.append(f"{model.score(X, y):.2f}")
    print("share of all points that are classified correctly, after each batch")
    print(" ", *shares)
    return model, X, y


model, X, y = learn_moons()

# %%
first, second = np.meshgrid(np.linspace(-2.5, 3.5, 120), np.linspace(-2, 2.5, 90))
probability = model.predict_proba(np.stack([first.ravel(), second.ravel()], 1))[:, 1].reshape(first.shape)
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained", num="Two moons")
drawn = ax.contourf(first, second, probability, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.8)
fig.colorbar(drawn, ax=ax, label="probability of the lower moon")
for label, colour in ((0, "tab:blue"), (1, "tab:red")):
    ax.plot(*X[y == label].T, ".", color=colour, ms=3, markeredgecolor="black", markeredgewidth=0.2)
ax.set_title("two moons, learnt from left to right in ten batches", loc="left", fontsize=10)
plt.show()
