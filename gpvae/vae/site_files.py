"""Sites in files. The files of all processes are opened together, and must belong to one run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from gpvae.utils.distributed import rank
from gpvae.utils.row_store import Files


def open_rows(
    folder: Path, shapes: Mapping[str, Sequence[int]], dtype: torch.dtype, num_series: int, num_files: int
) -> dict[str, list[Tensor]]:
    """The rows of sites that each process wrote, by name.

    Args:
        folder: The folder of a task.
        shapes: Shape of a row, by name.
        dtype: Data type of all rows.
        num_series: Number of series of all processes.
        num_files: Number of processes that wrote the files.
    """
    files = Files(folder, rank(), num_files)
    counts = [len(range(process, num_series, num_files)) for process in range(num_files)]
    try:
        return {
            name: [files.open(name, (count, *shape), dtype, i) for i, count in enumerate(counts)]
            for name, shape in shapes.items()
        }
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{error}, but the checkpoint needs it: its sites are in files, which are kept for the last two tasks; "
            "set sites_folder to the folder that holds them"
        ) from error


def check_run(folder: Path, files: Mapping[str, list[Tensor]], fingerprint: Tensor) -> None:
    """Raise if another run has written to the folder since the state with this fingerprint was saved."""
    if sum(fingerprint_of(part) for part in files["h"]) != fingerprint.cpu():
        raise ValueError(
            f"the sites in {folder} do not belong to the checkpoint: another run has written to this folder; "
            "give each run its own sites_folder, and start this one again"
        )


def fingerprint_of(rows: Tensor) -> Tensor:
    """The sum of the bit patterns as integers, which changes with any row and adds up over processes."""
    return rows.view(torch.int64).sum()
