"""The LegS memory of a path: one block update against stepping the HiPPO ODE.

The path goes through the Powerplant inputs, sorted by their first dimension, and the signal is its random Fourier
features. The reference projects the same piecewise constant signal by Gauss-Legendre quadrature within every step,
exact for polynomials of this degree, in extended precision (`numpy.longdouble`, 64 bits of mantissa on x86); it shares
neither formulas nor precision with the contenders.
"""

import numpy as np
import torch
from torch import Tensor

from benchmarks.report import console, parser, save, table
from benchmarks.timing import ratio, side_by_side
from datamodules.uci import powerplant
from gpvae.hippo import ScaledLegendre, absorb_path, evolve

#: Every n-th feature is compared with the reference.
EVERY = 20


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--size", type=int, default=256, help="basis functions M")
    options.add_argument("--steps", type=int, default=2000)
    options.add_argument("--frequencies", type=int, default=1000, help="half the number of features")
    options.add_argument("--tasks", type=int, default=10, help="number of blocks of the block update in tasks")
    options.add_argument("--repeats", type=int, default=5, help="rounds; the recurrence runs in the first one only")
    args = options.parse_args()
    if args.quick:
        args.size, args.steps, args.frequencies = 64, 500, 100

    measure, signal = ScaledLegendre(args.size), path_features(args.steps, args.frequencies)
    memory, start, dt = signal.new_zeros(args.size, signal.shape[1]), signal.new_zeros(()), signal.new_ones(())
    results: dict[str, Tensor] = {}

    def in_blocks(name: str, num_blocks: int) -> None:
        state, t = memory, start
        for block in signal.tensor_split(num_blocks):
            state, t = absorb_path(measure, state, t, block, dt), t + len(block) * dt
        results[name] = state

    def stepped(name: str, scheme: str) -> None:
        results[name] = evolve(measure, memory, start, signal, dt, scheme)

    tasks = f"block update, {args.tasks} tasks"
    slow = ("bilinear recurrence", "euler recurrence")
    timings = side_by_side(
        {
            "block update, one task": lambda: in_blocks("block update, one task", 1),
            tasks: lambda: in_blocks(tasks, args.tasks),
            slow[0]: lambda: stepped(slow[0], "bilinear"),
            slow[1]: lambda: stepped(slow[1], "euler"),
        },
        args.repeats,
        once=slow,
    )
    errors = relative_errors(results, signal, args.size)
    rows = [
        {
            "name": name,
            **timing.as_dict(),
            "error": errors[name],
            "times_faster_than_bilinear": ratio(timings[slow[0]], timing),
            "times_more_exact_than_bilinear": errors[slow[0]] / errors[name],
        }
        for name, timing in timings.items()
    ]
    table(
        f"LegS path memory, M = {args.size}, {args.steps} steps, {signal.shape[1]} features",
        ["", "seconds", "error", "bilinear seconds / these", "bilinear error / this"],
        [[r["name"], r["median_seconds"], r["error"], *list(r.values())[-2:]] for r in rows],
    )
    console.print("error: largest deviation from the exact projection, relative to its largest entry")
    headline = {f"bilinear recurrence / {r['name']}": r["times_faster_than_bilinear"] for r in rows[:2]}
    results = {"arguments": vars(args) | {"output": str(args.output)}, "rows": rows}
    save("path_memory", results, args.output, headline)


def path_features(num_steps: int, num_frequencies: int) -> Tensor:
    """H(x(s)) `[K, 2R]` along a path through the first points of Powerplant."""
    x, _ = powerplant()
    x = x[:num_steps]
    x = x[x[:, 0].argsort()]
    omega = torch.randn(x.shape[1], num_frequencies, dtype=x.dtype, generator=torch.Generator().manual_seed(0))
    return torch.cat([(x @ omega).cos(), (x @ omega).sin()], 1)


def relative_errors(results: dict[str, Tensor], signal: Tensor, size: int) -> dict[str, float]:
    """Largest deviation from the reference, relative to its largest entry; infinite if values are not finite."""
    some = signal[:, ::EVERY].numpy().astype(np.longdouble)
    reference = step_weights(len(signal), size).T @ some
    errors = {}
    for name, state in results.items():
        deviation = np.abs(state[:, ::EVERY].numpy().astype(np.longdouble) - reference)
        errors[name] = float(deviation.max() / np.abs(reference).max()) if np.isfinite(deviation).all() else np.inf
    return errors


def step_weights(num_steps: int, size: int) -> np.ndarray:
    """Integrals over each step of sqrt(2m+1) P_m(2s - 1) ds on [0, 1], `[K, M]`, in extended precision."""
    z, w = gauss_legendre(size // 2 + 1)
    centres = (2 * np.arange(num_steps, dtype=np.longdouble) + 1) / num_steps - 1
    s = centres[:, None] + z / num_steps
    weights = np.empty((num_steps, size), dtype=np.longdouble)
    before, now = np.zeros_like(s), np.ones_like(s)
    for m in range(size):
        weights[:, m] = np.sqrt(np.longdouble(2 * m + 1)) * (now @ w) / (2 * num_steps)
        before, now = now, ((2 * m + 1) * s * now - m * before) / (m + 1)
    return weights


def gauss_legendre(num: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [-1, 1] in extended precision: NumPy's, refined by Newton's method."""
    z = np.polynomial.legendre.leggauss(num)[0].astype(np.longdouble)
    for _ in range(3):
        before, now = np.zeros_like(z), np.ones_like(z)
        for m in range(num):
            before, now = now, ((2 * m + 1) * z * now - m * before) / (m + 1)
        slope = num * (before - z * now) / (1 - z**2)
        z = z - now / slope
    return z, 2 / ((1 - z**2) * slope**2)


if __name__ == "__main__":
    main()
