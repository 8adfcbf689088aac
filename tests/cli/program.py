"""Helpers that run the program, and small configs."""

import io
import os
import subprocess
import sys
import sysconfig
from contextlib import chdir, redirect_stderr
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor

from gpvae.cli import main

#: A config whose run takes less than a second.
CONFIG: dict[str, Any] = {
    "seed_everything": 3,
    "model": {
        "class_path": "StreamingGP",
        "init_args": {
            "method": "OHSGPR",
            "num_inducing": 10,
            "hyperparameters": "fixed",
            "lengthscale": 0.5,
            "noise": 0.01,
        },
    },
    "data": {"class_path": "Toy", "init_args": {"kind": "figure_1", "num_tasks": 3}},
    "trainer": {"accelerator": "cpu"},
    "figures": {"enabled": False},
}


def script(name: str = "gpvae") -> str:
    """Return the path of a console script of this installation."""
    path = Path(sysconfig.get_path("scripts")) / name
    if not path.exists():
        pytest.skip(f"{name} is not installed here: pip install -e .")
    return str(path)


def write_config(folder: Path, name: str = "small.yaml", **sections: Any) -> Path:
    """Write `CONFIG` with some keys changed; keys of model and data are their arguments."""
    config = {**CONFIG, **{key: value for key, value in sections.items() if key not in ("model", "data")}}
    for part in ("model", "data"):
        config[part] = {**CONFIG[part], "init_args": {**CONFIG[part]["init_args"], **sections.get(part, {})}}
        if "class_path" in config[part]["init_args"]:
            changed = dict(sections[part])
            config[part] = {"class_path": changed.pop("class_path"), "init_args": changed}
    path = folder / name
    path.write_text(yaml.safe_dump(config))
    return path


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of the program: a console of fixed width, and no variables set by other tests."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PL_", "LOCAL_RANK", "PYTEST"))}
    return {**kept, "COLUMNS": "200", "PYTHONWARNINGS": "ignore", **variables}


def run(
    folder: Path, *args: str, program: list[str] | None = None, seconds: float = 1800, **variables: str
) -> subprocess.CompletedProcess:
    """Run the installed program in a folder, and wait for it."""
    command = [*(program or [script()]), *args]
    return subprocess.run(
        command, cwd=folder, env=environment(**variables), capture_output=True, text=True, timeout=seconds, check=False
    )


def run_here(folder: Path, *args: str) -> None:
    """Run the program in a folder, in this process, which saves the time that imports take."""
    with pytest.MonkeyPatch.context() as patch, chdir(folder):
        patch.setattr(sys, "argv", ["gpvae", *args])
        patch.setenv("COLUMNS", "200")
        main()


def refused(folder: Path, *args: str) -> str:
    """Return the message of a program that must exit with an error, not by another exception."""
    stderr = io.StringIO()
    with redirect_stderr(stderr), pytest.raises(SystemExit) as exit_:
        run_here(folder, *args)
    code = exit_.value.code
    assert code not in (0, None)
    return code if isinstance(code, str) else stderr.getvalue()


def weights(path: Path) -> dict[str, Tensor]:
    """Return the state in a checkpoint."""
    return torch.load(path, weights_only=True)["state_dict"]


def assert_same(a: Any, b: Any, where: str = "") -> None:  # noqa: ANN401
    """Assert that two nested states are equal, bit for bit."""
    if isinstance(a, Tensor):
        assert a.shape == b.shape, where
        assert a.dtype == b.dtype, where
        assert torch.equal(a.nan_to_num(nan=-7.0), b.nan_to_num(nan=-7.0)), where
    elif isinstance(a, dict):
        assert a.keys() == b.keys(), where
        for key in a:
            assert_same(a[key], b[key], f"{where}/{key}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, (left, right) in enumerate(zip(a, b, strict=True)):
            assert_same(left, right, f"{where}/{i}")
    else:
        assert a == b, where
