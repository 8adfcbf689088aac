"""Modules from checkpoints, without the command; and where they can go."""

import os
import pickle
import threading
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import torch

from gpvae.modules import StreamingGP
from gpvae.modules.base import check_double_precision, check_precision


class Bomb:
    """Makes a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("exploded",)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_checkpoint_from_an_address_cannot_run_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))  # where torch keeps what it downloads
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    torch.save({"state_dict": {}, "hyper_parameters": Bomb()}, tmp_path / "bomb.ckpt")
    server = HTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for path in (f"http://127.0.0.1:{server.server_port}/bomb.ckpt", tmp_path / "bomb.ckpt"):
        with pytest.raises(pickle.UnpicklingError, match="mkdir"):
            StreamingGP.load_from_checkpoint(path)
    server.shutdown()
    server.server_close()
    assert not (tmp_path / "exploded").exists()


def test_a_device_without_double_precision_is_refused_in_words() -> None:
    check_double_precision(torch.device("cpu"))
    with pytest.raises(ValueError, match=r"double precision, which mps cannot hold: use another device, such as"):
        check_double_precision(torch.device("mps"))  # holds none, and is not here either


@pytest.mark.parametrize("precision", ["16-mixed", "16-true", "bf16-true"])
def test_precisions_that_skip_steps_are_refused(precision: str) -> None:
    check_precision("32-true")
    with pytest.raises(ValueError, match=f"trainer.precision is {precision}: .* leaves out steps"):
        check_precision(precision)
