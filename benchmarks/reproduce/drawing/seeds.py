"""Names and numbers of seeds in titles."""

from collections.abc import Sequence


def counted(seeds: Sequence[str]) -> str:
    """The number of seeds, such as "5 seeds".

    Args:
        seeds: Names of seeds.
    """
    return "1 seed" if len(seeds) == 1 else f"{len(seeds)} seeds"


def named(seeds: Sequence[str]) -> str:
    """The seeds, such as "seeds 1 to 5".

    Args:
        seeds: Names of seeds.
    """
    numbers = sorted(int(seed.removeprefix("seed_")) for seed in seeds)
    if len(numbers) == 1:
        return f"seed {numbers[0]}"
    consecutive = numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"seeds {numbers[0]} to {numbers[-1]}" if consecutive else f"seeds {', '.join(map(str, numbers))}"
