"""The group that processes of one run form, and how they part."""

from torch import distributed


def leave() -> None:
    """Leave the group of processes, where there is one and its work is done.

    Lightning leaves only those of NCCL. The threads of gloo would still be there when the interpreter goes, and one
    that then lets go of a tensor aborts its process: a run whose every result is written would end as a failure
    (https://github.com/pytorch/pytorch/pull/179291).
    """
    if distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()
