"""The inputs of a stream: numbers or times, checked, converted, and counted."""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from gpvae.utils import checks

#: Value of the origin of a stream whose inputs are no times, or are not known yet.
NO_ORIGIN = np.iinfo(np.int64).min
NANOSECONDS = {"s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "D": 86400 * 10**9}


class StreamInputs(nn.Module):
    """Converts inputs to tensors `[N, D]`, times to numbers, and remembers how many there were and their extent.

    Args:
        time_unit: Unit of times: seconds `s`, minutes `m`, hours `h` or days `D`. Times are counted from the first
            one of the stream, in this unit.
    """

    num_points: Tensor
    low: Tensor
    high: Tensor
    origin: Tensor

    def __init__(self, time_unit: str = "h") -> None:
        super().__init__()
        checks.choice("time_unit", time_unit, NANOSECONDS)
        self.time_unit = time_unit
        self.register_buffer("num_points", torch.zeros((), dtype=torch.int64))
        self.register_buffer("low", torch.tensor(torch.inf, dtype=torch.float64))
        self.register_buffer("high", torch.tensor(-torch.inf, dtype=torch.float64))
        self.register_buffer("origin", torch.tensor(NO_ORIGIN))
        self.register_load_state_dict_pre_hook(_add_defaults)  # type: ignore[no-untyped-call]

    @property
    def are_times(self) -> bool:
        """Whether the inputs so far are times."""
        return int(self.origin) != NO_ORIGIN

    def convert(self, x: ArrayLike | Tensor, like: Tensor, *, learn: bool = False, batched: bool = False) -> Tensor:
        """Inputs `[N, D]` in the dtype and on the device of another tensor.

        Args:
            x: Inputs `[N]` or `[N, D]`, or times `[N]`: datetimes of numpy, pandas, xarray or the standard library.
            like: The other tensor.
            learn: Whether the inputs belong to the stream, so that the first of them may be its origin.
            batched: Whether they may also be a batch `[*B, N, D]` of numbers.
        """
        times = None if isinstance(x, Tensor) else as_times(x)
        if times is None:
            numbers = checks.inputs(x, like, batched=batched)
            if self.are_times:
                raise ValueError(
                    "the stream so far has times as inputs, but these are numbers; give datetimes, such as "
                    f"{self.times([0.0])[0]}"
                )
            return numbers
        if not self.are_times and int(self.num_points) > 0:
            raise ValueError(
                "x has times, but the inputs of the stream so far are numbers: give numbers on the same axis"
            )
        if bool(np.isnat(times).any()):
            raise ValueError(f"x has {int(np.isnat(times).sum())} missing time(s) (NaT); remove these points")
        stamps = times.astype("datetime64[ns]").astype(np.int64)
        if not self.are_times and stamps.size and learn:
            self.origin.fill_(int(stamps.min()))
        origin = int(self.origin) if self.are_times else int(stamps.min(initial=0))
        return checks.inputs((stamps - origin) / NANOSECONDS[self.time_unit], like)

    def times(self, x: ArrayLike) -> np.ndarray:
        """The times of numbers `[N]` in the unit of the stream, as datetimes."""
        stamps = int(self.origin) + np.round(np.asarray(x) * NANOSECONDS[self.time_unit]).astype(np.int64)
        return stamps.astype("datetime64[ns]")

    def grid(self, num: int) -> np.ndarray:
        """Numbers or times from the first input learnt to the last, `[num]`, for inputs of one dimension."""
        if not bool(torch.isfinite(self.low)):
            raise RuntimeError("nothing has been learnt yet: give the inputs to draw")
        numbers = torch.linspace(float(self.low), float(self.high), num, dtype=torch.float64).numpy()
        return self.times(numbers) if self.are_times else numbers

    def leaps(self, x: Tensor) -> bool:
        """Whether points `[N, 1]` more than double the extent of the stream so far."""
        return x.shape[-1] == 1 and bool(x.max() - self.high > self.high - self.low)

    def record(self, x: Tensor) -> None:
        """Count points `[N, D]` that have been learnt."""
        self.num_points += len(x)
        self.low.copy_(torch.minimum(self.low, x[:, 0].min()))
        self.high.copy_(torch.maximum(self.high, x[:, 0].max()))


def as_times(x: Any) -> np.ndarray | None:  # noqa: ANN401
    """Datetimes as an array of numpy, those with a time zone in UTC; None if x has other values."""
    kind = str(getattr(x, "dtype", ""))
    if kind.startswith("datetime64"):
        return np.asarray(x, dtype="datetime64[ns]")
    if kind:
        return None
    array = np.asarray(x)
    if array.dtype.kind == "O" and array.size and hasattr(array.flat[0], "isoformat"):
        if array.ndim > 1 and not all(hasattr(value, "isoformat") for value in array.flat):
            raise TypeError(
                "x has times and other values side by side; give the column of times alone, such as table['time']"
            )
        array = np.array([np.datetime64(_utc(value), "ns") for value in array.flat]).reshape(array.shape)
    return array if array.dtype.kind == "M" else None


def _utc(time: Any) -> Any:  # noqa: ANN401
    offset = time.utcoffset() if hasattr(time, "utcoffset") else None
    return time if offset is None else time.replace(tzinfo=None) - offset


def _add_defaults(inputs: StreamInputs, state_dict: dict[str, Any], prefix: str, *_: object) -> None:
    """Complete a state that was saved when inputs were not counted; a `load_state_dict` pre-hook."""
    for name, value in StreamInputs().state_dict().items():
        state_dict.setdefault(prefix + name, value)
