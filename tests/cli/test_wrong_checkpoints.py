"""Every command refuses a checkpoint that is damaged, of another module or names functions to call, in one sentence."""

import io
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.cli.program import refused, run_here, write_config

LAST = Path("runs/small/seed_3/checkpoints/last.ckpt")
COMMANDS = ("fit", "validate", "test", "predict")


class Bomb:
    """Creates a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("exploded",)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    write_config(folder)
    run_here(folder, "fit", "-c", "small.yaml", "--report.print_table", "false")
    return folder


def saved(content: object, **options: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer, **options)
    return buffer.getvalue()


def changed(content: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    checkpoint = torch.load(io.BytesIO(content), weights_only=True)
    change(checkpoint)
    return saved(checkpoint)


def flipped(content: bytes) -> bytes:
    """Flip one bit of a tensor, which torch does not notice."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        member = max(archive.infolist(), key=lambda member: member.file_size * ("/data/" in member.filename))
    place = content.index(member.filename.encode()) + len(member.filename) + 128
    return content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :]


def array() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.ones(3))
    return buffer.getvalue()


#: Changes to a valid checkpoint, and the error that each causes.
WRONG: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda content: b"", "cannot be read as a checkpoint: it may be damaged"),
    "cut short": (lambda content: content[:-500], "cannot be read as a checkpoint: it may be damaged"),
    "a bit": (flipped, "cannot be read as a checkpoint: it may be damaged"),
    "text": (lambda content: b"seed_everything: 3\n", "cannot be read as a checkpoint: it may be damaged"),
    "arrays": (lambda content: array(), "cannot be read as a checkpoint: it may be damaged"),
    "a tensor": (lambda content: saved(torch.ones(3)), "is not a checkpoint of a run: it has no state_dict"),
    "a state alone": (lambda content: saved({"state_dict": {}}), "it has no hyper_parameters"),
    "a state of something else": (
        lambda content: changed(content, lambda c: c["state_dict"].popitem()),
        "is not a checkpoint of StreamingGP: Error(s) in loading state_dict",
    ),
    "a state that is none": (
        lambda content: changed(content, lambda c: c.update(state_dict=3)),
        "it has no state_dict",
    ),
    "numbers for tensors": (
        lambda content: changed(content, lambda c: c["state_dict"].update(learned=3)),
        "is not a checkpoint of StreamingGP",
    ),
    "a bomb": (lambda content: saved(Bomb()), "it names posix.mkdir, which could run code"),
    "a bomb inside": (
        lambda content: changed(content, lambda c: c.update(bomb=Bomb())),
        "it names posix.mkdir, which could run code",
    ),
    "an old bomb": (
        lambda content: saved(Bomb(), _use_new_zipfile_serialization=False),
        "cannot be read as a checkpoint",
    ),
    "a bare bomb": (lambda content: pickle.dumps(Bomb()), "cannot be read as a checkpoint"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("change", "reason"), WRONG.values(), ids=WRONG.keys())
def test_refused(change: Callable[[bytes], bytes], reason: str, command: str, trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    (tmp_path / LAST).write_bytes(change((trained / LAST).read_bytes()))
    files = sorted(tmp_path.rglob("*"))
    message = refused(tmp_path, command, "-c", "small.yaml", "--ckpt_path", "last")
    assert message.startswith(f"error: {LAST} ")
    assert reason in message
    assert "\n" not in message
    assert sorted(tmp_path.rglob("*")) == files  # no code ran, nothing was moved


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder(command: str, trained: Path) -> None:
    assert "there is no checkpoint runs: run `fit`" in refused(
        trained, command, "-c", "small.yaml", "--ckpt_path", "runs"
    )


def test_a_module_that_was_saved_alone_is_not_resumed(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    content = changed((trained / LAST).read_bytes(), lambda checkpoint: checkpoint.pop("optimizer_states"))
    (tmp_path / "alone.ckpt").write_bytes(content)
    args = ["-c", "small.yaml", "--ckpt_path", "alone.ckpt"]
    assert "it has no optimizer_states" in refused(tmp_path, "fit", *args)
    run_here(tmp_path, "predict", *args)


@pytest.mark.parametrize("args", [[], ["--weights_only", "false"]])
def test_a_checkpoint_that_lightning_finds_on_a_cluster_runs_no_code(
    args: list[str], trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SLURM, Lightning loads the newest `hpc_ckpt` of the root folder without being asked."""
    for variable, value in {"NTASKS": "1", "JOB_NAME": "job", "JOB_ID": "1", "PROCID": "0", "LOCALID": "0"}.items():
        monkeypatch.setenv(f"SLURM_{variable}", value)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    (tmp_path / "runs" / "hpc_ckpt_1.ckpt").write_bytes(saved(Bomb()))
    with pytest.raises((SystemExit, pickle.UnpicklingError)):
        run_here(tmp_path, "fit", "-c", "small.yaml", *args)
    assert not (tmp_path / "exploded").exists()
