"""Several outputs: what they cost if they share kernel and precision, and if each has a kernel of its own.

The stream is 20 batches of noisy waves. All are learnt in turns, and the fastest round counts. With a gap, one target
of one output is missing in the first batch, so that every output needs a precision of its own.
"""

import math
import time

import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from torch import Tensor

from benchmarks.report import parser, save, table
from benchmarks.streams import expected_warnings
from gpvae import OnlineGP
from gpvae.inducing import CosS

CASES = ("one output", "shared kernel", "shared kernel, with a gap", "a kernel for each")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--num-outputs", type=int, default=20)
    options.add_argument("--num-inducing", type=int, default=100)
    options.add_argument("--rounds", type=int, default=3)
    args = options.parse_args()
    if args.quick:
        args.num_outputs, args.num_inducing, args.rounds = 3, 20, 1
    torch.set_num_threads(1)
    with expected_warnings():
        rounds = [
            {name: measure(name, args.num_outputs, args.num_inducing) for name in CASES} for _ in range(args.rounds)
        ]
    best = {name: [min(values) for values in zip(*(r[name] for r in rounds), strict=True)] for name in CASES}
    one = best["one output"]
    rows = [
        [name, *values, values[0] / one[0], values[1] / one[1], values[2] / one[2]] for name, values in best.items()
    ]
    columns = ["", "s to learn", "s to predict", "numbers kept", "learn", "predict", "kept, relative to one output"]
    table(f"{args.num_outputs} outputs, M = {args.num_inducing}: CPU time", columns, rows)
    save("outputs", best, args.output, {f"{row[0]}: time relative to one output": row[4] for row in rows})


def measure(name: str, num_outputs: int, num_inducing: int) -> tuple[float, float, float]:
    """CPU seconds to learn and to predict, and numbers kept."""
    x = torch.linspace(0, 100, 2000, dtype=torch.float64)
    y = waves(x, num_outputs)
    own = torch.Size([num_outputs] if name == "a kernel for each" else [])
    kernel = ScaleKernel(RBFKernel(batch_shape=own), batch_shape=own)
    shared = num_outputs if name.startswith("shared") else None
    gp = OnlineGP(CosS(num_inducing), kernel, GaussianLikelihood(), num_outputs=shared)
    if name == "shared kernel, with a gap":
        y[5, 1] = math.nan
    parts = y.split(100) if shared else [part.mT if own else part[:, 0] for part in y.split(100)]
    begin = time.process_time()
    for x_batch, y_batch in zip(x.split(100), parts, strict=True):
        gp.update(x_batch, y_batch)
    middle = time.process_time()
    gp.predict(x)
    return middle - begin, time.process_time() - middle, float(sum(b.numel() for b in gp.buffers()))


def waves(x: Tensor, num: int) -> Tensor:
    rng = torch.Generator().manual_seed(0)
    clean = torch.stack([torch.sin((1 + k / 9) * x) for k in range(num)], -1)
    return clean + 0.1 * torch.randn(clean.shape, generator=rng, dtype=x.dtype)


if __name__ == "__main__":
    main()
