"""The GP-VAE on ERA5: the synthetic sample and real files from Finse, by family of variables and by protection."""

from collections.abc import Iterable

from benchmarks.era5_variants import COMMON, CONFIGS, VARIANTS, as_word
from benchmarks.reproduce.experiment import Experiment, Options

OF_THE_PAPER = ("OHSVGP", "OVC", "OVC-per-dim", "OSVGP")
FAMILIES = (*OF_THE_PAPER, "OHSVGP-CosS")
FIGURE_6 = "section 5.3, figure 6"
PAPER = {"ewc": FIGURE_6, "replay": "ours: replay in place of EWC"}
#: The model of the paper: no clock, and one noise for all variables.
PAPER_MODEL = {"model.periods": "null", "model.noise": "shared"}
#: As in docs/era5.md: eight locations in two batches in each epoch, and the best strength of EWC.
SETTING = {"data.points": 8, "data.batch_size": 4, "data.epochs_per_task": 20, "model.ewc_strength": 1.0}
#: The shipped config of the sample asks for more steps, with which EWC forgets more; Finse's asks for none.
STEPS = {"sample": {"data.min_steps_per_task": "null"}, "finse": {}}
QUICK = {"data.points": 2, "data.batch_size": 2, "data.epochs_per_task": 1, "data.stop_after": 2}


def era5() -> Iterable[Experiment]:
    """The paper's four variants and CosS with EWC and with replay, M = 50 first; then the model of the paper."""
    for size in (50, 100):
        for data in CONFIGS:
            for protection, paper in PAPER.items():
                for family in FAMILIES:
                    place = "ours: cosines" if family.endswith("CosS") else paper
                    shown = size == 50 and data == "sample" and family in ("OHSVGP", "OHSVGP-CosS")
                    options = {"model.consolidation": protection}
                    yield _experiment(data, family, protection, size, place, options, QUICK if shown else None)
    for family in OF_THE_PAPER:
        options = {"model.consolidation": "ewc"} | PAPER_MODEL
        yield _experiment("finse", family, "letter", 50, f"{FIGURE_6}: no clock, one noise", options)


def _experiment(
    data: str, family: str, kind: str, size: int, paper: str, options: Options, quick: Options | None = None
) -> Experiment:
    words = VARIANTS[family]
    words_of = {name: as_word(value) if value is None or value is False else value for name, value in COMMON.items()}
    common = {f"model.{name}": value for name, value in words_of.items()}
    chosen = common | {key.removeprefix("--"): value for key, value in zip(words[::2], words[1::2], strict=True)}
    return Experiment(
        f"era5_{data}_{family}_{kind}_M{size}",
        f"era5_{data}",
        CONFIGS[data].removesuffix(".yaml"),
        paper,
        chosen | SETTING | STEPS[data] | {"model.num_inducing": size, **options},
        seeds=3,
        minutes=size / 50,
        quick=quick,
        against=f"era5_{data}_OVC_{kind}_M{size}",
    )


ERA5 = tuple(era5())
