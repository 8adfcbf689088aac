"""Reads files that `torch.save` has written, without running code in them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from gpvae.utils.checksums import check_archive
from gpvae.utils.memory import check_fits


def read_torch_file(path: Path, kind: str, advice: str = "Give another file.") -> Any:  # noqa: ANN401
    """The content of a file: tensors and plain values, on the CPU.

    Args:
        path: The file.
        kind: What it should be, such as "a checkpoint"; for errors.
        advice: What to do instead; the end of the message.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is damaged, takes more memory than is free, or names functions to call.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}. {advice}")
    failure = f"{path} cannot be read as {kind}"
    with _explained(failure, advice):
        size = check_archive(path)
    check_fits(size, f"{failure}: its values", "free some memory, or use a larger machine")
    with _explained(failure, advice):
        return torch.load(path, map_location="cpu", weights_only=True)


@contextmanager
def _explained(failure: str, advice: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # a damaged file can raise anything
        unsafe = re.search(r"GLOBAL ([\w.]+) ", str(error))
        reason = (
            f"it names {unsafe[1]}, which could run code" if unsafe else f"it may be damaged ({type(error).__name__})"
        )
        raise ValueError(f"{failure}: {reason}. {advice}") from error
