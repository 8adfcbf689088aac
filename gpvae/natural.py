"""Natural-gradient inference: a Gaussian site for every point in place of a free-form q(v) (Khan & Lin 2017).

With q(f_n) = N(m, s) and E = E_q log p(y_n | f_n), a step moves the site of point n towards precision -2 ∂E/∂s and
natural mean ∂E/∂m - 2 m ∂E/∂s. For a Gaussian likelihood one full step is exact; for others a few dozen steps do what
takes Adam thousands.
"""

import torch
from gpytorch.likelihoods import Likelihood
from torch import Tensor

from gpvae.likelihoods import expected_log_prob
from gpvae.objectives import expected_log_likelihood, online_elbo
from gpvae.posteriors import Posterior
from gpvae.sites import Site


def natural_posterior(
    past: Site,
    likelihood: Likelihood,
    a: Tensor,
    prior: Tensor,
    y: Tensor,
    steps: int = 1000,
    lr: float = 1.0,
    tolerance: float = 1e-9,
) -> tuple[Posterior, Tensor]:
    """The q(v) that maximises the online bound, and the bound, `[*L]`.

    Args:
        past: The old site, in the frame of the task.
        likelihood: The likelihood.
        a: Whitened features of the task's points, `[*L, M, N]`.
        prior: Prior variances of f there, `[*L, N]`.
        y: Targets, `[*L, N]`.
        steps: Most steps to take.
        lr: Step size, up to 1; halved where a step would lower the bound.
        tolerance: Stop when a step of size 1 would change the bound by less than this share.
    """
    if not 0 < lr <= 1:
        raise ValueError(f"the step size of natural gradients lies above 0 and up to 1, got lr={lr}")
    precision, natural_mean = torch.zeros_like(y), torch.zeros_like(y)
    q = Posterior.from_site(past)
    bound = _bound(q, past, likelihood, a, prior, y)
    step = lr
    for _ in range(steps):
        mean, var = (value.detach().requires_grad_() for value in q.marginals(a, prior))
        with torch.enable_grad():
            expected = expected_log_prob(likelihood, y, mean, var).sum()
            by_mean, by_var = torch.autograd.grad(expected, (mean, var))
        target = (-2 * by_var).clamp_min(0)
        new_precision = torch.lerp(precision, target, step)
        new_mean = torch.lerp(natural_mean, by_mean + target * mean.detach(), step)
        h = past.h + (a @ new_mean[..., None])[..., 0]
        proposed = Posterior.from_site(Site(past.c, h, past.G + (a * new_precision[..., None, :]) @ a.mT))
        new_bound = _bound(proposed, past, likelihood, a, prior, y)
        gain = float((new_bound - bound).sum() / bound.abs().sum())
        if not gain > -tolerance:  # too far, or not a number
            step /= 2
            if step < 1e-6:
                break
            continue
        precision, natural_mean, q, bound = new_precision, new_mean, proposed, new_bound
        if abs(gain) <= step * tolerance:
            break
        step = min(2 * step, lr)
    return q, bound


def _bound(q: Posterior, past: Site, likelihood: Likelihood, a: Tensor, prior: Tensor, y: Tensor) -> Tensor:
    return online_elbo(q, past, expected_log_likelihood(q, likelihood, a, prior, y, y.shape[-1]))
