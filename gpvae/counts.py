"""Log densities of gpytorch's count likelihoods that stay finite where softplus(f) underflows."""

import torch
from gpytorch.likelihoods import NegativeBinomialLikelihood, PoissonLikelihood
from torch import Tensor
from torch.nn.functional import softplus


def log_softplus(f: Tensor) -> Tensor:
    """log log(1 + e^f), which is f itself far below zero."""
    return torch.where(f < -30, f, softplus(f.clamp_min(-30)).log())


def log_prob(likelihood: PoissonLikelihood | NegativeBinomialLikelihood, y: Tensor, f: Tensor) -> Tensor:
    """log p(y | f). Poisson: rate softplus(f). Negative binomial: mean softplus(f), k = softplus(f) (1 - p) / p.

    Γ(y + k) / Γ(k) is written with Γ(k) = Γ(k + 1) / k.
    """
    log_rate, rate = log_softplus(f), softplus(f)
    if isinstance(likelihood, PoissonLikelihood):
        return y * log_rate - rate - torch.lgamma(y + 1)
    p = likelihood.probs.clamp(1e-6, 1 - 1e-6)
    odds = torch.ones_like(p) if likelihood.num_failures_param else (1 - p) / p
    k, log_k = rate * odds, log_rate + odds.log()
    log_total = torch.where(y == 0, log_k, (y + k.clamp_min(torch.finfo(k.dtype).tiny)).log())
    rising = torch.lgamma(y + k + 1) - log_total - torch.lgamma(k + 1) + log_k
    return rising - torch.lgamma(y + 1) + k * torch.log1p(-p) + y * p.log()
