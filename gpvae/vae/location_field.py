"""A field whose networks take the location as an input, so that they do not grow with the number of locations."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from gpvae.utils.distributed import own_items, sum_over_processes
from gpvae.utils.row_store import select_rows
from gpvae.vae.location_basis import CHUNK_SIZE, LocationBasis, fitted_locations
from gpvae.vae.locations import Locations

#: Maximum number of steps of conjugate gradients for missing values, and the relative residual at which they end.
MAX_STEPS, TOLERANCE = 20, 1e-3


class LocationField(nn.Module):
    """Values of all locations as coefficients of functions of location, D·V variables of one series.

    At each hour, the coefficients c of a variable come from ridge regression, (ΦᵀΦ + n Λ⁻¹) c = Φᵀ y, with the rows of
    locations that are observed then. They are the posterior mean of a Gaussian process with the basis' kernel and
    nugget n.

    Args:
        num_features: Number D of functions of location.
        num_variables: Number V of variables.

    Attributes:
        num_values: Number of values of the present task, on all processes.
        power: Mean square of the values of each variable in the present task, `[V]`.
    """

    num_values: Tensor
    power: Tensor

    def __init__(self, num_features: int, num_variables: int) -> None:
        super().__init__()
        self.basis = LocationBasis(num_features)
        self.num_features, self.num_variables = num_features, num_variables

    @property
    def size(self) -> int:
        """D·V."""
        return self.num_features * self.num_variables

    @torch.no_grad()
    def join(self, locations: Locations, y: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Coefficients `[1, T, D·V]` of values `[S, T, V]`, and where any value of their variable is observed.

        The first call chooses the functions.

        Args:
            locations: All locations.
            y: Values of all locations; each process reads its own.
            mask: Which of them are observed.

        Raises:
            ValueError: The locations are unknown, or their number differs from that of the values.
        """
        _check_number(locations, len(y))
        if not self.basis.fitted:
            seen = torch.cat([part.flatten(1).any(1) for part in mask.split(CHUNK_SIZE)]).nonzero()[:, 0]
            some = seen[fitted_locations(len(seen))]
            device = locations.coordinates.device
            observed = select_rows(mask, some).to(device)
            locations.seen[seen.to(device)] = True
            self.basis.fit(locations.positions(seen), select_rows(y, some).to(device), observed)
        system = _Normal(self.basis, locations, y, mask)
        self.num_values, self.power = system.counts.sum(), system.squares / system.counts.sum(0).clamp_min(1)
        coefficients = system.solve()
        seen = (system.counts > 0).expand_as(coefficients)
        return tuple(part.permute(1, 0, 2).flatten(1)[None] for part in (coefficients.float(), seen))  # type: ignore[return-value]


class _Normal:
    """The normal equations of all hours and variables, (ΦᵀMΦ + n Λ⁻¹) c = ΦᵀM y, with c `[D, T, V]`."""

    def __init__(self, basis: LocationBasis, locations: Locations, y: Tensor, mask: Tensor) -> None:
        self.basis, self.locations, self.y, self.mask = basis, locations, y, mask
        zeros = y.new_zeros(basis.number, *y.shape[1:], dtype=torch.float64).to(basis.weights.device)
        right, counts, squares = zeros.clone(), zeros[0].clone(), zeros[0, 0].clone()
        for features, index in self._chunks():
            seen = select_rows(mask, index).to(zeros.device)
            values = select_rows(y, index).to(zeros).where(seen, 0.0)
            right += torch.tensordot(features, values, dims=([0], [0]))
            counts += seen.sum(0)
            squares += values.square().sum((0, 1))
        self.right, self.counts, self.squares = map(sum_over_processes, (right, counts, squares))
        used = basis.eigenvalues > 0
        ridge = basis.nugget / basis.eigenvalues.where(used, 1.0)
        self.ridge, self.used = ridge[:, None, None], used[:, None, None].double()

    def _chunks(self) -> Iterator[tuple[Tensor, Tensor]]:
        for index in own_items(len(self.y)).split(CHUNK_SIZE):
            yield self.basis(self.locations.positions(index)), index

    def _times(self, c: Tensor) -> Tensor:
        """(ΦᵀMΦ + n Λ⁻¹) c."""
        total = torch.zeros_like(c)
        for features, index in self._chunks():
            seen = select_rows(self.mask, index).to(c.device)
            total += torch.tensordot(features, torch.tensordot(features, c, dims=1).where(seen, 0.0), dims=([0], [0]))
        return sum_over_processes(total) + self.ridge * c

    def solve(self) -> Tensor:
        """c by conjugate gradients, preconditioned by the number of values; one pass if all locations are observed."""
        precondition = self.used / (self.counts + self.ridge)
        c = precondition * self.right
        residual = self.right * self.used - self._times(c)
        direction = precondition * residual
        size = (residual * direction).sum(0)
        scale = (self.right.square() * precondition).sum(0).clamp_min(torch.finfo(c.dtype).tiny)
        for _ in range(MAX_STEPS):
            if bool((size <= TOLERANCE**2 * scale).all()):
                break
            image = self._times(direction)
            curvature = (direction * image).sum(0)
            step = torch.where(curvature > 0, size / curvature.clamp_min(torch.finfo(c.dtype).tiny), 0.0)
            c, residual = c + step * direction, residual - step * image * self.used
            before, preconditioned = size, precondition * residual
            size = (residual * preconditioned).sum(0)
            ratio = torch.where(before > 0, size / before.clamp_min(torch.finfo(c.dtype).tiny), 0.0)
            direction = preconditioned + ratio * direction
        return c


def _check_number(locations: Locations, number: int) -> None:
    if not locations.known:
        raise ValueError("the locations are unknown: use a datamodule that has them, or call vae.locations.set(...)")
    if len(locations.coordinates) != number:
        raise ValueError(
            f"the data have {number} locations, and {len(locations.coordinates)} are known: give values of all of "
            "them, with missing ones masked"
        )
