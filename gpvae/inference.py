"""Absorbing a task into a streaming posterior: in closed form, or by gradient ascent on the online bound."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from torch import Tensor, nn

from gpvae.bounds import FreeFormBound, collapsed_site, task_elbo
from gpvae.likelihoods import is_gaussian, weights_of
from gpvae.natural_gradients import PointSites, natural_posterior
from gpvae.posteriors import FreeForm, Posterior
from gpvae.sites import Site
from gpvae.streaming import Frame, StreamingPosterior
from gpvae.utils.progress import track


@dataclass(frozen=True)
class Training:
    """Options of training by gradients.

    Adam trains inducing points and hyperparameters, with q(u) at its optimum, in closed form or by natural gradients.
    It trains q(u) itself with minibatches, or if nothing else is trained and steps or lr are given.

    Attributes:
        steps: Steps of Adam, 1,000 if not given.
        lr: Learning rate of Adam, 0.01 if not given.
        train_hyperparameters: Train kernel and likelihood too.
        batch_size: Minibatch size for likelihoods other than Gaussian; all points if not given.
        progress: Show a progress bar, in a terminal.
    """

    steps: int | None = None
    lr: float | None = None
    train_hyperparameters: bool = False
    batch_size: int | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        for name, least in (("steps", 0), ("batch_size", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        if self.lr is not None and not self.lr > 0:
            raise ValueError(f"lr must be positive, got {self.lr}")

    def takes_minibatches(self, num_data: int) -> bool:
        """Whether the data are split into minibatches."""
        return self.batch_size is not None and self.batch_size < num_data

    @property
    def any_given(self) -> bool:
        """Whether any option of training is given."""
        return self.adam_given or self.train_hyperparameters

    @property
    def adam_given(self) -> bool:
        """Whether steps, learning rate or minibatches are given."""
        return not (self.steps is None and self.lr is None and self.batch_size is None)


def absorb(
    posterior: StreamingPosterior, kernel: Kernel, likelihood: Likelihood, x: Tensor, y: Tensor, training: Training
) -> None:
    """Absorb the data of a task that has begun, and end it.

    Args:
        posterior: The posterior, its inducing variables advanced to x.
        kernel: The kernel.
        likelihood: The likelihood.
        x: Inputs `[N, D]`.
        y: Targets `[*L, N]`.
        training: How to train.
    """
    trained = [p for p in posterior.inducing.parameters() if p.requires_grad]
    if training.train_hyperparameters:
        trained += [p for m in (kernel, likelihood) for p in m.parameters() if p.requires_grad]
    by_adam = training.takes_minibatches(len(x)) or (training.adam_given and not trained)
    with only_training(trained, kernel, likelihood, posterior):
        if by_adam and not is_gaussian(likelihood):
            _train_free_form(posterior, kernel, likelihood, x, y, training, trained)
        else:
            if trained:
                bound = best_bound(posterior, kernel, likelihood, x, y)
                maximise(lambda: bound() / y.numel(), trained, training)
            solve(posterior, kernel, likelihood, x, y)
    for p in chain(posterior.parameters(), kernel.parameters(), likelihood.parameters()):
        p.grad = None
    check_finite(posterior.c, posterior.h, posterior.G)


def check_finite(*results: Tensor) -> None:
    """Raise unless all results of an update are finite."""
    if not all(bool(torch.isfinite(result).all()) for result in results):
        raise FloatingPointError("the update produced NaN or infinite values; scale inputs and targets")


@torch.no_grad()
def solve(posterior: StreamingPosterior, kernel: Kernel, likelihood: Likelihood, x: Tensor, y: Tensor) -> None:
    """End the task with the best q(u): in closed form, or by natural gradients."""
    posterior.adapt_to_kernel(kernel)
    if is_gaussian(likelihood):
        posterior.end(*_gaussian_task(posterior, kernel, likelihood, x, y))
    else:
        frame, past = posterior.task(kernel)
        q, bound = natural_posterior(past, likelihood, *frame.features(x), y)
        posterior.end(frame, q.to_site(bound))


def _gaussian_task(
    posterior: StreamingPosterior, kernel: Kernel, likelihood: Likelihood, x: Tensor, y: Tensor
) -> tuple[Frame, Site]:
    """The frame of a task of Gaussian data, and the site of past and task."""
    return collapsed_site(posterior, kernel, likelihood.noise, x, y, weights_of(likelihood))


def _train_free_form(
    posterior: StreamingPosterior,
    kernel: Kernel,
    likelihood: Likelihood,
    x: Tensor,
    y: Tensor,
    training: Training,
    trained: list[nn.Parameter],
) -> None:
    """Train q(v) by Adam, starting from the posterior given the past, together with the other trained parameters."""
    elbo = FreeFormBound(posterior, kernel, likelihood, x, y, fixed=not trained)
    q = FreeForm(Posterior.from_site(elbo.past).expand(*y.shape[:-1]))
    batches = _batches(len(x), training.batch_size, x.device)
    noisy = training.takes_minibatches(len(x))
    maximise(lambda: elbo(q(), next(batches)).sum() / y.numel(), [*q.parameters(), *trained], training, noisy)
    end_free_form(elbo, q())


@torch.no_grad()
def end_free_form(elbo: FreeFormBound, q: Posterior) -> None:
    """End the task of a free-form bound with the q(v) that training has found."""
    elbo.posterior.adapt_to_kernel(elbo.kernel)
    frame, _ = elbo.posterior.task(elbo.kernel)
    elbo.posterior.end(frame, q.to_site(elbo(q)))


def best_bound(
    posterior: StreamingPosterior,
    kernel: Kernel,
    likelihood: Likelihood,
    x: Tensor,
    y: Tensor,
    sites: PointSites | None = None,
) -> Callable[[], Tensor]:
    """The bound of a task that has begun, with q(u) at its optimum, as a function of the hyperparameters.

    If the likelihood is not Gaussian, the optimum is found by natural gradients. There the bound is stationary in q, so
    its gradient is the one with q held fixed.

    Args:
        posterior: The posterior, its inducing variables advanced to x.
        kernel: The kernel.
        likelihood: The likelihood.
        x: Inputs `[N, D]`.
        y: Targets `[*L, N]`.
        sites: Sites from which natural gradients start, updated in place at each call; zero if not given.
    """

    def conjugate() -> Tensor:
        return _gaussian_task(posterior, kernel, likelihood, x, y)[1].log_evidence().sum()

    start = PointSites.zero(y) if sites is None else sites

    def free_form() -> Tensor:
        frame, past = posterior.task(kernel)
        a, prior = frame.features(x)
        with torch.no_grad():
            q, _ = natural_posterior(past, likelihood, a, prior, y, steps=100, tolerance=1e-7, sites=start)
        return task_elbo(q, past, likelihood, a, prior, y, len(x)).sum()

    return conjugate if is_gaussian(likelihood) else free_form


def maximise(
    objective: Callable[[], Tensor], parameters: list[nn.Parameter], training: Training, noisy: bool = False
) -> None:
    """Maximise an objective with Adam, and keep the best parameters found.

    Args:
        objective: Returns a scalar; called at each step.
        parameters: The parameters to train.
        training: Steps, learning rate and whether to show progress.
        noisy: The objective is a minibatch estimate, so the last parameters are kept instead of the best.

    Raises:
        FloatingPointError: The objective is no longer finite.
    """
    steps, lr = 1000 if training.steps is None else training.steps, 0.01 if training.lr is None else training.lr
    optimizer = torch.optim.Adam(parameters, lr=lr)
    best, best_value = [p.detach().clone() for p in parameters], -torch.inf
    for step in track(range(steps + 1), "updating", shown=training.progress):
        optimizer.zero_grad()
        value = objective()
        if not bool(torch.isfinite(value)):
            raise FloatingPointError(
                f"the bound became {value.item()} at step {step} of {steps}; lower lr (now {lr:g}), "
                "or scale inputs and targets to moderate values"
            )
        if noisy or value.item() > best_value:
            best, best_value = [p.detach().clone() for p in parameters], value.item()
        if step < steps:
            (-value).backward()
            optimizer.step()
    for parameter, kept in zip(parameters, best, strict=True):
        parameter.data = kept


@contextmanager
def only_training(parameters: Iterable[nn.Parameter], *modules: nn.Module) -> Iterator[None]:
    """Within the block, only the given parameters of the modules require gradients."""
    trained = {id(p) for p in parameters}
    before = [(p, p.requires_grad) for module in modules for p in module.parameters()]
    try:
        for p, _ in before:
            p.requires_grad_(id(p) in trained)
        yield
    finally:
        for p, requires_grad in before:
            p.requires_grad_(requires_grad)


def _batches(num_data: int, batch_size: int | None, device: torch.device) -> Iterator[Tensor | slice]:
    """An endless iterator over minibatch indices, reshuffled after every pass."""
    rng = torch.Generator().manual_seed(0)
    while True:
        if batch_size is None or batch_size >= num_data:
            yield slice(None)
        else:
            yield from torch.randperm(num_data, generator=rng).to(device).split(batch_size)
