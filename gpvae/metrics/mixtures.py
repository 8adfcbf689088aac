"""Predictive distributions as mixtures over samples of f."""

import torch
from gpytorch.likelihoods import GaussianLikelihood, Likelihood
from torch import Tensor
from torch.distributions import Categorical, Distribution, MixtureSameFamily, Normal


def monte_carlo(likelihood: Likelihood, f_samples: Tensor) -> MixtureSameFamily:
    """The mixture 1/S Σ_s p(y | f_s), point by point.

    Its `log_prob` is log 1/S Σ_s p(y | f_s), not the mean of log p(y | f_s): what `NLPD` needs.

    Args:
        likelihood: A gpytorch likelihood of one latent function.
        f_samples: Samples of f, of shape `[S, ...]`.

    Example:
        >>> import torch
        >>> from gpytorch.likelihoods import PoissonLikelihood
        >>> y = monte_carlo(PoissonLikelihood(), torch.zeros(5, 3))  # five samples of f at three points
        >>> print(tuple(y.batch_shape))
        (3,)
    """
    f = f_samples.movedim(0, -1)
    gaussian = isinstance(likelihood, GaussianLikelihood)
    return equal_mixture(Normal(f, likelihood.noise.sqrt()) if gaussian else likelihood(f))


def equal_mixture(components: Distribution) -> MixtureSameFamily:
    """The mixture with equal weights over the last batch dimension of some distributions."""
    return MixtureSameFamily(Categorical(logits=torch.zeros_like(components.mean)), components)
