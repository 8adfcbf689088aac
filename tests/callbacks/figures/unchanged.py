"""A check that figures leave the module and the random state unchanged."""

import torch
from lightning.pytorch import Callback, LightningModule, Trainer

from tests.toys import states_equal


class Unchanged(Callback):
    """Calls another callback after each epoch, and compares module and random state before and after.

    Args:
        callback: The other callback.
    """

    def __init__(self, callback: Callback) -> None:
        self.callback, self.num_calls = callback, 0

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        before = {name: value.clone() for name, value in pl_module.state_dict().items()}
        modes, random = [part.training for part in pl_module.modules()], torch.get_rng_state()
        self.callback.on_train_epoch_end(trainer, pl_module)
        assert states_equal(before, pl_module.state_dict())
        assert modes == [part.training for part in pl_module.modules()]
        assert torch.equal(random, torch.get_rng_state())
        assert torch.is_grad_enabled()
        self.num_calls += 1
