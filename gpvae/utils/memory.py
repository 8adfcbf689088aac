"""How much memory this process may still take, and an error for what does not fit."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import resource

SHARE = 0.9  # of free memory; the rest is for other processes
PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def check_fits(needed: float, what: str, remedy: str) -> None:
    """Raise if something does not fit in free memory, before the system ends the process.

    Args:
        needed: Memory that it takes, in bytes.
        what: What takes the memory; the beginning of the message.
        remedy: What to do; the end of the message.

    Raises:
        ValueError: It does not fit.
    """
    free = free_memory()
    if needed > SHARE * free:
        raise ValueError(f"{what} take about {_size(needed)} of memory, and {_size(free)} are free: {remedy}.")


def free_memory() -> float:
    """The bytes that this process may still take, by the machine, its control group and its limits; or infinity."""
    return max(0.0, min(_free_parts(), default=float("inf")))


def _free_parts() -> Iterator[float]:
    with suppress(OSError, KeyError, ValueError):
        yield 1024.0 * float(_table(PROC / "meminfo")["MemAvailable"])
    for limit, usage in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        for folder in _control_groups():
            with suppress(OSError, KeyError, ValueError):  # `max` is not a number
                reclaimable = float(_table(folder / "memory.stat").get("inactive_file", "0"))
                used = float((folder / usage).read_text()) - reclaimable
                yield float((folder / limit).read_text()) - used
    if sys.platform != "win32":
        with suppress(OSError, ValueError, IndexError):
            addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
            if addresses != resource.RLIM_INFINITY:
                pages = int((PROC / "self" / "statm").read_text().split()[0])
                yield float(addresses - pages * resource.getpagesize())
    if not (PROC / "meminfo").is_file() and hasattr(os, "sysconf"):
        with suppress(OSError, ValueError):
            yield float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def _control_groups() -> Iterator[Path]:
    """The folders of the control groups that this process is in, and of those above them."""
    with suppress(OSError):
        for line in (PROC / "self" / "cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers not in ("", "memory"):
                continue
            root = CGROUPS / controllers
            own = root / path.strip("/")
            yield from (folder for folder in (own, *own.parents) if folder.is_relative_to(root) and folder.is_dir())


def _table(path: Path) -> dict[str, str]:
    """The first number of each line, by name."""
    rows = (line.replace(":", " ").split() for line in path.read_text().splitlines())
    return {row[0]: row[1] for row in rows if len(row) > 1}


def _size(num_bytes: float) -> str:
    return f"{num_bytes / 1e9:.3g} GB" if num_bytes >= 1e8 else f"{num_bytes / 1e6:.3g} MB"
