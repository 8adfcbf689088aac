"""Absorbing a task into a stream: in closed form, or by gradient ascent on the online bound."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from rich.progress import track
from torch import Tensor, nn

from gpvae.likelihoods import is_gaussian
from gpvae.natural import natural_posterior
from gpvae.objectives import collapsed_site, expected_log_likelihood, online_elbo
from gpvae.posteriors import FreeForm, Posterior
from gpvae.streaming import StreamingPosterior


@dataclass(frozen=True)
class Training:
    """How to train what has no closed form.

    q(u) alone is trained by natural gradients, unless anything here asks for Adam.

    Attributes:
        steps: Steps of Adam, 1,000 if not given.
        lr: Learning rate of Adam, 0.01 if not given.
        hyperparameters: Train kernel and likelihood too.
        batch_size: Minibatch size for likelihoods other than Gaussian; all points if not given.
        progress: Show a progress bar.
    """

    steps: int | None = None
    lr: float | None = None
    hyperparameters: bool = False
    batch_size: int | None = None
    progress: bool = False

    @property
    def asks_for_adam(self) -> bool:
        """Whether steps, learning rate or minibatches are spelt out."""
        return not (self.steps is None and self.lr is None and self.batch_size is None)


def absorb(
    stream: StreamingPosterior, kernel: Kernel, likelihood: Likelihood, x: Tensor, y: Tensor, how: Training
) -> None:
    """Absorb the data of a task that has begun, and end it.

    Args:
        stream: The stream, its inducing variables moved on to x.
        kernel: The kernel.
        likelihood: The likelihood.
        x: Inputs `[N, D]`.
        y: Targets `[*L, N]`.
        how: How to train.
    """
    trained = [p for p in stream.inducing.parameters() if p.requires_grad]
    if how.hyperparameters:
        trained += [p for m in (kernel, likelihood) for p in m.parameters() if p.requires_grad]
    with only_training(trained, kernel, likelihood, stream):
        if is_gaussian(likelihood):
            _absorb_conjugate(stream, kernel, likelihood, x, y, how, trained)
        else:
            _absorb_free_form(stream, kernel, likelihood, x, y, how, trained)
    if not bool(torch.isfinite(stream.h).all() & torch.isfinite(stream.G).all()):
        raise FloatingPointError("the update gave values that are not finite; scale inputs and targets")


def _absorb_conjugate(
    stream: StreamingPosterior,
    kernel: Kernel,
    likelihood: Likelihood,
    x: Tensor,
    y: Tensor,
    how: Training,
    trained: list[nn.Parameter],
) -> None:
    """The closed form, after training points and hyperparameters on the collapsed bound."""

    def objective() -> Tensor:
        return collapsed_site(stream, kernel, likelihood.noise, x, y)[1].log_evidence().sum() / y.numel()

    if trained:
        maximise(objective, trained, how)
    with torch.no_grad():
        stream.end(*collapsed_site(stream, kernel, likelihood.noise, x, y))


def _absorb_free_form(
    stream: StreamingPosterior,
    kernel: Kernel,
    likelihood: Likelihood,
    x: Tensor,
    y: Tensor,
    how: Training,
    trained: list[nn.Parameter],
) -> None:
    """Train q(v), starting from what the past says: by natural gradients where nothing else is trained, or by Adam.

    What does not depend on trained parameters is computed once.
    """
    with torch.no_grad():
        frame, past = stream.task(kernel)
        features = frame.features(x)
        if not trained and not how.asks_for_adam:
            posterior, bound = natural_posterior(past, likelihood, *features, y)
            return stream.end(frame, posterior.to_site(bound))
    q = FreeForm(Posterior.from_site(past))
    batches = _batches(len(x), how.batch_size, x.device)

    def elbo(i: Tensor | slice) -> Tensor:
        if trained:
            frame, old = stream.task(kernel)
            a, prior = frame.features(x[i])
        else:
            old, a, prior = past, features[0][..., i], features[1][..., i]
        posterior = q()
        data = expected_log_likelihood(posterior, likelihood, a, prior, y[..., i], len(x))
        return online_elbo(posterior, old, data)

    maximise(lambda: elbo(next(batches)).sum() / y.numel(), [*q.parameters(), *trained], how)
    with torch.no_grad():
        frame, _ = stream.task(kernel)
        stream.end(frame, q().to_site(elbo(slice(None))))


def maximise(objective: Callable[[], Tensor], parameters: Iterable[nn.Parameter], how: Training) -> None:
    """Maximise an objective with Adam.

    Args:
        objective: A scalar, evaluated anew at each step.
        parameters: What to train.
        how: Steps, learning rate and whether to show progress.

    Raises:
        FloatingPointError: The objective is no longer finite.
    """
    steps, lr = 1000 if how.steps is None else how.steps, 0.01 if how.lr is None else how.lr
    optimizer = torch.optim.Adam(list(parameters), lr=lr)
    for step in track(range(steps), description="updating", disable=not how.progress, transient=True):
        optimizer.zero_grad()
        loss = -objective()
        if not bool(torch.isfinite(loss)):
            raise FloatingPointError(
                f"the bound became {-loss.item()} at step {step} of {steps}; lower lr (now {lr:g}), "
                "or scale inputs and targets to moderate values"
            )
        loss.backward()
        optimizer.step()


@contextmanager
def only_training(parameters: Iterable[nn.Parameter], *modules: nn.Module) -> Iterator[None]:
    """Within the block, nothing in the modules requires a gradient but the given parameters."""
    trained = {id(p) for p in parameters}
    before = [(p, p.requires_grad) for module in modules for p in module.parameters()]
    try:
        for p, _ in before:
            p.requires_grad_(id(p) in trained)
        yield
    finally:
        for p, requires_grad in before:
            p.requires_grad_(requires_grad)
            p.grad = None


def _batches(num_data: int, batch_size: int | None, device: torch.device) -> Iterator[Tensor | slice]:
    """Index sets of minibatches without end, reshuffled at every pass."""
    rng = torch.Generator().manual_seed(0)
    while True:
        if batch_size is None or batch_size >= num_data:
            yield slice(None)
        else:
            yield from torch.randperm(num_data, generator=rng).to(device).split(batch_size)
