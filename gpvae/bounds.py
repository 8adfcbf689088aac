"""Bounds on the log evidence of a stream."""

import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from torch import Tensor

from gpvae.likelihoods import expected_log_prob, some_points
from gpvae.posteriors import Posterior
from gpvae.sites import Site, gaussian_site, residual_variance
from gpvae.streaming import Frame, StreamingPosterior
from gpvae.utils.linalg import common_rows

#: Number of points whose features are computed at a time.
CHUNK_SIZE = 8192


def collapsed_site(
    posterior: StreamingPosterior,
    kernel: Kernel,
    noise: Tensor,
    x: Tensor,
    y: Tensor,
    weights: Tensor | None = None,
) -> tuple[Frame, Site]:
    """One site for past and present Gaussian data; its log evidence is the online bound with q(u) at its optimum.

    Args:
        posterior: The posterior, within a task.
        kernel: The kernel.
        noise: Noise variance, broadcast to `[*L, N]`.
        x: Inputs `[N, D]`.
        y: Targets `[*L, N]`.
        weights: Powers of the points' likelihoods, `[*L, N]`; one if not given.

    Returns:
        The frame of the task, and the site in it.
    """
    frame, past = posterior.task(kernel)
    return frame, past + data_site(frame, noise, x, y, posterior.power, weights)


def data_site(
    frame: Frame, noise: Tensor, x: Tensor, y: Tensor, power: float = 0.0, weights: Tensor | None = None
) -> Site:
    """The site of the Gaussian data of a task, or of a part of them: such sites add.

    Args:
        frame: The frame of the task.
        noise: Noise variance, broadcast to `[*L, N]`.
        x: Inputs `[N, D]`.
        y: Targets `[*L, N]`.
        power: α of power expectation propagation.
        weights: Powers of the points' likelihoods, `[*L, N]`; one if not given.
    """
    site = Site.zero(frame.L)
    noise = common_rows(noise, frame.L)
    noise = noise.expand(torch.broadcast_shapes(noise.shape, y.shape[-1:]))
    weights = None if weights is None else common_rows(weights, frame.L)
    for points in range(0, len(x), CHUNK_SIZE):
        part = slice(points, points + CHUNK_SIZE)
        a, prior = frame.features(x[part])
        w = None if weights is None else weights[..., part]
        site = site + gaussian_site(a, y[..., part], noise[..., part], residual_variance(a, prior), power, w)
    return site


def online_elbo(q: Posterior, past: Site, log_likelihood: Tensor) -> Tensor:
    """Σ E_q log p(y|f) - KL(q ‖ p) + E_q[log old site], `[*L]`.

    The last term equals KL(q̃ ‖ p_old) - KL(q̃ ‖ q_old) of the paper's equation 3 up to a constant.

    Args:
        q: q(v) in the frame of the task.
        past: The old site, transported to that frame.
        log_likelihood: Σ E_q log p(y|f) of the task, `[*L]`.
    """
    return log_likelihood - q.kl() + q.expected_log(past)


def expected_log_likelihood(
    q: Posterior, likelihood: Likelihood, a: Tensor, prior: Tensor, y: Tensor, num_data: int
) -> Tensor:
    """Σ_n E_q log p(y_n | f_n) of a task with `num_data` points, from a minibatch of them, `[*L]`."""
    mean, var = q.marginals(a, prior)
    return expected_log_prob(likelihood, y, mean, var).sum(-1) * (num_data / y.shape[-1])


def task_elbo(
    q: Posterior, past: Site, likelihood: Likelihood, a: Tensor, prior: Tensor, y: Tensor, num_data: int
) -> Tensor:
    """The online bound of a task with `num_data` points, from their features and targets or a minibatch, `[*L]`."""
    return online_elbo(q, past, expected_log_likelihood(q, likelihood, a, prior, y, num_data))


class FreeFormBound:
    """The online bound of a task that has begun, as a function of q(v) and of a minibatch.

    Args:
        posterior: The posterior, within a task.
        kernel: The kernel.
        likelihood: The likelihood.
        x: All inputs of the task, `[N, D]`.
        y: All targets, `[*L, N]`.
        fixed: Only q is trained, so quantities that depend on inputs and kernel are computed once.
    """

    def __init__(
        self, posterior: StreamingPosterior, kernel: Kernel, likelihood: Likelihood, x: Tensor, y: Tensor, fixed: bool
    ) -> None:
        self.posterior, self.kernel, self.likelihood = posterior, kernel, likelihood
        self.x, self.y, self.fixed = x, y, fixed
        with torch.no_grad():
            frame, self.past = posterior.task(kernel)  # when the task begins
            self._features = frame.features(x) if fixed else None

    def __call__(self, q: Posterior, points: Tensor | slice = slice(None)) -> Tensor:
        """The bound of the whole task, estimated from some of its points, `[*L]`."""
        if self._features is None:
            frame, past = self.posterior.task(self.kernel)
            a, prior = frame.features(self.x[points])
        else:
            past, (a, prior) = self.past, (part[..., points] for part in self._features)
        return task_elbo(q, past, some_points(self.likelihood, points), a, prior, self.y[..., points], len(self.x))
