"""Mixtures over the members of a bank."""

from torch import Tensor
from torch.distributions import Bernoulli, Categorical, Distribution, MixtureSameFamily, MultivariateNormal, Normal

from gpvae.utils.linalg import cholesky
from gpvae.utils.quantiles import PredictiveMixture, with_parameters

#: Members of less weight are left out of a mixture.
NEGLIGIBLE = 1e-8


def considerable(log_weights: Tensor) -> Tensor:
    """Indices `[K]` of the members whose weight is not negligible for some output; log weights are `[B, *L]`."""
    weights = log_weights.softmax(0).flatten(1) if log_weights.ndim > 1 else log_weights.softmax(0)[:, None]
    return (weights > NEGLIGIBLE).any(1).nonzero()[:, 0]


def mixture(log_weights: Tensor, members: Distribution) -> Distribution:
    """The mixture of members `[B, *L, N]` with weights `[B, *L]`.

    Args:
        log_weights: Logarithms of the weights, up to a constant.
        members: Normal, Bernoulli, or mixtures of counts.
    """
    kept = considerable(log_weights)
    logits = log_weights[kept].movedim(0, -1)[..., None, :]  # [*L, 1, K]
    if isinstance(members, Bernoulli):
        return Bernoulli((logits.softmax(-1) * members.probs[kept].movedim(0, -1)).sum(-1))
    if isinstance(members, MixtureSameFamily):  # over values of f: these and the members share one axis
        own = members.mixture_distribution.logits[kept].movedim(0, -2)
        joint = (own + logits[..., None].log_softmax(-2)).flatten(-2)
        parts = with_parameters(members.component_distribution, lambda p: p[kept].movedim(0, -2).flatten(-2))
        return PredictiveMixture(Categorical(logits=joint), parts)
    normal = Normal(members.mean[kept].movedim(0, -1), members.stddev[kept].movedim(0, -1))
    return PredictiveMixture(Categorical(logits=logits.expand(normal.mean.shape)), normal)


def joint_mixture(log_weights: Tensor, mean: Tensor, covariance: Tensor) -> PredictiveMixture:
    """The mixture of multivariate normals with weights `[B, *L]`.

    Args:
        log_weights: Logarithms of the weights, up to a constant.
        mean: `[B, *L, N]`.
        covariance: `[B, *L, N, N]`.
    """
    kept = considerable(log_weights)
    factors = cholesky(covariance[kept]).movedim(0, -3)
    parts = MultivariateNormal(mean[kept].movedim(0, -2), scale_tril=factors)
    return PredictiveMixture(Categorical(logits=log_weights[kept].movedim(0, -1)), parts)
