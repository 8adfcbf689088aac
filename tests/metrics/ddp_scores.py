"""One process of several that score points together: `python ddp_scores.py RANK WORLD_SIZE FOLDER`."""

import json
import sys
import warnings
from pathlib import Path

import torch

warnings.filterwarnings("ignore", ".torch.jit.script. is deprecated", DeprecationWarning)

from torch import distributed  # noqa: E402
from torch.distributions import Normal  # noqa: E402

from gpvae.metrics import Forgetting, TaskScores  # noqa: E402

NUM_TASKS = 4
GROUPS = ["a", "b", "c"]
#: Process, task and number of points of each batch; task 3 (index 2) has no points.
SHARDS = [(0, 0, 5), (1, 0, 17), (0, 1, 8), (1, 1, 1), (0, 3, 11), (0, 0, 3)]
#: The same, with all batches on the first process.
ONE_IDLE = [(0, task, points) for _, task, points in SHARDS]


def batch(index: int, points: int) -> tuple[Normal, torch.Tensor]:
    generator = torch.Generator().manual_seed(index)
    mean, scale, target = torch.randn(3, points, generator=generator, dtype=torch.float64)
    return Normal(mean, scale.exp()), target


def score(rank: int | None, shards: list[tuple[int, int, int]]) -> dict[str, float]:
    """Scores of the batches of one process, or of all for None; points belong to the groups in turn."""
    scores = TaskScores(["ece", "nlpd", "rmse"], num_variables=len(GROUPS))
    scores.reset(NUM_TASKS)
    for index, (owner, task, points) in enumerate(shards):
        if rank in (None, owner):
            scores.update(task, *batch(index, points), torch.arange(points) % len(GROUPS))
    found = scores.compute(NUM_TASKS, GROUPS)
    return {f"{score.task} {score.metric} {score.variable}": score.value for score in found}


def main(rank: int, world_size: int, folder: Path) -> None:
    warnings.simplefilter("error", UserWarning)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world_size)
    forgetting = Forgetting()
    for after_task, task, value in [(1, 1, 1.0), (2, 1, 1.5), (2, 2, 0.0)]:
        forgetting.update(after_task, task, value)
    results = {
        "uneven": score(rank, SHARDS),
        "one_idle": score(rank, ONE_IDLE),
        "forgetting": forgetting.compute().item(),
    }
    (folder / f"{rank}.json").write_text(json.dumps(results))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
