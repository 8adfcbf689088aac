"""Scores of the GP-VAE with one precision for all series, compared with one for each.

Series that are observed at the same times lose only the differences that the encoder infers. So the sample is learnt as
it is, and with every other location observed at one hour in twenty only, the worst case: sparse locations then appear
more certain and the others less certain than they are. Both start from the same networks and use the same batches.
"""

import argparse

import torch
from torch import Tensor

from benchmarks.era5_variants import COMMON
from benchmarks.report import console, parser, save, table
from benchmarks.vae_steps import stepper
from datamodules.era5 import ERA5
from gpvae.metrics import NLPD, Coverage
from gpvae.modules import SVGPVAE

COLUMNS = ["observed", "scored", "NLPD, each its own", "one for all", "coverage, each its own", "one for all "]
SPARSE = 0.05


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tasks", type=int, default=6)
    options.add_argument("--epochs", type=int, default=40, help="steps in each task, with all series")
    options.add_argument("--points", type=int, default=8)
    options.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    args = options.parse_args()
    if args.quick:
        args.tasks, args.epochs, args.points, args.seeds = 2, 2, 4, [0]
    torch.set_num_threads(1)
    rows = [row for sparse in (False, True) for row in compare(sparse, args)]
    table(
        f"After {args.tasks} tasks of the sample, {args.points} locations, mean of {len(args.seeds)} seeds",
        COLUMNS,
        rows,
    )
    save("shared_precision", [dict(zip(COLUMNS, row, strict=True)) for row in rows], args.output)


def compare(sparse: bool, args: argparse.Namespace) -> list[list[object]]:
    """A row for the densely observed locations, and one for the others."""
    found = {
        shared: torch.stack([scores(shared, sparse, seed, args) for seed in args.seeds]).mean(0) for shared in (0, 1)
    }
    observed = f"half of the places {SPARSE:.0%}" if sparse else "all hours"
    kinds = ["dense places", "sparse places"] if sparse else ["even places", "odd places"]
    return [
        [observed, kind, *(float(found[shared][metric, part]) for metric in (0, 1) for shared in (0, 1))]
        for part, kind in enumerate(kinds)
    ]


def scores(shared: int, sparse: bool, seed: int, args: argparse.Namespace) -> Tensor:
    """NLPD and coverage of the held-out hours of all tasks after the last, at even and odd locations, `[2, 2]`."""
    torch.manual_seed(seed)
    data = ERA5(points=args.points, num_tasks=args.tasks, seed=seed)
    data.prepare_data()
    data.setup()
    options = {"inducing": "CosS", "consolidation": "replay", "periods": [24.0], "shared_precision": bool(shared)}
    module = SVGPVAE(num_variables=data.num_variables, seed=seed, **(COMMON | options))
    module.log = lambda *args, **options: None  # type: ignore[method-assign,assignment]
    rng = torch.Generator().manual_seed(seed)
    for task in range(args.tasks):
        times, y, mask = data.task_data(task)
        if sparse:
            kept = torch.rand(len(y), len(times), 1, generator=rng) < SPARSE
            kept[0::2] = True
            mask = mask & kept
        module.begin_task(times, y, mask)
        step = stepper(module, (torch.arange(len(y)), times, y, mask))
        for _ in range(args.epochs):
            step()
        module.end_task()
        console.print(f"{'one for all' if shared else 'each its own'}, seed {seed}, {sparse=}: task {task + 1}")
    metrics = [(NLPD(), Coverage()) for _ in range(2)]
    for task in range(args.tasks):
        for batch in data.test_loader(task, 0, 1):
            for part, pair in enumerate(metrics):
                some = [value[part::2] for value in (batch.series, batch.y, batch.mask)]
                predicted, target = module.predictive((some[0], batch.times, some[1], some[2]))
                for metric in pair:
                    metric.update(predicted, target)
    return torch.stack([torch.stack([metric.compute() for metric in kind]) for kind in zip(*metrics, strict=True)])


if __name__ == "__main__":
    main()
