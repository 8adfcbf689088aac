"""A state, a saved model or a checkpoint with faults is refused completely, or predicts finite values."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import strategies as st

from tests.cli.program import run_here, write_config
from tests.fuzz.damage import damaged
from tests.fuzz.states import MODELS, learnt, load_model, load_run, load_state
from tests.fuzz.test_configs import WEATHER
from tests.fuzz.trials import Record, try_inputs
from tests.fuzz.wrong_states import to_bytes, wrong_models, wrong_states

pytestmark = pytest.mark.filterwarnings("ignore")  # of models that are too small
RUNS: dict[str, dict[str, Any]] = {
    "points": {},
    "series": {
        part: {"class_path": WEATHER[part]["class_path"], **WEATHER[part]["init_args"]} for part in ("model", "data")
    },
}


def test_wrong_states(tmp_path: Path, record_property: Record) -> None:
    states = {name: learnt(name).state_dict() for name in MODELS}
    path = tmp_path / "state.pt"
    path.write_bytes(to_bytes({"model": "LegS", "state": states["LegS"]}))
    inputs = st.sampled_from(sorted(MODELS)).flatmap(
        lambda name: wrong_states(states[name]).map(lambda state: to_bytes({"model": name, "state": state}))
    )
    try_inputs("states of OnlineGP", load_state, inputs, 100, lambda: path, record_property, whole=path)


def test_wrong_states_of_banks(tmp_path: Path, record_property: Record) -> None:
    state, path = learnt("bank").state_dict(), tmp_path / "state.pt"
    path.write_bytes(to_bytes({"model": "bank", "state": state}))
    inputs = wrong_states(state).map(lambda changed: to_bytes({"model": "bank", "state": changed}))
    try_inputs("states of Bank", load_state, inputs, 40, lambda: path, record_property, whole=path)


def test_wrong_models(tmp_path: Path, record_property: Record) -> None:
    path = tmp_path / "gp.pt"
    learnt("CosS").save(path)
    content = torch.load(path, weights_only=True)
    inputs = st.one_of(wrong_models(content).map(to_bytes), damaged(path.read_bytes()))
    try_inputs("saved OnlineGP", load_model, inputs, 60, lambda: path, record_property, whole=path)


@pytest.mark.parametrize("kind", RUNS)
def test_wrong_runs(kind: str, tmp_path: Path, record_property: Record) -> None:
    """The state of a module in a checkpoint, with checksums that are right."""
    write_config(tmp_path, **RUNS[kind])
    run_here(tmp_path, "fit", "-c", "small.yaml", "--report.print_table", "false", "--trainer.logger", "false")
    path = tmp_path / "runs" / "small" / "seed_3" / "checkpoints" / "last.ckpt"
    content = torch.load(path, weights_only=True)
    inputs = wrong_states(content["state_dict"]).map(lambda state: to_bytes({**content, "state_dict": state}))
    try_inputs(f"saved runs, {kind}", load_run, inputs, 20, lambda: path, record_property, whole=path)
