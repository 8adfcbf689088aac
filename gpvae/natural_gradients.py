"""Natural-gradient inference: a Gaussian site for every point in place of a free-form q(v) (Khan & Lin 2017).

With q(f_n) = N(m, s) and E = E_q log p(y_n | f_n), a step moves the site of point n towards precision -2 ∂E/∂s and
natural mean ∂E/∂m - 2 m ∂E/∂s. One full step is exact for a Gaussian likelihood; others take a few dozen steps, where
Adam takes thousands.
"""

import logging
from dataclasses import dataclass

import torch
from gpytorch.likelihoods import Likelihood
from torch import Tensor

from gpvae.bounds import task_elbo
from gpvae.likelihoods import expected_log_prob
from gpvae.posteriors import Posterior
from gpvae.sites import Site
from gpvae.utils.linalg import matvec

logger = logging.getLogger(__name__)

#: The search stops when even a step of this size does not raise the bound.
MIN_STEP = 1e-6


@dataclass
class PointSites:
    """The sites of a task's points, from which a search can continue.

    Attributes:
        precision: `[*L, N]`.
        natural_mean: `[*L, N]`.
    """

    precision: Tensor
    natural_mean: Tensor

    @classmethod
    def zero(cls, y: Tensor) -> "PointSites":
        """Sites without information."""
        return cls(torch.zeros_like(y), torch.zeros_like(y))

    def posterior(self, past: Site, a: Tensor) -> Posterior:
        """q(v) of the past and these sites."""
        h = past.h + matvec(a, self.natural_mean)
        return Posterior.from_site(Site(past.c, h, past.G + (a * self.precision[..., None, :]) @ a.mT))


def natural_posterior(
    past: Site,
    likelihood: Likelihood,
    a: Tensor,
    prior: Tensor,
    y: Tensor,
    *,
    steps: int = 1000,
    lr: float = 1.0,
    tolerance: float = 1e-9,
    sites: PointSites | None = None,
) -> tuple[Posterior, Tensor]:
    """The q(v) that maximises the online bound, and the bound, `[*L]`.

    Args:
        past: The old site, in the frame of the task.
        likelihood: The likelihood.
        a: Whitened features of the task's points, `[*L, M, N]`.
        prior: Prior variances of f there, `[*L, N]`.
        y: Targets, `[*L, N]`.
        steps: Maximum number of steps.
        lr: Step size, up to 1; halved when a step would lower the bound.
        tolerance: Stop when a step of size 1 would change the bound by less than this share.
        sites: Sites to start from, updated in place.
    """
    if not 0 < lr <= 1:
        raise ValueError(f"the step size of natural gradients must be above 0 and at most 1, got lr={lr}")
    sites = PointSites.zero(y) if sites is None else sites
    q = sites.posterior(past, a)
    bound = task_elbo(q, past, likelihood, a, prior, y, y.shape[-1])
    step = lr
    for _ in range(steps):
        mean, var = (value.detach().requires_grad_() for value in q.marginals(a, prior))
        with torch.enable_grad():
            expected = expected_log_prob(likelihood, y, mean, var).sum()
            by_mean, by_var = torch.autograd.grad(expected, (mean, var))
        target = (-2 * by_var).clamp_min(0)
        moved = PointSites(
            torch.lerp(sites.precision, target, step),
            torch.lerp(sites.natural_mean, by_mean + target * mean.detach(), step),
        )
        proposed = moved.posterior(past, a)
        new_bound = task_elbo(proposed, past, likelihood, a, prior, y, y.shape[-1])
        gain = float((new_bound - bound).sum() / bound.abs().sum())
        if not gain > -tolerance:  # the step is too long, or the bound NaN
            step /= 2
            if step < MIN_STEP:
                break
            continue
        sites.precision, sites.natural_mean = moved.precision, moved.natural_mean
        q, bound = proposed, new_bound
        if abs(gain) <= step * tolerance:
            return q, bound
        step = min(2 * step, lr)
    logger.info("natural gradients did not converge: the bound may be below its optimum")
    return q, bound
