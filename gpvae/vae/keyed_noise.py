"""Random numbers that are functions of a key, not of the process or the device that draws them."""

import hashlib
import math
from functools import lru_cache

import torch
from torch import Tensor

#: Odd numbers by which series and positions are spread over 64 bits, and the multiplier of the hash.
SERIES, POSITION, MULTIPLIER = (
    number - 2**64 for number in (0xC2B2AE3D27D4EB4F, 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
)


class Draws:
    """Random numbers that are a function of a seed, an occasion and a series.

    They do not depend on the number of processes or the batch size, nor on whether a run is resumed. They are hashes of
    counters, computed on the device of the series, for all series at once. No generator has a state.

    Args:
        seed: The seed.
        occasion: What they are for, such as `train`, and the step.

    Example:
        >>> import torch
        >>> both = Draws(0, "train", 7).normal(torch.tensor([3, 5]), 2)
        >>> torch.equal(Draws(0, "train", 7).normal(torch.tensor([5]), 2)[0], both[1])
        True
    """

    def __init__(self, seed: int, *occasion: str | int) -> None:
        self.key: tuple[str | int, ...] = (seed, *occasion)

    def normal(self, series: Tensor, *shape: int, purpose: str = "", dtype: torch.dtype = torch.float64) -> Tensor:
        """Standard normal draws, `[B, *shape]`, for series `[B]`.

        Pairs of uniform numbers of 24 bits become pairs of normal numbers (Box and Muller 1958), at most 5.8 from zero.

        Args:
            series: The indices of the series.
            shape: Shape of the draws of each series.
            purpose: Draws for different purposes are independent.
            dtype: Floating point type of the draws.
        """
        number = math.prod(shape)
        bits = self._bits(series, (number + 1) // 2, purpose)
        one = torch.ones((), dtype=dtype)  # of the host, which gives the results its type
        uniform = torch.add(0.5 * one, bits[..., 0], alpha=-(2**-24))  # from 2**-24 to 1, exactly
        radius = torch.special.xlogy(-2, uniform).sqrt_()
        quarter = _quarters(dtype, series.device)  # sin(x + π/2) = cos(x)
        angle = torch.add(quarter, bits[..., None, :, 1], alpha=2 * math.pi * 2**-24)
        return (radius[:, None] * angle.sin_()).flatten(1)[:, :number].reshape(-1, *shape)

    def _bits(self, series: Tensor, number: int, purpose: str) -> Tensor:
        """Pairs of integers of 24 bits with a sign, `[B, number, 2]`."""
        digest = hashlib.blake2b(" ".join(map(str, (*self.key, purpose))).encode(), digest_size=8).digest()
        start = int.from_bytes(digest, "big", signed=True)
        hashed = torch.add(torch.tensor(start), series, alpha=SERIES)[:, None] + _positions(number, series.device)
        for turn in range(3):  # x ← (x ^ x >> 32) · MULTIPLIER, with the two halves of x as views
            halves = hashed.view(torch.int32).unflatten(-1, (-1, 2))
            halves[..., 0].bitwise_xor_(halves[..., 1])
            if turn < 2:
                hashed.mul_(MULTIPLIER)
        return halves >> 8


def check_draws(device: torch.device) -> None:
    """Raise if a device draws other numbers than the host, such as one whose integers are less than 64 bits wide.

    Args:
        device: The device.
    """
    host, other = (
        Draws(0, "check").normal(torch.arange(4).to(place), 64, dtype=torch.float32).cpu() for place in ("cpu", device)
    )
    if not torch.allclose(host, other, atol=1e-3):
        raise RuntimeError(
            f"{device} does not compute integers of 64 bits as the CPU does, so its random numbers would not be "
            "random: use --trainer.accelerator cpu"
        )


@lru_cache(maxsize=8)
def _positions(number: int, device: torch.device) -> Tensor:
    """The part of a counter that is common to all series and steps, `[number]`."""
    return torch.arange(number, device=device) * POSITION


@lru_cache(maxsize=8)
def _quarters(dtype: torch.dtype, device: torch.device) -> Tensor:
    """A quarter of a turn and none, `[2, 1]`."""
    return torch.tensor([[math.pi / 2], [0.0]], dtype=dtype, device=device)
