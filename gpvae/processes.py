"""Sums over the processes that train together."""

import torch.distributed as dist
from torch import Tensor


def over_processes(value: Tensor) -> Tensor:
    """The sum of a tensor over all processes, on each of them; the tensor itself if there is but one."""
    if not (dist.is_available() and dist.is_initialized()):
        return value
    value = value.clone()
    dist.all_reduce(value)
    return value


def num_processes() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
