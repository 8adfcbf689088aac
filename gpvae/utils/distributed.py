"""Which of the processes that train together this is, what is its own, and sums over all of them."""

import torch
import torch.distributed as dist
from torch import Tensor


def num_processes() -> int:
    """How many processes train together."""
    return dist.get_world_size() if _together() else 1


def process_number() -> int:
    """Which of them this is, from 0."""
    return dist.get_rank() if _together() else 0


def over_processes(value: Tensor) -> Tensor:
    """The sum of a tensor over all processes, on each of them; the tensor itself if there is but one."""
    if not _together():
        return value
    value = value.clone()
    dist.all_reduce(value)
    return value


def own(number: int) -> Tensor:
    """Of items 0, 1, ..., those of this process: every W-th of them, from its own number on."""
    return torch.arange(process_number(), number, num_processes())


def own_places(items: Tensor) -> Tensor:
    """Where items of this process are among its own."""
    return items // num_processes()


def gathered(rows: Tensor) -> Tensor:
    """The rows of all processes in the order of items, on the first process; elsewhere what is there already.

    Args:
        rows: A row for each item of this process.
    """
    if not _together():
        return rows
    counts = [torch.zeros((), dtype=torch.int64, device=rows.device) for _ in range(num_processes())]
    dist.all_gather(counts, torch.tensor(len(rows), device=rows.device))
    most = int(max(counts))
    padded = torch.cat([rows, rows.new_zeros(most - len(rows), *rows.shape[1:])])
    parts = [torch.empty_like(padded) for _ in counts] if process_number() == 0 else None
    dist.gather(padded, parts)
    return rows if parts is None else torch.stack(parts, 1).flatten(0, 1)[: int(sum(counts))]


def leave_process_group() -> None:
    """Leave the group of processes, where there is one and its work is done.

    Lightning leaves only those of NCCL. The threads of gloo would still be there when the interpreter goes, and one
    that then lets go of a tensor aborts its process: a run whose every result is written would end as a failure
    (https://github.com/pytorch/pytorch/pull/179291).
    """
    if _together():
        dist.destroy_process_group()


def _together() -> bool:
    return dist.is_available() and dist.is_initialized()
