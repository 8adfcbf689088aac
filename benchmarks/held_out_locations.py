"""Scores at locations never seen: a field whose networks take the location, beside interpolation of its predictions.

A fifth of the locations is held out of training; after the last task the held-out hours of all locations are scored.
The model predicts at the held-out locations itself. Beside it are its predictions at the locations seen, interpolated:
those of the nearest location, and of the four nearest weighted by the inverse square of their distance.
"""

import argparse
import logging
import time
import warnings
from typing import Any

import numpy as np
import torch
from lightning import Trainer, seed_everything
from rich.progress import track

from benchmarks.memory.datasets import DATASETS
from benchmarks.report import console, parser, save, table
from callbacks import ContinualLearning
from callbacks.location_scores import MODEL, NEAREST, WEIGHTED, location_scores
from datamodules import ERA5
from gpvae.modules import SVGPVAE

METRICS = ("nlpd", "rmse", "crps", "coverage")
SEEN = "locations seen"
NAMES = {SEEN: SEEN, MODEL: "never seen: the model", NEAREST: "nearest", WEIGHTED: "inverse distance"}
#: Locations held out of each data set: a fifth.
HELD_OUT = {"finse_70": 14, "cornwall": 7}
#: Inputs of the networks that the files of each data set have.
INPUTS = {"finse_70": ["height", "sun"], "cornwall": ["land", "sun"]}
MODEL_OPTIONS: dict[str, Any] = {
    "latents": "field",
    "inducing": "CosS",
    "hyperparameters": "fixed",
    "consolidation": "replay",
    "periods": [24.0],
}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--data", nargs="+", choices=HELD_OUT, default=list(HELD_OUT))
    options.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options.add_argument("--location-features", type=int, default=32)
    options.add_argument("--latent-dim", type=int, default=40)
    options.add_argument("--num-inducing", type=int, default=200)
    options.add_argument("--epochs", type=int, default=100)
    options.add_argument("--lr", type=float, default=0.003)
    options.add_argument("--no-inputs", action="store_true", help="latitude and longitude only")
    args = options.parse_args()
    if args.quick:
        args.data, args.seeds, args.epochs, args.num_inducing = ["cornwall"], [0], 3, 20
    torch.set_num_threads(1)
    cases = [(data, seed) for data in args.data for seed in args.seeds]
    runs = {case: run(*case, args) for case in track(cases, "Measuring", console=console, transient=True)}
    rows, headline = [], {}
    for data in args.data:
        own = [found for (name, _), found in runs.items() if name == data]
        for method in (SEEN, MODEL, NEAREST, WEIGHTED):
            means = [float(np.mean([found[method][metric] for found in own])) for metric in METRICS]
            rows.append([data, NAMES[method], *means, float(np.mean([found["cpu"]["seconds"] for found in own]))])
        better = [found[WEIGHTED]["nlpd"] - found[MODEL]["nlpd"] for found in own]
        headline[f"{data}: nats ahead of inverse distance"] = float(np.mean(better))
    table(f"Held-out hours, mean of {len(args.seeds)} seed(s)", ["data", "", *METRICS, "CPU s"], rows, names=2)
    results = {f"{data} {seed}": found for (data, seed), found in runs.items()}
    save("held_out_locations", {"options": vars(args) | {"output": None}, "runs": results}, args.output, headline)


def run(data: str, seed: int, args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Scores by method and metric, after the last task, and the CPU seconds of learning."""
    seed_everything(seed, verbose=False)
    stream = DATASETS[data](seed)
    held_out = ERA5(**{**_options(stream), "test_locations": HELD_OUT[data], "epochs_per_task": args.epochs})
    module = SVGPVAE(
        num_inducing=args.num_inducing,
        latent_dim=args.latent_dim,
        location_features=args.location_features,
        static_inputs=None if args.no_inputs else INPUTS[data],
        lr=args.lr,
        seed=seed,
        **MODEL_OPTIONS,
    )
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "accelerator": "cpu"}
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held_out.prepare_data()
        held_out.setup()
        trainer = Trainer(
            **held_out.trainer_options,
            **quiet,
            enable_model_summary=False,
            limit_val_batches=0,
            callbacks=[ContinualLearning()],
        )
        begin = time.process_time()
        trainer.fit(module, datamodule=held_out)
        seconds = time.process_time() - begin
        trainer = Trainer(**quiet, enable_model_summary=False, callbacks=[ContinualLearning()])
        trainer.validate(module, datamodule=held_out, verbose=False)
    scores = {SEEN: module.last_scores, **location_scores(module, held_out)}
    found = {
        name: {score.metric: score.value for score in rows if score.task is None and not score.variable}
        for name, rows in scores.items()
    }
    return found | {"cpu": {"seconds": seconds}}


def _options(stream: ERA5) -> dict[str, Any]:
    """The options of a stream, with which it can be built again."""
    return {name: value for name, value in stream.hparams.items() if not name.startswith("_")}


if __name__ == "__main__":
    main()
