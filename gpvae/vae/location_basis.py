"""Functions of location that represent a field: the leading eigenfunctions of a kernel over the locations seen."""

import torch
from gpytorch.kernels import MaternKernel
from torch import Tensor

from gpvae.inducing.pivoted import greedy_points
from gpvae.utils.linalg import cholesky
from gpvae.utils.resizable import Resizable, assign
from gpvae.vae.location_kernel import LocationKernel, correlation

#: Maximum numbers of locations that choose the kernel, of candidates for inducing locations, and of inducing locations.
MAX_FITTED, MAX_CANDIDATES, MAX_INDUCING = 256, 2048, 256
#: Number of locations whose features are computed at a time.
CHUNK_SIZE = 1024


class LocationBasis(Resizable):
    """Functions φ_d of location that are orthonormal over the locations seen in the first task.

    They are the leading eigenfunctions of a kernel over positions, k(s, s') ≈ Σ_d λ_d φ_d(s) φ_d(s'), computed from
    some inducing locations Z: φ(s) = Aᵀ k(Z, s). At other locations they are the predictions of a Gaussian process. The
    variance that they leave unexplained shows how well a location is represented. Functions with eigenvalues below the
    nugget are zero.

    Args:
        number: Number D of functions.
    """

    scales: Tensor
    inducing: Tensor
    weights: Tensor
    eigenvalues: Tensor
    nugget: Tensor
    amplitude: Tensor
    missed: Tensor

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        for name in ("scales", "inducing", "weights", "eigenvalues", "nugget", "amplitude", "missed"):
            self.register_buffer(name, torch.zeros(0, dtype=torch.float64))

    @property
    def configuration(self) -> str:
        """The number of functions."""
        return f"LocationBasis({self.number})"

    @property
    def fitted(self) -> bool:
        """Whether the functions are known."""
        return len(self.inducing) > 0

    @torch.no_grad()
    def fit(self, positions: Tensor, y: Tensor, mask: Tensor) -> None:
        """Choose the kernel and find its eigenfunctions. All processes see the same values, and so find the same.

        Args:
            positions: Positions of the locations that are observed, `[S, P]`.
            y: Values of some of them, those of `fitted_locations`, `[N, T, V]`.
            mask: Which of these are observed.
        """
        some = fitted_locations(len(positions))
        kernel = LocationKernel.choose(positions[some], y, mask)
        x = positions / kernel.scales
        candidates = x[_some(len(x), MAX_CANDIDATES)]
        matern = MaternKernel(nu=1.5).to(x)
        matern.lengthscale = 1.0
        Z = candidates[greedy_points(matern, candidates, min(len(candidates), MAX_INDUCING), shared=True)]
        L = cholesky(correlation(Z, Z))
        gram = torch.zeros_like(L)
        for part in x.split(CHUNK_SIZE):
            a = torch.linalg.solve_triangular(L, correlation(Z, part), upper=False)
            gram += a @ a.mT / len(x)
        eigenvalues, vectors = torch.linalg.eigh(gram)
        eigenvalues, vectors = eigenvalues.flip(-1)[: self.number], vectors.flip(-1)[:, : self.number]
        kept = (eigenvalues * len(x) > kernel.nugget).double()
        scaled = vectors * (kept / eigenvalues.clamp_min(torch.finfo(x.dtype).tiny).sqrt()).nan_to_num()
        lacking = self.number - len(eigenvalues)
        assign(
            self.weights, torch.nn.functional.pad(torch.linalg.solve_triangular(L.mT, scaled, upper=True), (0, lacking))
        )
        assign(self.eigenvalues, torch.nn.functional.pad(eigenvalues * kept, (0, lacking)))
        assign(self.inducing, Z)
        assign(self.scales, kernel.scales)
        assign(self.nugget, x.new_tensor(kernel.nugget))
        assign(self.amplitude, (1 - kernel.nugget) * kernel.amplitude)
        assign(
            self.missed, 1 - torch.cat([self.represented(self(part)) for part in positions.split(CHUNK_SIZE)]).mean()
        )

    def forward(self, positions: Tensor) -> Tensor:
        """The functions at positions `[B, P]`, `[B, D]`."""
        return correlation(positions / self.scales, self.inducing) @ self.weights

    def represented(self, features: Tensor) -> Tensor:
        """The share of the kernel's variance that the functions represent, `[B]`, from features `[B, D]`."""
        return (features.square() @ self.eigenvalues).clamp(0, 1)

    def excess(self, features: Tensor) -> Tensor:
        """The missed variance of each variable, `[B, V]`, in excess of that missed at the locations seen."""
        return (1 - self.represented(features) - self.missed).clamp_min(0)[:, None] * self.amplitude


def fitted_locations(number: int) -> Tensor:
    """Indices of locations whose values choose the kernel, among those that are observed."""
    return _some(number, MAX_FITTED)


def _some(number: int, limit: int) -> Tensor:
    """Random indices, in increasing order."""
    rng = torch.Generator().manual_seed(0)
    return torch.randperm(number, generator=rng)[:limit].sort().values
