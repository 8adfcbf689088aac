"""A conventional GP-VAE with gpytorch: a batch SVGP for the latents, and MLPs. It does not learn from streams.

The latents are an `ApproximateGP` of batch shape [series, L] with inducing points in time, a whitened variational
strategy and a Cholesky factor for each q(u); kuu, its factor and kuf are computed in every step. The decoder, its
noise, the clock and the kernels are those of this package. Two ways to infer the latents:

* `encoder=False`: Σ log p(y | f) - KL(q(u) ‖ p(u)) with a draw of f. The same model and bound as ours on a first task;
  q(u) is free-form, so no encoder is needed.
* `encoder=True`: the encoder returns q(z_t) = N(ỹ_t, ṽ_t) and the SVGP is the prior of z, with a little noise s:
  Σ log p(y | z) + H[q(z)] + E_q(z)[Σ E_q(f) log N(z; f, s²) - KL(q(u) ‖ p(u))], the last term gpytorch's ELBO.
"""

import math

import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import Kernel
from gpytorch.means import ZeroMean
from gpytorch.models import ApproximateGP
from gpytorch.variational import CholeskyVariationalDistribution, VariationalStrategy
from torch import Tensor, nn
from torch.distributions import Normal

from gpvae.methods import latent_kernel
from gpvae.vae.networks import Clock, Decoder, Encoder

#: Initial lengthscales in hours, as in this package.
SHORTEST, LONGEST = 3.0, 100.0


class Latents(ApproximateGP):
    """One SVGP over time for each series and latent dimension."""

    def __init__(self, Z: Tensor, series: int, kernel: Kernel) -> None:
        shape = torch.Size([series, *kernel.batch_shape])
        q = CholeskyVariationalDistribution(len(Z), batch_shape=shape).to(Z)
        points = Z[:, None].expand(*shape, -1, -1).contiguous()
        super().__init__(VariationalStrategy(self, points, q, learn_inducing_locations=True))
        self.mean_module, self.covar_module = ZeroMean(), kernel

    def forward(self, x: Tensor) -> MultivariateNormal:
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


class PlainGPVAE(nn.Module):
    """The model for some tasks.

    Args:
        times: Hours that the inducing points are spread over, `[T]`.
        series: Number of series.
        num_variables: Number of observed variables V.
        num_inducing: Number of inducing points M.
        latent_dim: Number of latent dimensions L.
        hidden_dim: Width of the hidden layers.
        periods: Periods of the clock.
        encoder: Whether an encoder infers the latents, see above.
    """

    def __init__(
        self,
        times: Tensor,
        series: int,
        num_variables: int,
        num_inducing: int = 50,
        latent_dim: int = 20,
        hidden_dim: int = 64,
        periods: tuple[float, ...] = (24.0,),
        encoder: bool = False,
    ) -> None:
        super().__init__()
        self.clock = Clock(periods)
        self.decoder = Decoder(latent_dim, num_variables, hidden_dim, num_phases=len(periods))
        self.encoder = Encoder(num_variables, latent_dim, hidden_dim, len(periods)) if encoder else None
        self.log_s = nn.Parameter(torch.tensor(math.log(0.3), dtype=torch.float64)) if encoder else None
        Z = torch.linspace(float(times[0]), float(times[-1]), num_inducing, dtype=torch.float64)
        self.latents = Latents(Z, series, latent_kernel("rbf", latent_dim, SHORTEST, LONGEST))

    def bound(self, times: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        """The bound of all series together.

        Args:
            times: `[T]`.
            y: Observations `[B, T, V]`.
            mask: Which of them are observed.
        """
        f = self.latents(times[:, None])
        divergence = self.latents.variational_strategy.kl_divergence().sum()
        clock = self.clock(times)
        if self.encoder is None or self.log_s is None:
            z, prior = Normal(f.mean, f.stddev).rsample(), 0.0
        else:
            mean, precision = self.encoder(y, mask, clock)
            q, s = Normal(mean, precision.rsqrt()), self.log_s.exp()
            z = q.rsample()
            prior = (Normal(f.mean, s).log_prob(z) - f.variance / (2 * s**2) + q.entropy()).sum()
        log_prob = Normal(*self.decoder(z, clock)).log_prob(torch.where(mask, y, 0.0))
        return torch.where(mask, log_prob, 0.0).double().sum() + prior - divergence

    def optimiser(self, lr: float = 0.005) -> torch.optim.Optimizer:
        """Adam, with a higher learning rate for scales, as in this package, and for q(u) and inducing points."""
        networks = [p for part in (self.encoder, self.decoder.network) if part is not None for p in part.parameters()]
        known = {id(p) for p in networks}
        others = [p for p in self.parameters() if id(p) not in known]
        return torch.optim.Adam([{"params": networks}, {"params": others, "lr": 10 * lr}], lr=lr)
