"""The predictions of a bank of kernels: mixtures over its members."""

import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from torch import Tensor
from torch.distributions import Distribution, MultivariateNormal, Normal

from gpvae.bank.members import member_kernel, member_likelihood, scaled_kernel, scaled_likelihood
from gpvae.bank.mixture import considerable, joint_mixture, mixture
from gpvae.likelihoods import is_gaussian, predictive
from gpvae.online_gp import OnlineGP
from gpvae.predictive_gp import Arrays
from gpvae.utils import checks
from gpvae.utils.describe import describe
from gpvae.utils.linalg import cholesky, matvec
from gpvae.utils.threads import one_at_a_time
from gpvae.utils.transactional import LARGEST


class PredictiveBank(OnlineGP):
    """The weights and scales of a `Bank`, and its predictions."""

    built: Tensor
    log_weights: Tensor
    dof: Tensor
    square: Tensor
    learns_scale: bool
    #: Seconds that the last update took.
    seconds: float | None = None

    @property
    def num_members(self) -> int:
        """Number of members B."""
        return self.kernel.batch_shape[0]

    @property
    def num_bytes(self) -> int:
        """Memory that the state takes."""
        return sum(t.numel() * t.element_size() for t in (*self.buffers(), *self.parameters()))

    @property
    def weights(self) -> Tensor:
        """Weights of the members, `[B, *L]`; they sum to one."""
        return self.log_weights[int(self.best)].softmax(0)

    @property
    def scale(self) -> Tensor:
        """Factors of kernel and noise of each member, `[B, *L]`."""
        return self._scales[int(self.best)]

    @property
    def _scales(self) -> Tensor:
        """The mean of s ~ inverse gamma(dof / 2, square / 2), of every family, `[F, B, *L]`."""
        return self.square / (self.dof - 2)

    @property
    def strongest_member(self) -> int:
        """Index of the member with the largest weight."""
        return int(self.log_weights[int(self.best)].reshape(self.num_members, -1).sum(-1).argmax())

    def check_predictions(self) -> None:
        """Raise ValueError unless weights, scales and a prediction are finite."""
        values = torch.stack([self.log_weights, self.dof, self.square, self._scales])
        if not bool((values.abs() < LARGEST).all()) or not bool((self._scales > 1 / LARGEST).all()):
            raise ValueError("the state has weights or scales of members that are not finite or not positive")
        self.strongest()
        super().check_predictions()

    @one_at_a_time
    def strongest(self) -> tuple[Kernel, Likelihood]:
        """Kernel and likelihood of the member with the largest weight, scale included, for use in other models."""
        index = self.strongest_member
        kernel, likelihood = member_kernel(self.kernel, index), member_likelihood(self.likelihood, index)
        if self.learns_scale:
            scale = self.scale[index]
            kernel, likelihood = scaled_kernel(kernel, scale), scaled_likelihood(likelihood, scale)
        return kernel, likelihood

    @one_at_a_time
    @torch.no_grad()
    def bound(self) -> Tensor:
        """Log density that the bank predicted for all data so far, batch by batch, `[*L]`."""
        return self.log_weights[int(self.best)].logsumexp(0)

    @one_at_a_time
    def latent(self, x: Arrays, joint: bool = False) -> Distribution:
        """The posterior of f, a mixture over the members: marginals `[*L, N]`, or their joint distribution.

        Args:
            x: Inputs `[N]` or `[N, D]`. If they are a tensor that requires gradients, so does the result.
            joint: Return the joint distribution of all function values.
        """
        log_weights = self.log_weights[int(self.best)]
        return joint_mixture(log_weights, *self._joint_members(x)) if joint else mixture(log_weights, self._members(x))

    def _query(self, x: Arrays) -> Tensor:
        """Inputs to predict at; a batch of them is refused, because the members are the leading axis of mixtures."""
        return self._checked_inputs(x)

    def _members(self, x: Arrays) -> Normal:
        """The posterior of f of every member, `[B, *L, N]`."""
        f = super().latent(x)
        return Normal(f.mean, f.stddev * self.scale[..., None].sqrt())

    def _joint_members(self, x: Arrays) -> tuple[Tensor, Tensor]:
        """Means `[B, *L, N]` and covariances `[B, *L, N, N]` of f of every member."""
        f = super().latent(x, joint=True)
        assert isinstance(f, MultivariateNormal)
        return f.mean, self.scale[..., None, None] * f.covariance_matrix

    @one_at_a_time
    def predict(self, x: Arrays, *, noise: Arrays | float | None = None, joint: bool = False) -> Distribution:
        """The predictive distribution of y at each input, a mixture over the members.

        Args:
            x: Inputs `[N]` or `[N, D]`. If they are a tensor that requires gradients, so does the result.
            noise: Known noise variances of Gaussian targets, `[N]` or `[*L, N]`, instead of that of the members.
            joint: Return the joint distribution of all y; needs a Gaussian likelihood.
        """
        gaussian = is_gaussian(self.likelihood)
        if (joint or noise is not None) and not gaussian:
            raise ValueError(f"joint and noise are for a Gaussian likelihood, not {type(self.likelihood).__name__}")
        log_weights = self.log_weights[int(self.best)]
        if not gaussian:
            f = self._members(x)
            return mixture(log_weights, predictive(self.likelihood, f.mean, f.variance))
        mean, total = self._joint_members(x) if joint else _moments(self._members(x))
        added = self._noise_of_members() if noise is None else checks.per_point("noise", noise, mean, positive=True)
        added = added.expand(mean.shape)
        if joint:
            return joint_mixture(log_weights, mean, total + torch.diag_embed(added))
        return mixture(log_weights, Normal(mean, (total + added).sqrt()))

    def _noise_of_members(self) -> Tensor:
        """Noise variances of the members, `[B, *L, 1]`."""
        return (self.likelihood.noise * self.scale[..., None]).detach()

    @one_at_a_time
    @torch.no_grad()
    def sample(self, x: Arrays, num_samples: int = 1, seed: int | None = None) -> Tensor:
        """Draw functions f from the posterior, each from a member drawn by weight, `[num_samples, *L, N]`.

        Args:
            x: Inputs `[N]` or `[N, D]`.
            num_samples: Number of functions.
            seed: Seed; the global random state if not given.
        """
        return self._sample(x, num_samples, seed)[0]

    def _sample(self, x: Arrays, num_samples: int, seed: int | None) -> tuple[Tensor, Tensor]:
        """Functions f, and the member `[num_samples, *L]` from which each was drawn."""
        (mean, covariance), log_weights = self._joint_members(x), self.log_weights[int(self.best)]
        rng = None if seed is None else torch.Generator(log_weights.device).manual_seed(seed)
        z = torch.randn(num_samples, *mean.shape[1:], dtype=mean.dtype, device=mean.device, generator=rng)
        draw = torch.rand(z.shape[:-1], dtype=mean.dtype, device=mean.device, generator=rng)
        member = (draw > log_weights.softmax(0).cumsum(0)[:, None]).sum(0).clamp_max(self.num_members - 1)
        kept = considerable(log_weights)
        samples = torch.zeros_like(z)
        for index, L in zip(kept.tolist(), cholesky(covariance[kept]), strict=True):
            samples = torch.where((member == index)[..., None], mean[index] + matvec(L, z), samples)
        return samples, member

    @one_at_a_time
    @torch.no_grad()
    def sample_targets(self, x: Arrays, num_samples: int = 1) -> Tensor:
        """Draw observations y, jointly over the inputs; see `OnlineGP.sample_targets`."""
        f, member = self._sample(x, num_samples, None)
        if not is_gaussian(self.likelihood):
            return self.likelihood(f).sample()
        noise = self._noise_of_members().expand(*self.kernel.batch_shape, 1)[..., 0].gather(0, member)
        return Normal(f, noise.sqrt()[..., None]).sample()

    @one_at_a_time
    @torch.no_grad()
    def reconstruct(self, x: Arrays) -> Distribution:  # type: ignore[override]
        """The finite-basis reconstruction, a mixture over the members; see `OnlineGP.reconstruct`."""
        f = super().reconstruct(x)
        return mixture(self.log_weights[int(self.best)], Normal(f.mean, f.stddev * self.scale[..., None].sqrt()))

    def __repr__(self) -> str:
        """Number of members, the strongest of them, memory, and the time of the last update."""
        kernel, likelihood = self.strongest()
        weight = float(self.weights.reshape(self.num_members, -1).mean(-1).max())
        parts = [self._families, f"{self.num_members} members"]
        if self.built:
            parts.append(f"strongest ({weight:.0%}): {describe(kernel)}, {describe(likelihood)}")
        taken = "" if self.seconds is None else f", {self.seconds:.2g} s for the last update"
        points = f"{int(self.inputs.num_points):,} points learnt"
        return f"{type(self).__name__}({', '.join(parts)}; {points}; {self.num_bytes / 1e6:.1f} MB{taken})"


def _moments(f: Normal) -> tuple[Tensor, Tensor]:
    return f.mean, f.variance
