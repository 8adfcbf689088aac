"""Counts: deaths in an epidemic, by Gaussian processes and by the renewal model of epidemiology."""

from collections.abc import Iterable

from benchmarks.reproduce.experiment import Experiment

SIZES = (15, 30)
NATURAL = {"model.inference": "collapsed", "data.steps_per_epoch": 1}


def covid() -> Iterable[Experiment]:
    """The methods of the paper by Adam and, where only q(u) is trained, by natural gradients."""
    for size in SIZES:
        options = {"model.num_inducing": size}
        for method in ("ohsvgp", "ovc", "coss"):
            name, paper = f"covid_{method}_natural_M{size}", "ours: section 5.1 by natural gradients"
            quick = {} if size == SIZES[0] else None
            yield Experiment(
                name,
                "covid",
                f"covid_{method}",
                paper,
                options | NATURAL,
                minutes=0.1,
                quick=quick,
                against=f"covid_ovc_natural_M{size}",
            )
        for method in ("ohsvgp", "ovc", "osvgp"):
            name, paper = f"covid_{method}_M{size}", "section 5.1, figure 4, table 1"
            few = {"data.steps_per_epoch": 50} if (method, size) == ("osvgp", SIZES[0]) else None
            ovc = f"covid_ovc_M{size}"
            yield Experiment(name, "covid", f"covid_{method}", paper, options, minutes=6, quick=few, against=ovc)


#: Options of the renewal model are those of `benchmarks.reproduce.renewal_run`.
RENEWAL = Experiment(
    "covid_renewal",
    "covid",
    "",
    "appendix D.1: AR(2) renewal model by MCMC",
    {"chains": 4, "warmup": 300, "samples": 500},
    minutes=15,
    quick={"chains": 2, "warmup": 20, "samples": 20},
    against="covid_ovc_natural_M30",
)
COVID = (*covid(), RENEWAL)
