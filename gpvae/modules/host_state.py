"""State that stays on the host if the device of a trainer has no float64."""

from collections.abc import Callable
from typing import Any, Self

import torch
from lightning import LightningModule
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor, nn

from gpvae.utils.devices import move_in_place, supports_float64


class HostState(LightningModule):
    """A module whose state stays on the host if it is moved to a device without float64.

    Gaussian processes and metrics are computed in float64. On such a device only training steps in float32 are taken:
    the networks are there between `leave_for` and `come_home`. Everything else runs on the host, as it does without
    the device. On a device with float64, the whole module is always there.

    Attributes:
        step_device: The device for training steps in float32; `device` is that of the state.
        step_modules: Parts in float32 that training steps train or read.
    """

    step_device: torch.device
    step_modules: list[nn.Module]

    def __init__(self) -> None:
        super().__init__()
        self.step_device = self._steps_on = self.device
        self.step_modules = []
        self._optimizer_states: list[dict[str, Any]] = []

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move the module; see `torch.nn.Module.to`."""
        device, dtype, non_blocking, _ = torch._C._nn._parse_to(*args, **kwargs)
        if device is None:
            return super().to(*args, **kwargs)
        self.step_device = torch.empty(0, device=device).device  # with its index
        home = self.step_device if supports_float64(self.step_device) else torch.device("cpu")
        self._steps_on = home
        return super().to(home, dtype, non_blocking)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move or convert the module by any method; where there is float64, steps are taken where the state is."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if supports_float64(self.step_device):
            self.step_device = self._steps_on = self.device
        return self

    def cpu(self) -> Self:
        """Move the module to the CPU."""
        return self.to(torch.device("cpu"))

    def setup(self, stage: str) -> None:
        """Say what runs where if the device of the trainer has no float64; raise if there are several processes."""
        if supports_float64(device := self.trainer.strategy.root_device):
            return
        if self.trainer.world_size > 1:
            raise ValueError(
                f"{self.trainer.world_size} processes exchange sums in float64, which {device} does not have: use "
                "--trainer.devices 1, or --trainer.accelerator cpu"
            )
        steps = f", and training steps in float32 on {device}" if self.step_modules else ""
        rank_zero_info(f"{device} has no float64: Gaussian processes and scores are computed on the CPU{steps}")

    def _apply_batch_transfer_handler(self, batch: Any, device: object = None, dataloader_idx: int = 0) -> Any:  # noqa: ANN401
        """Move a batch to the state; Lightning warns if the public hook is overridden beside a datamodule."""
        return super()._apply_batch_transfer_handler(batch, self.device, dataloader_idx)

    def leave_for(self, device: torch.device) -> None:
        """Move networks to a device, where the steps of a task are taken until `come_home`."""
        if device != self.step_device:
            rank_zero_info(f"the steps of this task are in float64, so they are taken on {device}")
        self._steps_on = device
        self._move_networks(device)

    def come_home(self) -> None:
        """Move networks back to the state."""
        self._steps_on = self.device
        self._move_networks(self.device)

    def _move_networks(self, device: torch.device) -> None:
        for part in self.step_modules:
            move_in_place(part, device)

    def on_validation_start(self) -> None:
        """Evaluate where the state is, also within a task."""
        self._move_networks(self.device)

    def on_validation_end(self) -> None:
        """Continue the task, if there is one."""
        self._move_networks(self._steps_on)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keep the states of optimisers, some of them in float64, from the device; after a task they are of no use."""
        states = checkpoint.get("optimizer_states")
        if not states or self._trainer is None or supports_float64(self.trainer.strategy.root_device):
            return
        within_task = checkpoint["state_dict"]["begun"] > checkpoint["state_dict"]["learned"]
        self._optimizer_states = states if within_task else []
        checkpoint["optimizer_states"] = [{**state, "state": {}} for state in states]

    def on_train_start(self) -> None:
        """Give the optimisers of a resumed run their states, on the devices of their parameters."""
        for optimizer, state in zip(self.trainer.optimizers, self._optimizer_states, strict=False):
            optimizer.load_state_dict(state)
        self._optimizer_states = []
