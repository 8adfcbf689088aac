"""The processes of distributed training: rank and world size, the items of each, and reductions over all."""

import torch
import torch.distributed as dist
from torch import Tensor


def num_processes() -> int:
    """The number of processes that train together (world size)."""
    return dist.get_world_size() if is_distributed() else 1


def rank() -> int:
    """The rank of this process, from 0."""
    return dist.get_rank() if is_distributed() else 0


def sum_over_processes(value: Tensor) -> Tensor:
    """The sum of a tensor over all processes, on each of them; the tensor itself if there is only one process."""
    if not is_distributed():
        return value
    value = value.clone()
    dist.all_reduce(value)
    return value


def of_first_process(value: Tensor) -> Tensor:
    """A tensor of the first process, on each of them; the tensor itself if there is only one process."""
    if not is_distributed():
        return value
    value = value.clone()
    dist.broadcast(value, src=0)
    return value


def own_items(number: int) -> Tensor:
    """The items of this process among 0, 1, ...: every W-th, starting with its rank."""
    return torch.arange(rank(), number, num_processes())


def own_positions(items: Tensor) -> Tensor:
    """The positions of items of this process among all its items."""
    return items // num_processes() if num_processes() > 1 else items


def gather_rows(rows: Tensor) -> Tensor:
    """The rows of all processes in the order of items, on the first process; on others, their own rows.

    Args:
        rows: A row for each item of this process.
    """
    if not is_distributed():
        return rows
    counts = [torch.zeros((), dtype=torch.int64, device=rows.device) for _ in range(num_processes())]
    dist.all_gather(counts, torch.tensor(len(rows), device=rows.device))
    largest = int(max(counts))
    padded = torch.cat([rows, rows.new_zeros(largest - len(rows), *rows.shape[1:])])
    parts = [torch.empty_like(padded) for _ in counts] if rank() == 0 else None
    dist.gather(padded, parts)
    return rows if parts is None else torch.stack(parts, 1).flatten(0, 1)[: int(sum(counts))]


def leave_process_group() -> None:
    """Destroy the process group, if there is one, at the end of a program.

    Lightning destroys only those of NCCL. The threads of gloo would outlive the interpreter, and one that then releases
    a tensor aborts its process: a run that has written all its results would end as a failure
    (https://github.com/pytorch/pytorch/pull/179291).
    """
    if is_distributed():
        dist.destroy_process_group()


def is_distributed() -> bool:
    """Whether processes train together; they may be a single one."""
    return dist.is_available() and dist.is_initialized()
