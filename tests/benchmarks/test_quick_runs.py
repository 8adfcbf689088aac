"""Benchmarks that take seconds with `--quick` run from end to end."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
import torch

#: Benchmarks and the data that they need.
CHEAP = {
    "bank": "solar.mat",
    "features": None,
    "hyperparameter_fit": "solar.mat",
    "path_memory": "powerplant.txt",
    "single_points": "audio_subband.mat",
    "solar_stream": "solar.mat",
    "step_cost": None,
    "vae_line_up": None,
    "vae_steps": None,
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")  # small runs have few inducing variables
@pytest.mark.parametrize("name", CHEAP)
def test_quick_run(
    name: str, real_data: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (file := CHEAP[name]) is not None:
        real_data(file)
    monkeypatch.setattr("sys.argv", [name, "--quick", "--output", str(tmp_path)])
    threads = torch.get_num_threads()
    try:
        import_module(f"benchmarks.{name}").main()
    finally:
        torch.set_num_threads(threads)
    headline = json.loads((tmp_path / f"{name}.json").read_text())["headline"]
    assert headline
    assert all(isinstance(value, float) for value in headline.values())
