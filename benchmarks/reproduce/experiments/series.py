"""Series of one input with a Gaussian likelihood: Solar, Audio and synthetic ones."""

from collections.abc import Iterable
from functools import partial

from benchmarks.reproduce.experiment import Experiment, Options

FIGURE_2 = "section 5.1, figures 2 and 3, table 1"
FIXED_KERNEL = {
    "ohsgpr": FIGURE_2,
    "ovc": FIGURE_2,
    "ovff": FIGURE_2,
    "coss": "ours: cosines",
    "auto": "ours: the bound chooses LegS or CosS",
}
#: Methods with 1,000 iterations for each task.
ITERATED = {"osgpr": FIGURE_2, "ovc_optz": FIGURE_2}
TRAINED = ("ohsgpr_trained", "osgpr_trained")
#: The paper's own algorithm for OHSGPR: ODE steps and 1,000 random features; the configs use its closed form.
RECURRENCE = {"model.inducing": "LegSRecurrence"}
#: Methods that are also run with the Matérn kernel of OVFF, to separate the effect of the kernel; others have an RBF.
WITH_KERNEL_OF_OVFF = ("ohsgpr", "coss", "ovc")


def series(data: str, sizes: tuple[int, int, int], seconds_a_size: float) -> Iterable[Experiment]:
    """All methods on a series; the paper has the smallest and the largest M.

    Args:
        data: Name of the data in `configs/`.
        sizes: Numbers of inducing variables M.
        seconds_a_size: Approximate seconds of 1,000 iterations in each of ten tasks, divided by M.
    """
    few = {"data.steps_per_epoch": 50}
    for size in sizes:
        smallest, seconds = size == sizes[0], size * seconds_a_size
        made = partial(_experiment, data, size)
        for method, paper in FIXED_KERNEL.items():
            yield made(method, paper, quick={} if smallest else None)
        paper = "sections 3.2 and 5.1: OHSGPR by the recurrence of the paper"
        minutes = (size / 100) ** 2 * (1 if data == "solar" else 2)
        yield made("recurrence", paper, config="ohsgpr", options=RECURRENCE, minutes=minutes)
        paper, options = "ours: with the kernel of OVFF", {"model.kernel": "matern52"}
        for method in WITH_KERNEL_OF_OVFF:
            yield made(f"{method}_matern52", paper, config=method, options=options, against="ovc_matern52")
        for method, paper in ITERATED.items():
            yield made(method, paper, minutes=seconds / 60, quick=few if smallest and data == "solar" else None)
    for size in (sizes[0], sizes[-1]):
        quick = {"data.steps_per_epoch": 20} if (data, size) == ("solar", sizes[0]) else None
        for method in TRAINED:
            minutes = size * seconds_a_size / 10
            yield _experiment(data, size, method, "appendix F.2", minutes=minutes, quick=quick)


def _experiment(
    data: str,
    size: int,
    method: str,
    paper: str,
    config: str | None = None,
    options: Options | None = None,
    minutes: float = 0.1,
    quick: Options | None = None,
    against: str = "ovc",
) -> Experiment:
    return Experiment(
        f"{data}_{method}_M{size}",
        data,
        f"{data}_{config or method}",
        paper,
        {"model.num_inducing": size, **(options or {})},
        minutes=minutes,
        quick=quick,
        against=f"{data}_{against}_M{size}",
    )


SOLAR = tuple(series("solar", (50, 100, 150), 1.2))
AUDIO = tuple(series("audio", (100, 150, 200), 2.4))
TOYS = (
    Experiment("toy_figure_1", "toy", "toy_figure_1", "figure 1", quick={}),
    *(Experiment(f"toy_{name}", "toy", f"toy_{name}", "appendix F.4", quick={}) for name in ("legs", "legt")),
    *(Experiment(f"toy_{name}", "toy", f"toy_{name}", "appendix F.4", quick={}) for name in ("lagt", "fout")),
    Experiment("toy_coss", "toy", "toy_coss", "ours: cosines", quick={}),
)
