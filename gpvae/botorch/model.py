"""An `OnlineGP` as a BoTorch model."""

import copy
from typing import Any, Self

import torch
from botorch.acquisition.objective import PosteriorTransform
from botorch.models.model import FantasizeMixin, Model
from botorch.posteriors import GPyTorchPosterior, Posterior
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.likelihoods import Likelihood
from linear_operator import to_linear_operator
from torch import Tensor

from gpvae.botorch.fantasies import Fantasies, of_function
from gpvae.likelihoods import is_gaussian
from gpvae.online_gp import OnlineGP


class OnlineGPModel(Model, FantasizeMixin):
    """A BoTorch model of constant size, for its acquisition functions.

    Args:
        gp: The Gaussian process, with a Gaussian likelihood. The batch shape of its kernel, `[]` or `[m]`, gives
            independent outputs.
        fantasies: Hypothetical observations; see `fantasize`.
    """

    def __init__(self, gp: OnlineGP, fantasies: Fantasies | None = None) -> None:
        super().__init__()
        if not is_gaussian(gp.likelihood):
            raise TypeError(f"a Gaussian likelihood is needed, got {type(gp.likelihood).__name__}")
        if len(gp.kernel.batch_shape) > 1:
            raise ValueError(f"a kernel of batch shape [] or [m] is needed, got {tuple(gp.kernel.batch_shape)}")
        if gp.num_outputs is not None:
            raise ValueError(
                "outputs that share a kernel (num_outputs) are not supported here: give a kernel with "
                f"batch_shape=torch.Size([{gp.num_outputs}])"
            )
        if gp.mean.batch_shape != gp.kernel.batch_shape:  # whose first axis gives the members of a bank
            raise TypeError(
                f"the posterior of a {type(gp).__name__} is a mixture, but BoTorch needs a normal one: use OnlineGP"
            )
        self.gp = gp
        self.fantasies = fantasies

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood of the Gaussian process."""
        return self.gp.likelihood

    @property
    def num_outputs(self) -> int:
        """The number of outputs m."""
        return self.gp.kernel.batch_shape.numel()

    @property
    def batch_shape(self) -> torch.Size:
        """The batch shape of the fantasies, if there are any."""
        return torch.Size() if self.fantasies is None else self.fantasies.batch_shape

    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> Posterior:
        """The joint posterior of all outputs at the q points of each batch.

        Args:
            X: `[*B, q, d]`.
            output_indices: The outputs wanted; all if not given.
            observation_noise: Add the noise of the likelihood, or noise variances `[*B, q, m]`.
            posterior_transform: Applied to the posterior.
        """
        X = self.transform_inputs(X)
        f = self.gp.latent(X, joint=True) if self.fantasies is None else self.fantasies.posterior(self.gp, X)
        assert isinstance(f, MultivariateNormal)
        if observation_noise is not False:
            noise = self._noise if observation_noise is True else observation_noise
            added = torch.diag_embed(of_function(self.gp, noise).expand(f.mean.shape))
            f = MultivariateNormal(f.mean, to_linear_operator(f.covariance_matrix + added))
        posterior = GPyTorchPosterior(self._by_output(f, output_indices))
        return posterior if posterior_transform is None else posterior_transform(posterior=posterior, X=X)

    @property
    def _noise(self) -> Tensor:
        """The noise variances of the likelihood, `[1, m]`."""
        return self.likelihood.noise.detach().reshape(1, -1).expand(1, self.num_outputs)

    def _by_output(self, f: MultivariateNormal, indices: list[int] | None) -> MultivariateNormal:
        """`[*B, m, q]` as a distribution over `[*B, q, m]`."""
        if not self.gp.kernel.batch_shape:
            if indices not in (None, [0]):
                raise ValueError(f"output_indices={indices}, but there is one output")
            return f
        if indices is not None:
            f = MultivariateNormal(f.mean[..., indices, :], f.covariance_matrix[..., indices, :, :])
        if f.mean.shape[-2] == 1:
            return MultivariateNormal(f.mean[..., 0, :], f.covariance_matrix[..., 0, :, :])
        return MultitaskMultivariateNormal.from_batch_mvn(f, task_dim=-1)

    def condition_on_observations(self, X: Tensor, Y: Tensor, noise: Tensor | None = None, **_: Any) -> Self:
        """A model that has learnt more observations, or is conditioned on hypothetical ones.

        Observations `[n, d]` are learnt by a copy of the Gaussian process, which does not grow except for the few
        points in its buffer. A batch `[*B, n, d]` of observations, and all that follow it, are fantasies: the posterior
        is conditioned on them exactly, with gradients, at a cost cubic in their number.

        Args:
            X: Points `[*B, n, d]`.
            Y: Observed values `[*B', n, m]`.
            noise: Their noise variances, if these are known.
        """
        X = self.transform_inputs(X)
        if X.ndim == 2 and Y.ndim == 2 and self.fantasies is None:
            known = None if noise is None else of_function(self.gp, noise)
            return type(self)(copy.deepcopy(self.gp).update(X.detach(), of_function(self.gp, Y).detach(), noise=known))
        supposed = Fantasies(X, Y, self._noise if noise is None else noise)
        return type(self)(self.gp, supposed if self.fantasies is None else self.fantasies.followed_by(supposed))
