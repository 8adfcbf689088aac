"""Random numbers that depend on what they are for, not on the process that draws them."""

import hashlib

import torch
from torch import Tensor


class Draws:
    """Random numbers that are a function of a seed, an occasion and a series.

    They do not depend on the number of processes or the batch size, nor on whether a run is resumed.

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

    def normal(self, series: Tensor, *shape: int, purpose: str = "") -> Tensor:
        """Standard normal draws in double precision, `[B, *shape]`, for series `[B]`.

        Args:
            series: The indices of the series.
            shape: Shape of the draws of each series.
            purpose: Draws for different purposes are independent.
        """
        drawn = [
            torch.randn(shape, generator=self._generator(purpose, number), dtype=torch.float64)
            for number in series.tolist()
        ]
        return torch.stack(drawn).to(series.device)

    def choices(self, number: int, size: int) -> Tensor:
        """Random integers from 0 to `number - 1`, `[size]`, the same for all series."""
        return torch.randint(number, (size,), generator=self._generator("choices", 0))

    def chosen(self, number: int, share: float) -> Tensor:
        """Which of some items are chosen, each with the same probability, `[number]`, the same for all series."""
        return torch.rand(number, generator=self._generator("chosen", 0), dtype=torch.float64) < share

    def _generator(self, purpose: str, number: int) -> torch.Generator:
        words = " ".join(map(str, (*self.key, purpose, number)))
        digest = hashlib.blake2b(words.encode(), digest_size=7).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest, "big"))
