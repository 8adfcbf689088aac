"""The GP-VAE on ERA5: the synthetic sample and real files from Finse, by family of variables and by protection."""

from collections.abc import Iterable

from benchmarks.era5_variants import CONFIGS, VARIANTS
from benchmarks.reproduce.experiment import Experiment

FAMILIES = ("OHSVGP", "OVC", "OVC-per-dim", "OSVGP", "OHSVGP-CosS")
PROTECTIONS = ("ewc", "replay")
#: As in docs/era5.md: eight places, two batches of them an epoch, the best strength of EWC.
SETTING = {"data.points": 8, "data.batch_size": 4, "model.ewc_strength": 1.0}
QUICK = {"data.points": 2, "data.batch_size": 2, "data.epochs_per_task": 1, "data.stop_after": 2}


def era5() -> Iterable[Experiment]:
    """The paper's four variants and CosS, with EWC and with replay, M = 50 first."""
    for size in (50, 100):
        for data, config in CONFIGS.items():
            for protection in PROTECTIONS:
                for family in FAMILIES:
                    paper = "section 5.3, figure 6" if protection == "ewc" else "ours: replay in place of EWC"
                    paper = "ours: cosines" if family.endswith("CosS") else paper
                    words = VARIANTS[family]
                    options = {
                        key.removeprefix("--"): value for key, value in zip(words[::2], words[1::2], strict=True)
                    }
                    options |= SETTING | {"model.num_inducing": size, "model.consolidation": protection}
                    shown = size == 50 and data == "sample" and family in ("OHSVGP", "OHSVGP-CosS")
                    yield Experiment(
                        f"era5_{data}_{family}_{protection}_M{size}",
                        f"era5_{data}",
                        config.removesuffix(".yaml"),
                        paper,
                        options,
                        seeds=3,
                        minutes=size / 50,
                        quick=QUICK if shown else None,
                        against=f"era5_{data}_OVC_{protection}_M{size}",
                    )


ERA5 = tuple(era5())
