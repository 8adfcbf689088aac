"""Inputs of several dimensions: two moons, Skillcraft and Powerplant."""

from collections.abc import Iterable

from benchmarks.reproduce.experiment import Experiment

#: Orders of the tasks, and their short names.
TASK_ORDERS = {"first_dimension": "dim0", "l2_norm": "l2"}
FREE_FORM = ("ohsvgp_o", "ohsvgp_k", "osvgp", "ovc")
CLOSED_FORM = ("ohsgpr_o", "ohsgpr_k", "ovc_closed")
#: Approximate minutes of a run, in closed form and with 2,000 iterations for each task.
MINUTES = {"skillcraft": (0.2, 10.0), "powerplant": (0.4, 20.0)}
SMALL = {"model.num_inducing": 64}


def uci(data: str) -> Iterable[Experiment]:
    """All methods on a table, with both orders of tasks."""
    closed, iterated = MINUTES[data]
    for order, short in TASK_ORDERS.items():
        options = {"data.task_order": order}
        quick = SMALL if (data, order) == ("skillcraft", "first_dimension") else None
        for method in CLOSED_FORM:
            name, paper = f"{data}_{method}", "ours: section 5.2 in closed form"
            full_name = f"{data}_{short}_{method}"
            ovc = f"{data}_{short}_ovc_closed"
            yield Experiment(full_name, "uci", name, paper, options, minutes=closed, quick=quick, against=ovc)
        for method in FREE_FORM:
            name, paper = f"{data}_{method}", "section 5.2, figure 5"
            full_name = f"{data}_{short}_{method}"
            few = SMALL | {"data.steps_per_epoch": 20} if quick and method == "osvgp" else None
            ovc = f"{data}_{short}_ovc"
            yield Experiment(full_name, "uci", name, paper, options, minutes=iterated, quick=few, against=ovc)


MOONS = (
    *(
        Experiment(f"moons_ohsvgp_{order}", "moons", f"moons_ohsvgp_{order}", "appendix F.3", quick={})
        for order in ("kmax", "rand", "kmin")
    ),
    Experiment("moons_osvgp", "moons", "moons_osvgp", "appendix F.3", quick={"data.steps_per_epoch": 100}),
)
UCI = (*uci("skillcraft"), *uci("powerplant"))
