"""The description of an `OnlineGP` that is built later, when the number of inputs is known."""

import copy
from dataclasses import dataclass

from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood

from gpvae.inducing import InducingVariables
from gpvae.methods import build_families, build_kernel
from gpvae.online_gp import OnlineGP


@dataclass(frozen=True)
class Blueprint:
    """The parts of an `OnlineGP`; they are copied, never changed.

    Attributes:
        inducing: A family of inducing variables, or the name of one.
        num_inducing: Number of variables of a family given by name.
        kernel: A gpytorch kernel; a scaled RBF kernel with a lengthscale for each input if not given.
        likelihood: A gpytorch likelihood; Gaussian if not given.
        num_outputs: Number of outputs that share them; None for one output.
    """

    inducing: InducingVariables | str
    num_inducing: int
    kernel: Kernel | None = None
    likelihood: Likelihood | None = None
    num_outputs: int | None = None

    def build(self, input_dim: int) -> OnlineGP:
        """A new model for inputs with this number of dimensions."""
        if isinstance(self.inducing, str):
            families = build_families(self.inducing, self.num_inducing, input_dim, seed=0, options={})
        else:
            families = [copy.deepcopy(self.inducing)]
        kernel = build_kernel("rbf", input_dim) if self.kernel is None else copy.deepcopy(self.kernel)
        return OnlineGP(families, kernel, copy.deepcopy(self.likelihood), num_outputs=self.num_outputs)
