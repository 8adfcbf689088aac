"""Memory of this process and of its tensors (Linux)."""

import gc
from pathlib import Path

from torch import Tensor, nn

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def anonymous_bytes() -> int:
    """Resident memory of the process, without mapped files."""
    gc.collect()
    return _status("RssAnon")


def live_tensors() -> tuple[int, int]:
    """The number of tensors in this process, and of their elements."""
    gc.collect()
    tensors = [thing for thing in gc.get_objects() if type(thing) in (Tensor, nn.Parameter)]
    return len(tensors), sum(tensor.numel() for tensor in tensors)


class Peak:
    """The peak of resident memory within a block above that before it, as `.bytes` after the block."""

    def __enter__(self) -> "Peak":
        gc.collect()
        CLEAR.write_text("5")  # resets the peak that the kernel keeps
        self.bytes, self._before = 0, _status("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        self.bytes = _status("VmHWM") - self._before


def _status(name: str) -> int:
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return 1024 * int(line.split()[1])
