"""State that stays on the host if the device of a trainer has no float64."""

from typing import Any, Self

import torch
from lightning import LightningModule
from lightning.pytorch.utilities import rank_zero_info

from gpvae.utils.devices import supports_float64


class HostState(LightningModule):
    """A module whose state stays on the host if it is moved to a device without float64.

    Gaussian processes and metrics are computed in float64. On such a device a module only takes steps in float32, and
    everything else runs on the host, as it does without the device.

    Attributes:
        step_device: The device for training steps in float32; `device` is that of the state.
    """

    step_device: torch.device

    def __init__(self) -> None:
        super().__init__()
        self.step_device = self.device
        self._optimizer_states: list[dict[str, Any]] = []

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move the module; see `torch.nn.Module.to`."""
        device, dtype, non_blocking, _ = torch._C._nn._parse_to(*args, **kwargs)
        if device is None:
            return super().to(*args, **kwargs)
        self.step_device = torch.empty(0, device=device).device  # with its index
        home = self.step_device if supports_float64(device) else torch.device("cpu")
        return super().to(home, dtype, non_blocking)

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
        rank_zero_info(
            f"{device} has no float64: Gaussian processes and scores are computed on the CPU, and only training steps "
            f"in float32 on {device}"
        )

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:  # noqa: ANN401
        """Move a batch to the state."""
        return super().transfer_batch_to_device(batch, self.device, dataloader_idx)

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
