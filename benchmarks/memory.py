"""Memory of this process, and of the tensors in it (Linux)."""

import gc
from pathlib import Path

from torch import Tensor, nn

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def anonymous_bytes() -> int:
    """Memory that the process holds now, files that are mapped into it apart."""
    gc.collect()
    return _status("RssAnon")


def live_tensors() -> tuple[int, int]:
    """How many tensors there are in this process, and how many numbers in them."""
    gc.collect()
    tensors = [thing for thing in gc.get_objects() if type(thing) in (Tensor, nn.Parameter)]
    return len(tensors), sum(tensor.numel() for tensor in tensors)


class Peak:
    """The greatest resident memory within a block, beyond what there was before it: `.bytes`, once it is left."""

    def __enter__(self) -> "Peak":
        gc.collect()
        CLEAR.write_text("5")  # the kernel forgets the greatest memory so far
        self.bytes, self._before = 0, _status("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        self.bytes = _status("VmHWM") - self._before


def _status(name: str) -> int:
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return 1024 * int(line.split()[1])
