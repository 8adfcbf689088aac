"""All experiments: data, method, number of inducing variables M, and place in the paper."""

from benchmarks.reproduce.experiment import Experiment
from benchmarks.reproduce.experiments.counts import COVID
from benchmarks.reproduce.experiments.series import AUDIO, SOLAR, TOYS
from benchmarks.reproduce.experiments.tables import MOONS, UCI
from benchmarks.reproduce.experiments.weather import ERA5

EXPERIMENTS: tuple[Experiment, ...] = (*TOYS, *SOLAR, *AUDIO, *MOONS, *COVID, *UCI, *ERA5)
