"""Error of the kernel that random Fourier features approximate, by sampling method.

An RBF kernel with lengthscale sqrt(D) on inputs drawn uniformly from [-1, 1]^D, so that typical correlations are of
the same size in every dimension D. The error is the root mean square of k̂ - k over pairs of points and seeds.
"""

import math

import torch
from gpytorch.kernels import RBFKernel
from rich.progress import track

from benchmarks.report import console, parser, save, table
from gpvae.inducing.spectral import Sampling, draw_frequencies, features, frequencies
from gpvae.kernels import covariance

METHODS: tuple[Sampling, ...] = ("plain", "orthogonal", "qmc")
DIMENSIONS = (1, 4, 19)
NUM_POINTS = 200


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--frequencies", type=int, nargs="+", default=[32, 128, 512, 1000, 2048])
    args = options.parse_args()
    if args.quick:
        args.seeds, args.frequencies = 3, [32, 128]

    cells = [(dim, num) for dim in DIMENSIONS for num in args.frequencies]
    rows = []
    for dim, num in track(cells, description="features", transient=True):
        errors = {method: rms_error(method, dim, num, args.seeds) for method in METHODS}
        rows.append({"dimension": dim, "frequencies": num, "rms_error": errors})
    table(
        f"RMS error of the features' kernel, {args.seeds} seeds",
        ["D", "frequencies", *METHODS, *(f"plain / {method}" for method in METHODS[1:])],
        [[r["dimension"], r["frequencies"], *_columns(r["rms_error"])] for r in rows],
    )
    console.print("qmc draws a Sobol sequence, which is balanced at powers of two")
    most = max(args.frequencies)
    headline = {
        f"error of plain / {method}, D = {r['dimension']}, {most}": r["rms_error"]["plain"] / r["rms_error"][method]
        for r in rows
        if r["frequencies"] == most
        for method in METHODS[1:]
    }
    save("features", {"seeds": args.seeds, "rows": rows}, args.output, headline)


@torch.no_grad()
def rms_error(method: Sampling, dim: int, num: int, num_seeds: int) -> float:
    kernel = RBFKernel().double()
    kernel.lengthscale = math.sqrt(dim)
    x = 2 * torch.rand(NUM_POINTS, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) - 1
    exact = covariance(kernel, x, x)
    squares = []
    for seed in range(num_seeds):
        H = features(frequencies(kernel, draw_frequencies(kernel, dim, num, method, seed)), x)
        squares.append(((H @ H.mT / num - exact) ** 2).mean())
    return math.sqrt(float(torch.stack(squares).mean()))


def _columns(errors: dict[str, float]) -> list[float]:
    return [*errors.values(), *(errors["plain"] / errors[method] for method in METHODS[1:])]


if __name__ == "__main__":
    main()
