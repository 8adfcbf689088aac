"""The processes of distributed training: rank and world size, the items of each, and reductions over all."""

import torch
import torch.distributed as dist
from torch import Tensor

#: Largest number of bytes of rows that all processes send at once.
MAX_BYTES = 2**24


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
    """The rows of all processes in the order of items, in the host memory of the first process; on others, their own.

    Rows are sent in parts of at most `MAX_BYTES` in all, so that neither device nor host holds a second copy of them.

    Args:
        rows: A row for each item of this process.
    """
    if not is_distributed():
        return rows
    world, total = num_processes(), int(sum_over_processes(torch.tensor(len(rows), device=rows.device)))
    largest = -(-total // world)  # number of rows of the process that has most
    size = min(largest, max(1, MAX_BYTES // (world * max(1, rows[:1].nbytes))))
    sent, *received = rows.new_empty(1 + world * (rank() == 0), size, *rows.shape[1:])
    whole = torch.empty(total, *rows.shape[1:], dtype=rows.dtype) if rank() == 0 else rows
    for begin in range(0, largest, size):
        part = rows[begin : begin + size]
        sent[: len(part)] = part
        dist.gather(sent, received or None)
        for process, of_process in enumerate(received):
            place = whole[process::world][begin : begin + size]
            place.copy_(of_process[: len(place)])
    return whole


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
