"""Random numbers that depend on what they are for, not on who draws them."""

import hashlib

import torch
from torch import Tensor


class Draws:
    """Numbers that are a function of a seed, an occasion and a series: the same on any number of processes.

    So training in batches that processes share, evaluation in batches of another size, and a run that is resumed all
    see the same numbers.

    Args:
        seed: The seed.
        occasion: What they are for, such as `train`, and which time.

    Example:
        >>> import torch
        >>> both = Draws(0, "train", 7).normal(torch.tensor([3, 5]), 2)
        >>> torch.equal(Draws(0, "train", 7).normal(torch.tensor([5]), 2)[0], both[1])
        True
    """

    def __init__(self, seed: int, *occasion: str | int) -> None:
        self.words: tuple[str | int, ...] = (seed, *occasion)

    def normal(self, series: Tensor, *shape: int, purpose: str = "") -> Tensor:
        """Standard normal draws in double precision, `[B, *shape]`, for series `[B]`.

        Args:
            series: Which series.
            shape: Shape of what each gets.
            purpose: Another purpose has other numbers.
        """
        drawn = [
            torch.randn(shape, generator=self._generator(purpose, number), dtype=torch.float64)
            for number in series.tolist()
        ]
        return torch.stack(drawn).to(series.device)

    def choices(self, number: int, size: int) -> Tensor:
        """Whole numbers below a number, `[size]`, the same for all series."""
        return torch.randint(number, (size,), generator=self._generator("choices", 0))

    def _generator(self, purpose: str, number: int) -> torch.Generator:
        words = " ".join(map(str, (*self.words, purpose, number)))
        digest = hashlib.blake2b(words.encode(), digest_size=7).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest, "big"))
