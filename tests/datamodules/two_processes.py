"""Trains on the toy stream in two processes, each of which writes down what it saw: `two_processes.py FOLDER`."""

import json
import sys
from pathlib import Path

from datamodules import Toy
from tests.datamodules.streams import Witness, trainer

if __name__ == "__main__":
    stream, model = Toy(batch_size=7, num_test=6), Witness()
    run = trainer(max_epochs=stream.num_epochs, devices=2, strategy="ddp")
    run.fit(model, stream)
    seen = {
        "trained": [(epoch, index) for epoch, _, index in model.trained],
        "evaluated": model.evaluated,
        "test_points": [len(task.x_test) for task in stream.tasks],
        "mean": model.mean.item(),
    }
    (Path(sys.argv[1]) / f"{run.global_rank}.json").write_text(json.dumps(seen))
