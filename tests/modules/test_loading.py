"""Loading modules from checkpoints in Python, and supported devices and precisions."""

import os
import pickle
import re
import threading
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch

from gpvae.modules import SVGPVAE, ContinualModule, StreamingGP
from gpvae.modules.base import check_precision, check_same_configuration


class Bomb:
    """Makes a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("exploded",)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


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


@pytest.mark.parametrize(
    ("module_type", "options", "prefixes"),
    [
        (StreamingGP, {"num_inducing": 4, "method": "auto"}, ("gp.posteriors.", "gp.streams.")),
        (SVGPVAE, {"num_inducing": 4, "num_variables": 2, "latent_dim": 1}, ("vae.posterior.", "vae.stream.")),
    ],
)
def test_checkpoints_from_before_posteriors_were_renamed_load(
    tmp_path: Path, module_type: type[ContinualModule], options: dict[str, Any], prefixes: tuple[str, str]
) -> None:
    """`OnlineGP.posteriors` and `GPVAE.posterior` were called streams."""
    saved = module_type(**options)
    saved.begun = 3
    state = {name.replace(*prefixes): value for name, value in saved.state_dict().items()}
    assert any(name.startswith(prefixes[1]) for name in state)
    loaded = module_type(**options)
    loaded.load_state_dict(dict(state))
    checkpoint = {"state_dict": state, "hyper_parameters": dict(saved.hparams), "hparams_name": "kwargs"}
    torch.save({**checkpoint, "pytorch-lightning_version": lightning.__version__}, tmp_path / "old.ckpt")
    for module in (loaded, module_type.load_from_checkpoint(tmp_path / "old.ckpt")):
        assert module.begun == 3
        assert module.state_dict().keys() == saved.state_dict().keys()
        for name, value in module.state_dict().items():
            torch.testing.assert_close(value, saved.state_dict()[name], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("precision", ["16-mixed", "16-true", "bf16-true"])
def test_precisions_that_skip_steps_are_refused(precision: str) -> None:
    check_precision("32-true")
    with pytest.raises(ValueError, match=f"trainer.precision is {precision}: .* 16-mixed skips steps"):
        check_precision(precision)


@pytest.mark.parametrize(
    ("saved", "present"),
    [
        ([61.0, -9.0, 49.5, 2.5], (61.0, -9.0, 49.5, 2.5)),
        ((24.0,), [24.0]),
        ([[52.0, 0.0], [51.0, 1.0]], ((52.0, 0.0), (51.0, 1.0))),
        ({"window": [1, 2]}, {"window": (1, 2)}),
    ],
)
def test_lists_and_tuples_are_the_same_configuration(saved: object, present: object) -> None:
    check_same_configuration({"option": saved}, {"option": present})


@pytest.mark.parametrize(("saved", "present"), [([1, 2], (1, 3)), ([1], 1), ([[1, 2]], ((1,), 2)), ("ab", ["a", "b"])])
def test_other_lists_are_another_configuration(saved: object, present: object) -> None:
    message = f"option is {saved!r} in the checkpoint and {present!r} here"
    with pytest.raises(ValueError, match=re.escape(message)):
        check_same_configuration({"option": saved}, {"option": present})
