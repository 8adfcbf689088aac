"""LightningModules that learn a stream of tasks."""

from gpvae.modules.base import ContinualModule
from gpvae.modules.streaming_gp import StreamingGP

__all__ = ["ContinualModule", "StreamingGP"]
