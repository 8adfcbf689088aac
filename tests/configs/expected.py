"""What each config should contain, by the two parts of its name: `<data>_<method>.yaml`."""

from dataclasses import dataclass

from gpytorch.likelihoods import BernoulliLikelihood, GaussianLikelihood, Likelihood, NegativeBinomialLikelihood

from gpvae.inducing import (
    CosS,
    FourierFeatures,
    FouT,
    InducingVariables,
    LagT,
    LegS,
    LegSPath,
    LegT,
    PivotedPoints,
    Points,
)
from gpvae.modules.learners import Collapsed, FreeFormLearner, Learner, OnePass, WholeTask


@dataclass(frozen=True)
class Data:
    """What a config on these data contains.

    Attributes:
        name: Class of the datamodule.
        num_inducing: M of the paper.
        likelihood: Likelihood of the targets.
        steps: Iterations for each task, if something is trained.
        lr: Learning rate, if something is trained.
        quick: Overrides for a quick run.
    """

    name: str
    num_inducing: int
    likelihood: type[Likelihood] = GaussianLikelihood
    steps: int | None = None
    lr: float | None = None
    quick: tuple[str, ...] = ()


@dataclass(frozen=True)
class Method:
    """What a config with this method contains.

    Attributes:
        families: Families of inducing variables.
        learner: How q(u) is found.
        ordering: Order of the path, if there is one.
    """

    families: tuple[type[InducingVariables], ...]
    learner: type[Learner]
    ordering: str | None = None


FIXED = "--model.hyperparameters=fixed"  # fitting would take seconds
SMALL_TABLE = ("--data.num_tasks=100", "--data.num_test=0.5", "--model.num_inducing=16")
DATA = {
    "solar": Data("Solar", 50, steps=1000, lr=0.01),
    "audio": Data("Audio", 100, steps=1000, lr=0.01, quick=("--data.num_tasks=100", "--model.num_inducing=20")),
    "covid": Data("Covid", 15, NegativeBinomialLikelihood, steps=5000, lr=0.01, quick=(FIXED,)),
    "skillcraft": Data("Skillcraft", 256, steps=2000, lr=0.005, quick=(*SMALL_TABLE, FIXED)),
    "powerplant": Data("Powerplant", 256, steps=2000, lr=0.005, quick=SMALL_TABLE),
    "moons": Data("TwoMoons", 20, BernoulliLikelihood, steps=1000, lr=0.01),
    "toy": Data("Toy", 25),
}
METHODS = {
    "osgpr": Method((Points,), Collapsed),
    "osgpr_trained": Method((Points,), Collapsed),
    "osvgp": Method((Points,), FreeFormLearner),
    "ovc": Method((PivotedPoints,), OnePass),
    "ovc_optz": Method((PivotedPoints,), Collapsed),
    "ovc_closed": Method((PivotedPoints,), OnePass),
    "ovff": Method((FourierFeatures,), OnePass),
    "ohsgpr": Method((LegS,), OnePass),
    "ohsgpr_trained": Method((LegS,), Collapsed),
    "ohsgpr_o": Method((LegSPath,), OnePass, "given"),
    "ohsgpr_k": Method((LegSPath,), OnePass, "kernel_max"),
    "ohsvgp": Method((LegS,), FreeFormLearner),
    "ohsvgp_short": Method((LegS,), Collapsed),
    "ohsvgp_o": Method((LegSPath,), FreeFormLearner, "given"),
    "ohsvgp_k": Method((LegSPath,), FreeFormLearner, "kernel_max"),
    "ohsvgp_rand": Method((LegSPath,), Collapsed, "random"),
    "ohsvgp_kmax": Method((LegSPath,), Collapsed, "kernel_max"),
    "ohsvgp_kmin": Method((LegSPath,), Collapsed, "kernel_min"),
    "auto": Method((LegS, CosS), OnePass),
    "bank": Method((CosS,), WholeTask),
    "coss": Method((CosS,), OnePass),
    "legs": Method((LegS,), OnePass),
    "legt": Method((LegT,), OnePass),
    "lagt": Method((LagT,), OnePass),
    "fout": Method((FouT,), OnePass),
    "figure_1": Method((LegS,), OnePass),
}
