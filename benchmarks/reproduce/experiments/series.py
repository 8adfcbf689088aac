"""Series of one input with a Gaussian likelihood: Solar, Audio and the made-up ones."""

from collections.abc import Iterable

from benchmarks.reproduce.experiment import Experiment

FIGURE_2 = "section 5.1, figures 2 and 3, table 1"
FIXED_KERNEL = {
    "ohsgpr": FIGURE_2,
    "ovc": FIGURE_2,
    "ovff": FIGURE_2,
    "coss": "ours: cosines",
    "auto": "ours: the bound chooses LegS or CosS",
}
#: They take 1,000 iterations a task.
ITERATED = {"osgpr": FIGURE_2, "ovc_optz": FIGURE_2}
TRAINED = ("ohsgpr_trained", "osgpr_trained")
#: The paper's own algorithm for OHSGPR: ODE steps and 1,000 random features; the configs have its closed form.
RECURRENCE = {"model.inducing": "LegSRecurrence"}


def series(data: str, sizes: tuple[int, int, int], seconds_a_size: float) -> Iterable[Experiment]:
    """All methods on a series; the paper has the smallest and the largest M.

    Args:
        data: Name of the data in `configs/`.
        sizes: Numbers of inducing variables M.
        seconds_a_size: About how long 1,000 iterations in each of ten tasks take, divided by M.
    """
    for size in sizes:
        options = {"model.num_inducing": size}
        quick = {} if size == sizes[0] else None
        for method, paper in FIXED_KERNEL.items():
            yield Experiment(f"{data}_{method}_M{size}", data, f"{data}_{method}", paper, options, quick=quick)
        yield Experiment(
            f"{data}_recurrence_M{size}",
            data,
            f"{data}_ohsgpr",
            "sections 3.2 and 5.1: OHSGPR by the recurrence of the paper",
            options | RECURRENCE,
            minutes=(size / 100) ** 2 * (1 if data == "solar" else 2),
        )
        for method, paper in ITERATED.items():
            quick = {"data.steps_per_epoch": 50} if (data, size) == ("solar", sizes[0]) else None
            minutes = size * seconds_a_size / 60
            name = f"{data}_{method}"
            yield Experiment(f"{name}_M{size}", data, name, paper, options, minutes=minutes, quick=quick)
    for size in (sizes[0], sizes[-1]):
        for method in TRAINED:
            name = f"{data}_{method}"
            quick = {"data.steps_per_epoch": 20} if (data, size) == ("solar", sizes[0]) else None
            minutes = size * seconds_a_size / 30
            options = {"model.num_inducing": size}
            yield Experiment(f"{name}_M{size}", data, name, "appendix F.2", options, minutes=minutes, quick=quick)


SOLAR = tuple(series("solar", (50, 100, 150), 1.2))
AUDIO = tuple(series("audio", (100, 150, 200), 2.4))
TOYS = (
    Experiment("toy_figure_1", "toy", "toy_figure_1", "figure 1", quick={}),
    *(Experiment(f"toy_{name}", "toy", f"toy_{name}", "appendix F.4", quick={}) for name in ("legs", "legt")),
    *(Experiment(f"toy_{name}", "toy", f"toy_{name}", "appendix F.4", quick={}) for name in ("lagt", "fout")),
    Experiment("toy_coss", "toy", "toy_coss", "ours: cosines", quick={}),
)
