"""A wrong config is refused by an error message, or builds a run whose numbers are finite."""

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.program import CONFIG
from tests.fuzz.configs import build
from tests.fuzz.mutations import wrong_configs
from tests.fuzz.outcomes import Tally
from tests.fuzz.trials import Record, try_inputs
from tests.fuzz.worker import Worker

WEATHER: dict[str, Any] = {
    "seed_everything": 3,
    "model": {
        "class_path": "SVGPVAE",
        "init_args": {"method": "OHSVGP", "num_inducing": 4, "latent_dim": 2, "hidden_dim": 4, "periods": [24.0]},
    },
    "data": {
        "class_path": "ERA5",
        "init_args": {
            "variables": ["t2m", "tp"],
            "points": 3,
            "land_only": True,
            "start": "2020-01-02",
            "num_tasks": 2,
            "hours_per_task": 12,
            "test_share": 0.2,
            "batch_size": 2,
        },
    },
    "trainer": {"accelerator": "cpu", "gradient_clip_val": 1.0, "callbacks": [{"class_path": "ModelCheckpoint"}]},
    "checkpoint": {"every_n_steps": 10},
}
CONFIGS = {"points": CONFIG, "series": WEATHER}


LAUGHS = "".join(f"    a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10))
HOSTILE = {
    "a hundred thousand lists": f"model: {100_000 * chr(91)}",
    "a billion values": f"data:\n  class_path: Toy\n  init_args:\n    a0: &a0 [1]\n{LAUGHS}",
    "itself": "model: StreamingGP\ndata: &a {class_path: Toy, init_args: *a}\n",
    "depth": f"data: {'[' * 3000}{']' * 3000}\n",
    "a number without end": f"seed_everything: {'9' * 5000}\n",
    "a seed that is none": "model: StreamingGP\ndata: Toy\nseed_everything: -3\n",
    "another encoding": "model: StreamingGP\ndata: Toy\n\udcff",
}


def test_hostile_configs(tmp_path: Path, record_property: Record) -> None:
    """Configs that random changes do not find."""
    tally, read = Tally("configs, hostile"), Worker(build)
    for text in HOSTILE.values():
        (tmp_path / "hostile.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
        tally.add(read(str(tmp_path / "hostile.yaml")))
    read.close()
    record_property("fuzz", tally.row)
    assert not tally.faults, tally.report
    assert tally.counts["refused"] == len(HOSTILE)


@pytest.mark.parametrize("kind", CONFIGS)
def test_wrong_configs(kind: str, tmp_path: Path, record_property: Record) -> None:
    (tmp_path / "data").mkdir()
    whole, numbers = tmp_path / "whole.yaml", itertools.count()
    whole.write_text(yaml.safe_dump(CONFIGS[kind]))
    name, inputs = f"configs, {kind}", wrong_configs(CONFIGS[kind])
    try_inputs(name, build, inputs, 40, lambda: tmp_path / f"{next(numbers)}.yaml", record_property, whole)
