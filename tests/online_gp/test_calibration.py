"""Uncertainty is calibrated in all tasks, from the first to the last, after the whole stream."""

import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood

from gpvae import OnlineGP
from gpvae.inducing import CosS, InducingVariables, LegS, PivotedPoints
from gpvae.kernels import covariance


@pytest.mark.parametrize("family", [LegS, CosS, PivotedPoints], ids=lambda family: family.__name__)
def test_intervals_cover_what_they_say_in_every_task(family: type[InducingVariables]) -> None:
    """Central 90 % intervals contain 90 % of held-out observations, over 20 draws from the model."""
    kernel = ScaleKernel(RBFKernel()).double()
    kernel.base_kernel.lengthscale = 0.5
    likelihood = GaussianLikelihood().double()
    likelihood.noise = 0.1
    rng = torch.Generator().manual_seed(0)
    tasks, per_task = 8, 60
    x = 10 * torch.rand(tasks * per_task, generator=rng, dtype=torch.float64).sort().values
    with torch.no_grad():
        L = torch.linalg.cholesky(covariance(kernel, x[:, None], x[:, None]) + 1e-8 * torch.eye(len(x)))
    test = torch.arange(len(x)) % 2 == 0
    inside = torch.zeros(len(x))
    for _ in range(20):
        f = L @ torch.randn(len(x), generator=rng, dtype=torch.float64)
        y = f + likelihood.noise.item() ** 0.5 * torch.randn(len(x), generator=rng, dtype=torch.float64)
        gp = OnlineGP(family(50), kernel, likelihood)
        for part in torch.arange(len(x)).split(per_task):
            seen = part[~test[part]]
            gp.update(x[seen], y[seen])
        y_dist = gp.predict(x)
        inside += ((y - y_dist.mean).abs() < 1.645 * y_dist.stddev).float() / 20
    for part in torch.arange(len(x)).split(per_task):
        assert 0.85 < float(inside[part][test[part]].mean()) < 0.95
