"""The streaming Gaussian process as a LightningModule."""

import warnings
from typing import Any, Literal, get_args

import torch
from gpytorch.means import ZeroMean
from lightning.pytorch.utilities import rank_zero_info, rank_zero_warn
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torch.distributions import Distribution

from gpvae.bank import DEFAULT_SIZE, Bank
from gpvae.diagnostics import MisfitWarning, ResolutionWarning, warn_unresolved
from gpvae.inference import only_training
from gpvae.methods import (
    LIKELIHOODS,
    Inference,
    KernelName,
    LikelihoodName,
    Scalar,
    build_kernel,
    build_method_families,
    find_method,
)
from gpvae.metrics import Foresight, for_likelihood
from gpvae.modules.base import ContinualModule
from gpvae.modules.learners import Collapsed, FreeFormLearner, Learner, OnePass, WholeTask
from gpvae.online_gp import OnlineGP
from gpvae.utils import checks

Hyperparameters = Literal["fixed", "fit_first_task", "train_first_task", "train_always", "bank"]
#: Fewer steps of Adam leave q(u) near its prior.
FEW_STEPS = 100


class StreamingGP(ContinualModule):
    """A Gaussian process that learns a stream of tasks: OSGPR, OVC, OVFF, OHSGPR and their SVGP forms.

    If the likelihood is Gaussian and nothing is trained by gradients, an epoch is one pass in closed form, without an
    optimiser.

    Args:
        method: A method of the literature: OSGPR, OSVGP, OVC, OVC-optZ, OVC-per-dim, OVFF, OHSGPR or OHSVGP; a family
            of inducing variables, such as CosS; or `auto`, which runs LegS and CosS and uses the better bound.
        num_inducing: Number of inducing variables M.
        likelihood: Likelihood of the targets.
        kernel: Kernel, with a lengthscale for each input dimension. Default: Matérn-5/2 for OVFF, otherwise RBF.
        input_dim: Dimension of the inputs.
        inducing: Another family of inducing variables for the method, such as LegT, LagT, FouT or CosS for OHSGPR.
        inducing_options: Options of the family, such as `{ordering: kernel_max}` for LegSPath.
        inference: `collapsed` keeps q(u) at its optimum at each step, in closed form or by natural gradients;
            `free_form` trains it by Adam, which takes thousands of steps. Default: that of the method, such as
            `free_form` for OSVGP and OHSVGP; otherwise `collapsed`.
        hyperparameters: `fixed` keeps the given kernel and likelihood; `fit_first_task` fits them by an exact GP on the
            first task (by the sparse bound if the likelihood is not Gaussian or there are many points);
            `train_first_task` trains them by gradients during the first task; `train_always` in every task; `bank`
            learns with a grid of them and weighs these by what they predicted, see `gpvae.Bank`.
        lengthscale: Lengthscale to start from.
        outputscale: Kernel variance to start from.
        noise: Noise variance to start from, for a Gaussian likelihood.
        shortest: Shortest lengthscale that `fit_first_task` may find, relative to the extent of the inputs.
        lr: Learning rate of Adam.
        power: 0 for the variational bound; above 0, up to 1, for power expectation propagation.
        seed: Seed of sampled points, frequencies and random orderings.
        bank_size: Maximum number of members of a bank, 24 if not given.
    """

    changeable = frozenset({"lr"})

    def __init__(
        self,
        method: str = "OHSGPR",
        num_inducing: int = 50,
        *,
        likelihood: LikelihoodName = "gaussian",
        kernel: KernelName | None = None,
        input_dim: int = 1,
        inducing: str | None = None,
        inducing_options: dict[str, Scalar] | None = None,
        inference: Inference | None = None,
        hyperparameters: Hyperparameters = "fit_first_task",
        lengthscale: float | None = None,
        outputscale: float | None = None,
        noise: float | None = None,
        shortest: float | None = None,
        lr: float = 0.01,
        power: float = 0.0,
        seed: int = 0,
        bank_size: int | None = None,
    ) -> None:
        checks.choice("likelihood", likelihood, LIKELIHOODS)
        checks.choice("hyperparameters", hyperparameters, get_args(Hyperparameters))
        checks.positive(lr=lr, lengthscale=lengthscale, outputscale=outputscale, noise=noise)
        super().__init__(for_likelihood(likelihood))
        self.save_hyperparameters()
        if likelihood == "gaussian":
            self.foresight = Foresight([*self.scores.names, "coverage"])
        self.lr, self.hyperparameters, self.shortest = lr, hyperparameters, shortest
        preset = find_method(method)
        parts = (
            build_method_families(preset, inducing, num_inducing, input_dim, seed, inducing_options),
            build_kernel(kernel or preset.kernel, input_dim),
            LIKELIHOODS[likelihood](),
        )
        if hyperparameters == "bank":
            self.gp: OnlineGP = Bank(*parts, size=bank_size or DEFAULT_SIZE, mean=ZeroMean(), power=power)
        elif bank_size is not None:
            raise ValueError(f"bank_size={bank_size} was given, but hyperparameters is {hyperparameters}, not bank")
        else:
            self.gp = OnlineGP(*parts, mean=ZeroMean(), power=power)
        self._start_from(lengthscale, outputscale, noise)
        self.learner = self._build_learner(inference or preset.inference or "collapsed")
        self._warned: dict[type[Warning], int] = {}  # after how many tasks
        self._num_steps: int | None = None  # of the present task, if it began here
        self.automatic_optimization = bool(self._optimised)
        if self._optimised:
            chosen = {id(p) for p in self._optimised}
            for p in self.parameters():
                p.requires_grad_(id(p) in chosen)

    def _start_from(self, lengthscale: float | None, outputscale: float | None, noise: float | None) -> None:
        if lengthscale is not None:
            self.gp.kernel.base_kernel.lengthscale = lengthscale
        if outputscale is not None:
            self.gp.kernel.outputscale = outputscale
        if noise is not None:
            if not hasattr(self.gp.likelihood, "noise"):
                raise ValueError(f"noise={noise} was given, but only a Gaussian likelihood has noise")
            self.gp.likelihood.noise = noise

    def _build_learner(self, inference: Inference) -> Learner:
        checks.choice("inference", inference, get_args(Inference))
        families = [posterior.inducing for posterior in self.gp.posteriors]
        trains = bool(self._trained_by_gradients(task=0))
        if isinstance(self.gp, Bank):
            if trains or (inference == "free_form" and self.hparams["inference"] is not None):
                raise ValueError(
                    "a bank learns in closed form or by natural gradients, and trains nothing: leave out inference: "
                    "free_form, and use a method without trained inducing points"
                )
            return WholeTask()
        if self.hyperparameters == "train_always" and not all(family.follows_kernel for family in families):
            raise ValueError(
                f"{type(families[0]).__name__} does not support a kernel that changes after the first task: use "
                "hyperparameters: fit_first_task or train_first_task"
            )
        if len(families) > 1 and (trains or inference == "free_form" or self.hparams["likelihood"] != "gaussian"):
            raise ValueError(
                f"{len(families)} families can be compared in closed form only, with a Gaussian likelihood and "
                "hyperparameters that are not trained by gradients; choose one of them, such as method: CosS"
            )
        if inference == "free_form":
            return FreeFormLearner(self.hparams["num_inducing"])
        if trains or self.hparams["likelihood"] != "gaussian":
            return Collapsed()
        return OnePass(self.hparams["num_inducing"], len(families))

    def _trained_by_gradients(self, task: int) -> list[nn.Parameter]:
        """The parameters other than q(u) that are trained in a task."""
        trained = [p for posterior in self.gp.posteriors for p in posterior.inducing.parameters()]
        if self.hyperparameters == "train_always" or (self.hyperparameters == "train_first_task" and task == 0):
            trained += self._hyperparameters
        return trained

    @property
    def _optimised(self) -> list[nn.Parameter]:
        """The parameters that any task trains; collected when asked for, because `.to()` may replace parameters."""
        return [*self.learner.parameters(), *self._trained_by_gradients(task=0)]

    def _trained(self) -> list[nn.Parameter]:
        """The parameters that are trained in the present task."""
        return [*self.learner.parameters(), *self._trained_by_gradients(self.learned)]

    @property
    def _hyperparameters(self) -> list[nn.Parameter]:
        return [*self.gp.kernel.parameters(), *self.gp.likelihood.parameters()]

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Adam on the parameters trained by gradients; no optimiser if there are none."""
        return [torch.optim.Adam(self._optimised, lr=self.lr)] if self._optimised else []

    @property
    def attached(self) -> bool:
        """Whether the data of the present task are attached."""
        return self.learner.attached

    def check_task(self, *data: Tensor) -> None:
        """Raise if inputs or targets do not suit the likelihood."""
        self.gp.check(*data)

    def begin_task(self, *data: Tensor) -> None:
        """Advance the inducing variables to a new task; before the first, fit the hyperparameters to it.

        Args:
            data: Inputs `[N, D]` and targets `[N]`.
        """
        x, y = self.gp.check(*data)
        if self.learned == 0 and self.hyperparameters in ("fit_first_task", "bank"):
            with only_training(self._hyperparameters, self.gp):
                self.gp.fit_hyperparameters(x, y, shortest=self.shortest)
        self.learner.begin(self.gp, x)
        self._num_steps = 0
        super().begin_task(x, y)

    def attach_task(self, *data: Tensor) -> None:
        """Attach the data of the task that has begun.

        Args:
            data: Inputs `[N, D]` and targets `[N]`.
        """
        x, y = self.gp.check(*data)
        self.learner.attach(self.gp, x, y, fixed=not self._trained_by_gradients(self.learned))

    def training_step(self, batch: tuple[Tensor, Tensor, Tensor], batch_idx: int) -> Tensor | None:
        """One step on a batch of inputs, targets and their indices in the task."""
        if self._num_steps is not None:
            self._num_steps += 1
        with only_training(self._trained(), self.gp, self.learner):
            loss = self.learner.loss(self.gp, *batch)
        if loss is None and self._optimised:  # nothing to train in this task
            loss = torch.zeros_like(self.gp.posterior.c)
        if loss is None:
            return None
        if not bool(torch.isfinite(loss)):
            raise FloatingPointError(
                f"the bound became {-loss.item()} in task {self.begun}, step {batch_idx}; lower lr "
                f"(now {self.lr:g}), or scale inputs and targets to moderate values"
            )
        self.log("train/loss", loss, prog_bar=True)
        # DistributedDataParallel requires every parameter of the optimiser to take part in the loss.
        return loss + 0.0 * sum(p.sum() for p in self.frozen_parameters())

    def frozen_parameters(self) -> list[nn.Parameter]:
        """Hyperparameters after the first task, unless they are trained throughout."""
        trained = {id(p) for p in self._trained()}
        return [p for p in self._optimised if id(p) not in trained]

    def end_task(self) -> None:
        """Consolidate the posterior; each kind of warning about the model is shown once.

        After more tasks, `on_train_end` repeats the warning about too few variables with the final number.
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.learner.end(self.gp)
        if self.learned == 0 and isinstance(self.learner, FreeFormLearner):
            self._report_few_steps()
        super().end_task()
        for warning in caught:
            if warning.category not in self._warned:
                rank_zero_warn(str(warning.message), category=warning.category)
            if warning.category in (ResolutionWarning, MisfitWarning):
                self._warned.setdefault(warning.category, int(self.learned))

    def _report_few_steps(self) -> None:
        if self._num_steps is not None and self._num_steps < FEW_STEPS:
            rank_zero_info(
                f"q(u) of the first task was trained by {self._num_steps} step(s) of Adam, too few to leave its prior: "
                "take more (--data.steps_per_epoch 1000), or find its optimum (--model.inference collapsed)."
            )

    def on_train_end(self) -> None:
        """Warn with the number of variables that the whole stream needs, if they were too few."""
        if self._warned.get(ResolutionWarning, int(self.learned)) < int(self.learned):
            kernel = self.gp.strongest()[0] if isinstance(self.gp, Bank) else self.gp.kernel
            warn_unresolved(self.gp.inducing, kernel, self.gp.left_over, stacklevel=2)

    def on_validation_epoch_end(self) -> None:
        """Also log the bound on the log evidence of all data so far."""
        super().on_validation_epoch_end()
        self.log("bound", self.gp.bound().sum(), sync_dist=True)

    def predict(self, x: Tensor) -> Distribution:
        """The marginal predictive distribution of y at each input `[N, D]`, from the tasks learnt so far."""
        return self.gp.predict(x)

    def predictive(self, batch: tuple[Tensor, Tensor, Tensor]) -> tuple[Distribution, Tensor]:
        """The predictive distribution of a batch of test points, and their targets."""
        x, y, _ = batch
        return self.predict(x), y

    def lead_time(self, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """The position of each point in its task, from 1: how many points ahead of the last one learnt it is."""
        return batch[2] + 1

    def predict_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> dict[str, Tensor]:  # noqa: ANN401
        """Inputs, targets, predictive mean and standard deviation, and the indices of the points in their task."""
        distribution, y = self.predictive(batch)
        return {"x": batch[0], "y": y, "mean": distribution.mean, "stddev": distribution.stddev, "index": batch[2]}
