"""Online Gaussian process regression and classification in plain Python."""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from torch import Tensor, nn

from gpvae import hyperparameters, saving
from gpvae.diagnostics import LeftOver, warn_far_from_mean, warn_misfit, warn_unresolved
from gpvae.inducing import InducingVariables
from gpvae.inducing.auto import as_families
from gpvae.inference import Training, absorb, best_bound, check_finite
from gpvae.likelihoods import check_targets, is_gaussian
from gpvae.observations import Observations
from gpvae.predictive_gp import Arrays
from gpvae.presented_gp import PresentedGP
from gpvae.streaming import StreamingPosterior
from gpvae.utils import checks
from gpvae.utils.threads import one_at_a_time

#: Maximum number of points to whose exact evidence hyperparameters are fitted.
MAX_EXACT = 2000


class OnlineGP(PresentedGP):
    """A Gaussian process that learns from a stream, batch by batch, at constant cost, and keeps none of the data.

    Threads may share it: a prediction waits for the end of an update, and is that of before or after it.

    Args:
        inducing: A family of inducing variables; several, which are all updated, while the one with the highest bound
            predicts; or `"auto"` for LegS and CosS. Not given: CosS for one input, PivotedPoints for several.
        kernel: A gpytorch kernel, converted to double precision. Its batch shape `*L` gives independent outputs. Not
            given: a scaled Matérn-5/2 kernel, which is fitted to the first batch.
        likelihood: A gpytorch likelihood: Gaussian, the default; Student t or Laplace for targets with outliers;
            Bernoulli; negative binomial or Poisson.
        mean: A gpytorch mean. Its parameters are fitted to the first batch (Gaussian likelihood only) and stay. Not
            given: a constant for each output if the likelihood is Gaussian, else zero.
        num_inducing: Number of inducing variables for `inducing="auto"`, or if it is not given, where it is 100.
        num_outputs: Number K of outputs that share kernel, noise and precision. Targets and predictions are `[N, K]`,
            and cost little more than those of one output as long as all outputs of a point are observed. Not given:
            targets are `[*L, N]`.
        input_dim: Number of inputs, for a family and a kernel that are not given.
        power: 0 for the variational bound; above 0 for power expectation propagation (Gaussian likelihood only).
        time_unit: Unit in which times are counted: `s`, `m`, `h` or `D`; that of the kernel's lengthscale.
        buffer_size: Points given one by one wait until there are this many and are then consolidated as one batch;
            predictions take them into account from the first. 1 consolidates each at once.
    """

    #: What the inducing variables could not follow at the last update.
    left_over = LeftOver()

    def fit_hyperparameters(
        self,
        x: Arrays,
        y: Arrays,
        *,
        noise: Arrays | float | None = None,
        max_exact: int = MAX_EXACT,
        shortest: float | None = None,
    ) -> Self:
        """Fit the hyperparameters of kernel, likelihood and mean to one batch, without absorbing it.

        L-BFGS from several starts, within bounds, on the evidence of an exact GP, or on the sparse bound if there are
        more than `max_exact` points or the likelihood is not Gaussian.

        Args:
            x: Inputs `[N]` or `[N, D]`, or times.
            y: Targets `[*L, N]` or `[N, K]`; points at which one is NaN are left out.
            noise: Known noise variances of the points, `[N]` or `[*L, N]`.
            max_exact: Maximum number of points for an exact GP.
            shortest: Shortest lengthscale allowed, relative to the extent of the inputs; see `hyperparameters.fit`.
        """
        with self.all_or_nothing():
            self._fit(self._batch(x, y, noise=noise).complete(), max_exact, shortest)
        return self

    def _fit(self, batch: Observations, max_exact: int = MAX_EXACT, shortest: float | None = None) -> None:
        """Fit to a batch without missing values; see `fit_hyperparameters`."""
        self._fit_mean(batch, by_kernel=False)
        x, (y, likelihood) = batch.x, batch.centred(self.likelihood, self.mean(batch.x))
        exact = is_gaussian(self.likelihood) and len(x) <= max_exact
        objective = None if exact else lambda: self._trial_bound(x, y, likelihood)
        hyperparameters.fit(self.kernel, likelihood, x, y, make_objective=objective, shortest=shortest)
        self._fit_mean(batch)
        if self.awaits_fit:
            self.unfitted.fill_(False)

    @property
    def awaits_fit(self) -> bool:
        """Whether the kernel is the default one, and has not been fitted yet."""
        return "unfitted" in self._buffers and bool(self.unfitted) and not self.posterior.started

    def _fit_mean(self, batch: Observations, *, by_kernel: bool = True) -> None:
        """Fit the prior mean to Gaussian targets of the first batch, by generalised or ordinary least squares."""
        if is_gaussian(self.likelihood) and self.mean.can_be_fitted and not self.posterior.started:
            noise = self.likelihood.noise if batch.noise is None else batch.noise
            self.mean.fit(batch.x, batch.y, *((self.kernel, noise) if by_kernel else ()))

    def update(
        self,
        x: Arrays,
        y: Arrays,
        *,
        noise: Arrays | float | None = None,
        weights: Arrays | None = None,
        steps: int | None = None,
        lr: float | None = None,
        train_hyperparameters: bool = False,
        batch_size: int | None = None,
        progress: bool = False,
    ) -> Self:
        """Absorb a batch. On any error the model stays as it was.

        With a Gaussian likelihood the posterior has a closed form, and gradient steps are taken only to train inducing
        points or hyperparameters. With other likelihoods q(u) is found by natural gradients in a few dozen steps, or by
        Adam if `steps`, `lr` or `batch_size` are given or other parameters are trained.

        Args:
            x: Inputs `[N]` or `[N, D]`, or times.
            y: Targets `[*L, N]` or `[N, K]`; NaN are missing values.
            noise: Known noise variances of Gaussian targets, `[N]` or `[*L, N]`, in place of that of the likelihood.
            weights: Weights, `[N]` or `[*L, N]`: a point of weight w counts like w points.
            steps: Steps of Adam, if there are parameters to train; 1,000 if not given.
            lr: Learning rate of Adam, 0.01 if not given.
            train_hyperparameters: Also train kernel and likelihood; the site of the past is not changed.
            batch_size: Minibatch size for likelihoods other than Gaussian; all points if not given.
            progress: Show a progress bar.
        """
        training = Training(steps, lr, train_hyperparameters, batch_size, progress)
        with self.all_or_nothing(self.inputs, self.recent, *([self.mean] if self.mean.awaits_data else [])):
            batch = self._batch(x, y, noise=noise, weights=weights)
            points = self.recent.joined(batch, self._noise)
            leaps = self.posterior.started and self.inputs.leaps(batch.x)
            self.inputs.record(batch.x)
            if len(batch) == 1 and len(points) < self.recent.capacity and not (leaps or training.any_given):
                self._hold(points)
            else:
                self._consolidate(points, training)
        return self

    @one_at_a_time
    def consolidate(self) -> Self:
        """Consolidate the points that wait in the buffer now. On any error the model stays as it was."""
        if len(self.recent):
            self._consolidate(self.recent.observations(self._noise), Training())
        return self

    def _hold(self, points: Observations) -> None:
        """Let points wait, after a check that they can be learnt later."""
        for posterior in self.posteriors:
            posterior.inducing.check_inputs(points.x[-1:])
            if not posterior.started and len(points) == 1:
                copy.deepcopy(posterior.inducing).advance(self.kernel, points.x)
        check_finite(points.y[..., -1] ** 2)
        if self.mean.awaits_data and len(points).bit_count() == 1:
            self._fit_mean(points.complete())
            self.mean.fitted.fill_(False)  # until the first batch is consolidated
        self.recent.hold(points)

    def _consolidate(self, batch: Observations, training: Training) -> None:
        """Absorb a batch as one task of every posterior, in place of the points that wait."""
        with self.all_or_nothing():
            self.recent.clear()
            self._prepare(batch)
            x, (y, likelihood) = batch.x, batch.centred(self.likelihood, self.mean(batch.x))
            leader = int(self.best)
            for posterior in (self.posterior, *(s for i, s in enumerate(self.posteriors) if i != leader)):
                self.learn(posterior, likelihood, x, y, training)
                training = replace(training, train_hyperparameters=False)  # only once, with the first posterior
            self.conclude(x, y, likelihood)

    def _prepare(self, batch: Observations) -> None:
        """Fit to the first batch what has not been fitted yet."""
        if self.awaits_fit and len(batch) > 1:
            self._fit(batch.complete())
        if self.mean.awaits_data:
            self._fit_mean(batch.complete())

    def learn(
        self, posterior: StreamingPosterior, likelihood: Likelihood, x: Tensor, y: Tensor, training: Training
    ) -> None:
        """Learn a task with one of the posteriors.

        Args:
            posterior: The posterior.
            likelihood: The likelihood of the task.
            x: Inputs `[N, D]`.
            y: Targets, centred, `[*L, N]`.
            training: How to train.
        """
        posterior.begin(self.kernel, x)
        absorb(posterior, self.kernel, likelihood, x, y, training)

    def conclude(self, x: Tensor, y: Tensor, likelihood: Likelihood | None = None, at_optimum: bool = True) -> None:
        """Select the posterior with the highest bound after a task, and warn if the model does not suit the data.

        Args:
            x: Inputs of the task, `[N, D]`.
            y: Targets, centred, `[*L, N]`.
            likelihood: Their likelihood; that of the model if not given.
            at_optimum: Whether q(u) is at its optimum, so that a misfit is due to the model.
        """
        if len(self.posteriors) > 1:
            bounds = [float(posterior.site.log_evidence().sum()) for posterior in self.posteriors]
            self.best.fill_(bounds.index(max(bounds)))
        self.input_dim.fill_(x.shape[-1])
        likelihood = likelihood or self.likelihood
        self.left_over = LeftOver.of(self.posterior, self.kernel, likelihood, x, int(self.inputs.num_points))
        if warn_unresolved(self.inducing, self.kernel, self.left_over, stacklevel=5):
            return
        if not at_optimum or not is_gaussian(likelihood):
            return
        if not warn_far_from_mean(self.kernel, likelihood, x, y, stacklevel=6):
            warn_misfit(self.posterior, self.kernel, likelihood, x, y, stacklevel=6)

    @one_at_a_time
    def replace_inducing(self, inducing: InducingVariables) -> Self:
        """Continue with another family, or more variables of the same, keeping what has been learnt.

        Args:
            inducing: The new family, for instance `LegS(300)` after a warning that 150 are too few.
        """
        (family,) = as_families([inducing])
        posterior = copy.deepcopy(self.posterior)
        posterior.lost.zero_()
        posterior.replace(self.kernel, family)
        self.posteriors = nn.ModuleList([posterior])  # type: ignore[assignment]
        self.best.zero_()
        num_points = int(self.inputs.num_points)
        self.left_over = LeftOver(float(posterior.lost) / max(num_points, 1), num_points=num_points)
        warn_unresolved(self.inducing, self.kernel, self.left_over, stacklevel=3)
        return self

    @one_at_a_time
    def save(self, path: str | Path) -> None:
        """Write the model to a file: classes by name, their arguments, and the state. `OnlineGP.load` reads it.

        Args:
            path: The file, which is replaced if it exists.

        Raises:
            TypeError: Kernel, likelihood, mean or family is of a class of yours; save `state_dict()` instead.
        """
        if self.awaits_fit:
            raise RuntimeError("the default kernel is fitted to the first batch: learn one before the model is saved")
        kernel, likelihood, options = self._arguments()
        parts = {"kernel": kernel, "likelihood": likelihood, "mean": self.mean.mean}
        model: dict[str, Any] = {name: saving.to_plain(part) for name, part in parts.items()}
        model["inducing"] = [saving.to_plain(posterior.inducing) for posterior in self.posteriors]
        state = {name: value for name, value in self.state_dict().items() if name != "unfitted"}
        saving.save(model | {"options": options}, state, path)

    def _arguments(self) -> tuple[Kernel, Likelihood, dict[str, Any]]:
        """Kernel, likelihood and options from which the constructor builds this model again."""
        options = {"power": self.posterior.power, "time_unit": self.inputs.time_unit, "num_outputs": self.num_outputs}
        options["buffer_size"] = self.recent.capacity
        given = {name: value for name, value in options.items() if value is not None}
        return self.kernel, self.likelihood, given

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The model that `save` has written. Only known classes are built and only tensors read: no code is run.

        Args:
            path: The file.

        Raises:
            ValueError: The file is damaged, names other classes, or its state contradicts itself.
        """
        return saving.load(path, cls)

    def check(self, x: Arrays, y: Arrays) -> tuple[Tensor, Tensor]:
        """Convert inputs to `[N, D]` and targets to `[*L, N]`; raise if they are not valid."""
        x = self._checked_inputs(x)
        y = checks.targets(y, x, self.mean.batch_shape, columns=self.outputs.shared)
        check_targets(self.likelihood, y)
        return x, y

    def _batch(self, x: Arrays, y: Arrays, **options: Any) -> Observations:
        """A batch of points, checked."""
        return Observations.of(
            self.likelihood,
            self._checked_inputs(x, learn=True),
            y,
            self.mean.batch_shape,
            columns=self.outputs.shared,
            **options,
        )

    def _trial_bound(self, x: Tensor, y: Tensor, likelihood: Likelihood) -> Callable[[], Tensor]:
        """The bound of a posterior that starts with x, as a function of the hyperparameters."""
        trial = StreamingPosterior(copy.deepcopy(self.inducing)).to(x.device)
        trial.begin(self.kernel, x)
        return best_bound(trial, self.kernel, likelihood, x, y)
