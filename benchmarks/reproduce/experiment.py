"""What an experiment is: a config, the options that make it this one, and what of the paper it stands for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

CONFIGS = Path(__file__).parents[2] / "configs"
Options = Mapping[str, str | int | float]


@dataclass(frozen=True)
class Experiment:
    """One experiment, to be run with several seeds.

    Attributes:
        name: Name of its folder, unique in the table.
        group: The data it is on, as `--only` knows them.
        config: Name of a file in `configs/`; empty for the renewal model, which is no run of `gpvae fit`.
        paper: Where in the paper it stands, or that it is ours.
        options: What differs from the config, by path: `{"model.num_inducing": 150}`.
        seeds: How many seeds the paper has.
        minutes: About how long one run takes on one core, to begin with the short ones.
        quick: What differs once more in the quick plan; None leaves it out there.
        against: Name of the experiment to compare it with, seed by seed: OVC, the best baseline of the paper, with as
            many variables and learnt in the same way.
    """

    name: str
    group: str
    config: str
    paper: str
    options: Options = field(default_factory=dict)
    seeds: int = 5
    minutes: float = 0.2
    quick: Options | None = None
    against: str | None = None

    @property
    def file(self) -> Path:
        """Its config."""
        return CONFIGS / f"{self.config}.yaml"

    @property
    def ours(self) -> bool:
        """Whether the paper does not have it."""
        return self.paper.startswith("ours")
