"""A second device for torch on machines without an accelerator: `load()`, then `.to("second")`.

Kernels run on the CPU, but memory, generators and placement are a device's own: what mixes devices raises as it would
on an accelerator, and launches, synchronisations and copies are counted. It says nothing about the numerics, the
streams or the speed of an accelerator.
"""

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.accelerators import Accelerator
from lightning.pytorch.strategies import SingleDeviceStrategy
from torch._ops import OpOverload
from torch.utils import cpp_extension
from torch.utils._python_dispatch import TorchDispatchMode

NAME = "second"
SOURCE = Path(__file__).with_name("second_device.cpp")


def missing() -> str | None:
    """What is missing to compile the device; None if nothing is."""
    if (tools := str(Path(sys.executable).parent)) not in os.environ["PATH"]:
        os.environ["PATH"] += f":{tools}"  # of an environment that is not activated
    if shutil.which(os.environ.get("CXX", "c++")) is None:
        return "no C++ compiler"
    return None if cpp_extension.is_ninja_available() else "no ninja"


@cache
def load() -> None:
    """Compile the device, unless that is done, and register it."""
    key = hashlib.sha256(SOURCE.read_bytes() + torch.__version__.encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"gpvae_second_device_{os.getuid()}_{key}"
    folder.mkdir(exist_ok=True)
    with (folder / "compiling").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (folder / "lock").unlink(missing_ok=True)  # that of a process killed while it compiled
        flags = ["-O0", "-w"]
        cpp_extension.load(
            "second_device", [str(SOURCE)], build_directory=str(folder), extra_cflags=flags, is_python_module=False
        )
    torch.ops.second_device.start()
    torch.utils.rename_privateuse1_backend(NAME)
    torch._register_device_module(NAME, _module())
    torch.utils.generate_methods_for_privateuse1_backend()


def _module() -> types.ModuleType:
    """The module `torch.second`, of which torch requires these functions."""

    def seed(value: int) -> None:
        """Seeds of 64 bits, with or without a sign."""
        torch.ops.second_device.seed((value + 2**63) % 2**64 - 2**63)

    functions: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "_is_in_bad_fork": lambda: False,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "synchronize": lambda device=None: None,
        "manual_seed": seed,
        "manual_seed_all": seed,
        "get_rng_state": lambda device=None: torch.ops.second_device.get_state(),
        "set_rng_state": lambda state, device=None: torch.ops.second_device.set_state(state),
        "device": lambda device: nullcontext(),
        "get_amp_supported_dtype": lambda: [torch.bfloat16],
    }
    module = types.ModuleType(f"torch.{NAME}")
    for name, function in functions.items():
        setattr(module, name, function)
    return module


@dataclass
class Counts:
    """What the host asked of the device.

    Attributes:
        by_name: The number of each kind of request, such as `launch mm` or `synchronise item`.
        host_draws: Number of operations that drew random numbers on the host.
    """

    by_name: dict[str, int] = field(default_factory=dict)
    host_draws: int = 0

    def _sum(self, *kinds: str) -> int:
        return sum(number for name, number in self.by_name.items() if name.startswith(kinds))

    @property
    def launches(self) -> int:
        """Number of kernels that were launched."""
        return self._sum("launch")

    @property
    def synchronisations(self) -> int:
        """How often the host waited for a result of the device: for a number, the size of a result, or a copy."""
        return self._sum("synchronise", "copy to host")

    @property
    def uploads(self) -> int:
        """Number of copies from the host to the device."""
        return self._sum("copy to device")


class _HostDraws(TorchDispatchMode):
    """Counts operations that draw random numbers on the host."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def __torch_dispatch__(
        self, func: OpOverload, types: object, args: tuple[object, ...] = (), kwargs: dict[str, object] | None = None
    ) -> object:
        result = func(*args, **(kwargs or {}))
        if torch.Tag.nondeterministic_seeded in func.tags and result.device.type == "cpu":
            self.number += 1
        return result


@contextmanager
def counting() -> Iterator[Counts]:
    """Count what the host asks of the device within the context; the counts are complete when it ends."""
    counts = Counts()
    torch.ops.second_device.take_counts()
    with _HostDraws() as draws:
        yield counts
    counts.by_name, counts.host_draws = dict(torch.ops.second_device.take_counts()), draws.number


@contextmanager
def without_float64() -> Iterator[None]:
    """Refuse float64 on the device, as some accelerators do."""
    torch.ops.second_device.support_float64(False)
    try:
        yield
    finally:
        torch.ops.second_device.support_float64(True)


class _SecondAccelerator(Accelerator):
    """The device, for Lightning."""

    def setup_device(self, device: torch.device) -> None: ...

    def teardown(self) -> None: ...

    def get_device_stats(self, device: object) -> dict[str, object]:
        return {}

    @staticmethod
    def parse_devices(devices: object) -> list[int]:
        return [0]

    @staticmethod
    def get_parallel_devices(devices: object) -> list[torch.device]:
        return [torch.device(NAME, 0)]

    @staticmethod
    def auto_device_count() -> int:
        return 1

    @staticmethod
    def is_available() -> bool:
        return True

    name: Callable[[], str] = staticmethod(lambda: NAME)


def strategy() -> SingleDeviceStrategy:
    """A strategy by which `Trainer(strategy=...)` trains on the device."""
    return SingleDeviceStrategy(device=torch.device(NAME, 0), accelerator=_SecondAccelerator())
