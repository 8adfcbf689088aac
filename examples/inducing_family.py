"""A new family of inducing variables in one small class, with checks of the laws that it must satisfy."""

# %% [markdown]
# # A new inducing family
#
# What a model remembers of a stream is a choice: values at points, polynomials, cosines, or something of your own. A
# family of inducing variables is one class, and everything else works with it: `OnlineGP`, likelihoods, saving, the
# command line. This page adds **averages over windows that fill the past**, and checks that they are right.

# %%
import math
import warnings
from copy import deepcopy

import gpytorch
import matplotlib.pyplot as plt
import numpy as np
import torch
from gpytorch.kernels import Kernel
from torch import Tensor

import gpvae
from gpvae.inducing.base import Functionals

torch.set_num_threads(1)  # small matrices do not profit from more threads

# %% [markdown]
# ## The class
#
# The averages of a function over M windows of equal length are linear in the function, so they are jointly Gaussian
# with it. `Functionals` needs to know where the function is evaluated (`nodes`), how these values are combined
# (`combine`), and how the variables move on when new inputs arrive (`_advance`). State is in buffers, so it is saved,
# loaded and moved between devices with the model.

# %%
PER_WINDOW = 20


class Averages(Functionals):
    """Averages of f over M windows of equal length, from the first input of the stream to the last."""

    ends: Tensor

    def __init__(self, num_inducing: int) -> None:
        super().__init__(num_inducing)
        self.register_buffer("ends", torch.full((2,), math.nan, dtype=torch.float64))

    @property
    def nodes(self) -> Tensor:
        """The middles of small steps, window by window, `[20 M, 1]`."""
        num = self.num_inducing * PER_WINDOW
        shares = (torch.arange(num).to(self.ends) + 0.5) / num
        return (self.ends[0] + (self.ends[1] - self.ends[0]) * shares)[:, None]

    def combine(self, K: Tensor) -> Tensor:
        """The mean over each window, `[*L, 20 M, N]` to `[*L, M, N]`."""
        return K.unflatten(-2, (self.num_inducing, PER_WINDOW)).mean(-2)

    def _advance(self, kernel: Kernel, x: Tensor) -> None:
        seen = torch.cat([x.flatten(), self.ends[~self.ends.isnan()]])
        self.ends.copy_(torch.stack([seen.min(), seen.max()]))


# %% [markdown]
# The covariances `kuu`, `kuf` and `kuv` follow from these three, for any kernel. `kuv` is the covariance with the
# variables of an earlier state: through it, what was remembered in old windows [moves](../concepts/transport.md) to the
# new ones.
#
# ## The laws
#
# A family is correct if its covariances are those of its definition, and if variables, older variables and function
# values have a joint distribution. First the definition, against an integral by brute force:

# %%
kernel = gpytorch.kernels.MaternKernel(2.5)
kernel.lengthscale = 0.5
kernel.requires_grad_(False)
first, second = torch.linspace(0, 4, 50, dtype=torch.float64)[:, None], torch.linspace(4, 10, 80).double()[:, None]
x = torch.linspace(-1, 12, 40, dtype=torch.float64)[:, None]

family = Averages(12).advance(kernel, first)
fine = torch.linspace(0, 4 / 12, 2001, dtype=torch.float64)[:, None]
brute_force = torch.trapezoid(kernel(fine, x).to_dense(), fine, dim=0) / fine[-1]
print(f"largest error of a covariance: {(family.kuf(kernel, x)[0] - brute_force).abs().max():.0e}")

# %% [markdown]
# Then the joint distribution of everything, whose covariance matrix must have no negative eigenvalue:

# %%
old = deepcopy(family)
family.advance(kernel, second)
uu, uv, uf = family.kuu(kernel), family.kuv(kernel, old), family.kuf(kernel, x)
vv, vf, ff = old.kuu(kernel), old.kuf(kernel, x), family.kff(kernel, x)
joint = torch.cat([torch.cat([uu, uv, uf], 1), torch.cat([uv.mT, vv, vf], 1), torch.cat([uf.mT, vf.mT, ff], 1)])
eigenvalues = torch.linalg.eigvalsh(joint)
print(f"smallest eigenvalue {eigenvalues[0] / eigenvalues[-1]:.0e} of the largest")
assert eigenvalues[0] > -1e-10 * eigenvalues[-1]

# %% [markdown]
# And a law about learning: with enough variables, a model that learns batch by batch agrees with an exact Gaussian
# process that has all data at once.

# %%
rng = np.random.default_rng(0)
times = torch.linspace(0, 10, 400, dtype=torch.float64)
signal = torch.sin(3 * times) * torch.cos(0.7 * times)
observed = signal + 0.1 * torch.from_numpy(rng.standard_normal(400))
likelihood = gpytorch.likelihoods.GaussianLikelihood()
likelihood.noise = 0.01


def learn(inducing: gpvae.inducing.InducingVariables) -> gpvae.OnlineGP:
    """A model that has seen ten batches once."""
    gp = gpvae.OnlineGP(inducing, kernel, likelihood, mean=gpytorch.means.ZeroMean())
    for batch in torch.arange(400).split(40):
        gp.update(times[batch], observed[batch])
    return gp


K = kernel(times[:, None]).to_dense()
exact = K @ torch.linalg.solve(K + 0.01 * torch.eye(400), observed)
families = {"Averages": Averages, "LegS": gpvae.inducing.LegS, "CosS": gpvae.inducing.CosS}
sizes = (10, 20, 30, 40, 60, 80)
warnings.simplefilter("ignore", gpvae.ResolutionWarning)  # it says, rightly, that the smallest sizes are too small
distances = {name: [] for name in families}
for name, make in families.items():
    for size in sizes:
        distances[name].append(float((learn(make(size)).latent(times).mean - exact).abs().mean()))
    print(f"{name:<10}" + "".join(f"{distance:>10.4f}" for distance in distances[name]))
assert distances["Averages"][-1] < 0.02

# %% [markdown]
# Rows are families, columns are 10 to 80 variables, and the numbers are mean distances to the exact Gaussian process.
# On this stream, averages do as well as cosines. The picture also shows what 30 averages remember.

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", num="Distance, and 30 averages")
for name, values in distances.items():
    left.semilogy(sizes, values, "o-", ms=3, label=name)
left.set_xlabel("number of variables M")
left.set_title("distance to the exact Gaussian process", loc="left", fontsize=10)
left.legend(frameon=False)
gp = learn(Averages(30))
predicted = gp.predict(times)
right.plot(times, observed, ".", color="black", ms=2)
right.plot(times, predicted.mean, color="tab:blue")
right.fill_between(
    times, predicted.mean - 2 * predicted.stddev, predicted.mean + 2 * predicted.stddev, color="tab:blue", alpha=0.2
)
for edge in torch.linspace(0, 10, 31):
    right.axvline(edge, color="grey", lw=0.4, ls=":")
right.set_title("30 averages after ten batches; their windows", loc="left", fontsize=10)
plt.show()

# %% [markdown]
# ## Save it, or share it
#
# The state of the model includes that of the family. It is loaded into a model that is built in the same way:

# %%
torch.save(gp.state_dict(), "averages.pt")

again = gpvae.OnlineGP(Averages(30), kernel, likelihood, mean=gpytorch.means.ZeroMean())
again.load_state_dict(torch.load("averages.pt", weights_only=True))
assert torch.equal(again.predict(times).mean, predicted.mean)
print(again)

# %% [markdown]
# `gp.save` and `OnlineGP.load` need no such model, but only know the families of the package. [A new inducing
# family](../howto/family.md) makes yours one of them: a name for the command line, an entry in the reference, and a
# line in the tests. There it has to satisfy every law for every kernel, with batches of latents, against an oracle:
#
# ```sh
# pytest tests/contracts -k Windows
# ```
