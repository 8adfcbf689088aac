"""An experiment: a config, options, and its place in the paper."""

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
        group: Name of its data, for `--only`.
        config: Name of a file in `configs/`; empty for the renewal model, which is not run by `gpvae fit`.
        paper: Its place in the paper, or "ours".
        options: Differences from the config, by path: `{"model.num_inducing": 150}`.
        seeds: Number of seeds in the paper.
        minutes: Approximate time of one run on one core; short runs come first.
        quick: Further differences in the quick plan; None if it is not part of it.
        against: Name of the experiment to compare it with, seed by seed: OVC, the best baseline of the paper, with as
            many inducing variables and the same inference.
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
        """Whether it is not in the paper."""
        return self.paper.startswith("ours")
