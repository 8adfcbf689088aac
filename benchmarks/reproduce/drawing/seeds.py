"""Seeds in words."""

from collections.abc import Sequence


def counted(seeds: Sequence[str]) -> str:
    """How many seeds these are, in words.

    Args:
        seeds: Names of seeds.
    """
    return "1 seed" if len(seeds) == 1 else f"{len(seeds)} seeds"


def named(seeds: Sequence[str]) -> str:
    """Which seeds these are, in words.

    Args:
        seeds: Names of seeds.
    """
    numbers = sorted(int(seed.removeprefix("seed_")) for seed in seeds)
    if len(numbers) == 1:
        return f"seed {numbers[0]}"
    in_a_row = numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"seeds {numbers[0]} to {numbers[-1]}" if in_a_row else f"seeds {', '.join(map(str, numbers))}"
