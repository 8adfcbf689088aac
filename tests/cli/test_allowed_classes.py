"""A config may name classes of allowed packages; any other is refused before it is imported."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonargparse import _common

from tests.cli.program import CONFIG, refused, run_here, write_config

#: Creates a file when it is imported, and another when anything in it is called.
CANARY = """
from pathlib import Path

from datamodules import Toy
from lightning.pytorch.callbacks import Callback

Path("imported").touch()


def run(*args, **kwargs):
    Path("called").touch()


class Data(Toy):
    def __init__(self, *args, **kwargs):
        run()
        super().__init__("figure_1")


class Anything(Callback):
    def __init__(self, **kwargs):
        run()
"""
ANY: dict[str, Any] = {"class_path": "canary_of_gpvae.Anything"}
LAMBDA = "lightning.pytorch.callbacks.LambdaCallback"


def with_trainer(**options: Any) -> dict[str, Any]:
    return {"trainer": {"accelerator": "cpu", **options}}


def with_model(**options: Any) -> dict[str, Any]:
    return {"model": {**CONFIG["model"], "init_args": {**CONFIG["model"]["init_args"], **options}}}


#: Sections of a config that try to run code.
IN_CONFIGS: dict[str, dict[str, Any]] = {
    "model": {"model": ANY},
    "data": {"data": {"class_path": "canary_of_gpvae.Data"}},
    "data by a string": {"data": "canary_of_gpvae.Data"},
    "callback": with_trainer(callbacks=ANY),
    "callbacks": with_trainer(callbacks=["ModelCheckpoint", ANY]),
    "logger": with_trainer(logger=[ANY]),
    "plugin": with_trainer(plugins=[ANY]),
    "strategy": with_trainer(strategy=ANY),
    "accelerator": with_trainer(accelerator=ANY),
    "profiler": with_trainer(profiler=ANY),
    "callable": with_trainer(
        callbacks={"class_path": LAMBDA, "init_args": {"on_fit_start": "canary_of_gpvae.run", "setup": None}}
    ),
    "partly built callable": with_trainer(
        callbacks={"class_path": LAMBDA, "init_args": {"on_fit_start": {"class_path": "canary_of_gpvae.Anything"}}}
    ),
    "optimiser": {"optimizer": ANY},
    "schedule": {"lr_scheduler": ANY},
    "scalar of the model": with_model(num_inducing=ANY),
    "option of a family": with_model(inducing_options={"origin": ANY}),
    "list of allowed packages": {"data": {"class_path": "canary_of_gpvae.Data"}, "allow": ["canary_of_gpvae"]},
    "what an allowed module imports": with_trainer(
        callbacks={"class_path": LAMBDA, "init_args": {"on_fit_start": "lightning.pytorch.trainer.trainer.os.abort"}}
    ),
    "the rules themselves": with_trainer(
        callbacks={
            "class_path": LAMBDA,
            "init_args": {"on_fit_start": "gpvae.cli.allowed_classes.set_parsing_settings"},
        }
    ),
    "what builds any class": {
        "data": {
            "class_path": "lightning.pytorch.cli.instantiate_class",
            "init_args": {"args": [], "init": {"class_path": "canary_of_gpvae.Data", "init_args": {}}},
        }
    },
    "what builds any class, called": with_trainer(
        callbacks={"class_path": LAMBDA, "init_args": {"on_fit_start": "lightning.pytorch.cli.instantiate_class"}}
    ),
    "the command itself": with_trainer(
        callbacks={"class_path": "gpvae.cli.main", "init_args": {"argv": ["fit", "--allow", "canary_of_gpvae"]}}
    ),
    "what no package has": {"data": {"class_path": "os.abort"}},
    "a function that loads a pickle": with_trainer(
        callbacks=[
            {
                "class_path": LAMBDA,
                "init_args": {
                    "on_fit_start": {
                        "class_path": "lightning.fabric.utilities.cloud_io._load",
                        "init_args": {"path_or_url": "pickle.ckpt", "weights_only": False},
                    }
                },
            }
        ]
    ),
    "the same in a callback that needs no function": with_trainer(
        callbacks=[
            {
                "class_path": "BackboneFinetuning",
                "init_args": {
                    "lambda_func": {
                        "class_path": "lightning.fabric.utilities.cloud_io._load",
                        "init_args": {"path_or_url": "pickle.ckpt", "weights_only": False},
                    }
                },
            }
        ]
    ),
    "a function of ours that moves a folder away": with_trainer(
        strategy={
            "class_path": "DDPStrategy",
            "init_args": {
                "ddp_comm_hook": {"class_path": "gpvae.cli.run_folder.clear", "init_args": {"folder": "modules"}}
            },
        }
    ),
    "a function of ours that opens a file": with_trainer(
        callbacks={
            "class_path": "BackboneFinetuning",
            "init_args": {"lambda_func": "callbacks.checkpoint.read_checkpoint"},
        }
    ),
    "a method": {"model": {"class_path": "gpvae.modules.StreamingGP.load_from_checkpoint"}},
    "a class that is not meant for configs": with_trainer(callbacks={"class_path": "lightning.pytorch.Trainer"}),
    "a module that is not imported yet": {"data": {"class_path": "lightning.pytorch.demos.mnist_datamodule.Any"}},
}

IN_YAML = {
    "object": "data: !!python/object/apply:canary_of_gpvae.run []",
    "new object": "data: !!python/object/new:canary_of_gpvae.Data []",
    "object of a class": "data: !!python/object:canary_of_gpvae.Data {}",
    "name": "data: !!python/name:canary_of_gpvae.run",
    "module": "data: !!python/module:canary_of_gpvae",
    "tag of a user": "data: !canary_of_gpvae.run {}",
}

ON_THE_COMMAND_LINE = {
    "data": ["--data", "canary_of_gpvae.Data"],
    "data as a mapping": ["--data", "{class_path: canary_of_gpvae.Data}"],
    "class path": ["--data.class_path", "canary_of_gpvae.Data"],
    "callback": ["--trainer.callbacks+", "canary_of_gpvae.Anything"],
    "help": ["--model.help", "canary_of_gpvae.Anything"],
    "help of data": ["--data.help", "canary_of_gpvae.Data"],
    "another package": ["--data", "canary_of_gpvae.Data", "--allow", "canary_of"],
    "no package": ["--data", "canary_of_gpvae.Data", "--allow"],
    "the parser": ["--allow", "jsonargparse.typing"],
    "everything": ["--data", "canary_of_gpvae.Data", "--allow=*"],
    "nested file": ["--data", "nested.yaml"],
    "config on a command line": ["--config", "{data: canary_of_gpvae.Data}"],
    "network": ["--config", "memory://nested.yaml"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a config, and a module that must not be imported."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "canary_of_gpvae.py").write_text(CANARY)
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    monkeypatch.delitem(sys.modules, "canary_of_gpvae", raising=False)
    (tmp_path / "pickle.ckpt").write_bytes(b"ccanary_of_gpvae\nrun\n(tR.")  # calls `run` when it is loaded
    (tmp_path / "nested.yaml").write_text("class_path: canary_of_gpvae.Data\n")
    write_config(tmp_path)
    return tmp_path


def assert_refused(folder: Path, *args: str) -> str:
    message = refused(folder, *args)
    assert "canary_of_gpvae" not in sys.modules
    assert not {path.name for path in folder.iterdir()} & {"imported", "called", "runs"}
    assert message.startswith("error: ")
    assert "Traceback" not in message
    return message


@pytest.mark.parametrize("sections", IN_CONFIGS.values(), ids=IN_CONFIGS.keys())
def test_in_a_config(sections: dict[str, Any], folder: Path) -> None:
    (folder / "bad.yaml").write_text(yaml.safe_dump({**CONFIG, **sections}))
    assert_refused(folder, "fit", "-c", "bad.yaml")


@pytest.mark.parametrize("line", IN_YAML.values(), ids=IN_YAML.keys())
def test_yaml_that_asks_for_python(line: str, folder: Path) -> None:
    (folder / "bad.yaml").write_text(f"{yaml.safe_dump({'model': CONFIG['model']})}\n{line}\n")
    assert_refused(folder, "fit", "-c", "bad.yaml")


@pytest.mark.parametrize("args", ON_THE_COMMAND_LINE.values(), ids=ON_THE_COMMAND_LINE.keys())
def test_on_the_command_line(args: list[str], folder: Path) -> None:
    assert_refused(folder, "fit", "-c", "small.yaml", *args)


def test_a_config_that_names_another(folder: Path) -> None:
    (folder / "outer.yaml").write_text("config: bad.yaml\n")
    (folder / "bad.yaml").write_text(yaml.safe_dump({**CONFIG, "data": "canary_of_gpvae.Data"}))
    assert_refused(folder, "fit", "-c", "outer.yaml")


def test_in_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JSONARGPARSE_DEFAULT_ENV", "true")
    monkeypatch.setenv("PL_FIT__DATA", "canary_of_gpvae.Data")
    assert_refused(folder, "fit", "--model", "StreamingGP")


def test_the_environment_sets_no_option(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIT", "GPVAE_FIT", "PL_FIT"):
        monkeypatch.setenv(f"{name}__NAME", "of_the_environment")
        monkeypatch.setenv(f"{name}__MODEL__INIT_ARGS__NUM_INDUCING", "7")
        monkeypatch.setenv(f"{name}__TRAINER__DEFAULT_ROOT_DIR", "elsewhere")
    for variable in ("JSONARGPARSE_DEFAULT_ENV", "JSONARGPARSE_PARSE_OPTIONALS_AS_POSITIONALS"):
        monkeypatch.setenv(variable, "true")
    run_here(folder, "fit", "-c", "small.yaml")
    config = yaml.safe_load((folder / "runs" / "small" / "seed_3" / "config.yaml").read_text())
    assert config["model"]["init_args"]["num_inducing"] == 10
    assert not (folder / "elsewhere").exists()


def test_the_refusal_is_one_sentence_that_says_how_to_allow_it(folder: Path) -> None:
    message = assert_refused(folder, "fit", "-c", "small.yaml", "--data", "canary_of_gpvae.Data")
    assert message.splitlines()[0] == (
        "error: canary_of_gpvae.Data is refused: a config may name classes of gpvae, datamodules, callbacks, "
        "lightning, torch.optim. If you trust it, add --allow canary_of_gpvae to the command."
    )


@pytest.mark.parametrize("args", [["--allow", "canary_of_gpvae"], ["--allow=other", "--allow=canary_of_gpvae"]])
def test_allowed_for_one_command_only(args: list[str], folder: Path) -> None:
    fit = ["fit", "-c", "small.yaml", "--data", "canary_of_gpvae.Data", "--name", "own"]
    run_here(folder, *fit, *args)
    assert (folder / "called").exists()
    assert "allow" not in yaml.safe_load((folder / "runs" / "own" / "seed_3" / "config.yaml").read_text())
    (folder / "called").unlink()
    assert "--allow canary_of_gpvae" in refused(folder, *fit)
    assert not (folder / "called").exists()


def test_a_module_in_the_working_folder_can_be_allowed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed command does not look there by itself, as `python -m` does."""
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(folder / "modules"))])
    (folder / "modules" / "canary_of_gpvae.py").rename(folder / "canary_of_gpvae.py")
    fit, before = ["fit", "-c", "small.yaml", "--data", "canary_of_gpvae.Data"], list(sys.path)
    assert_refused(folder, *fit)
    run_here(folder, *fit, "--allow", "canary_of_gpvae")
    assert (folder / "called").exists()
    assert sys.path == before


def test_allowing_what_is_allowed_changes_nothing(folder: Path) -> None:
    run_here(folder, "--allow", "lightning.pytorch", "fit", "-c", "small.yaml", "--name", "once")
    run_here(folder, "fit", "-c", "small.yaml", "--name", "twice", "--trainer.callbacks", "ModelCheckpoint")


def test_short_names_and_classes_of_the_list(folder: Path) -> None:
    args = ["--trainer.logger", "CSVLogger", "--trainer.logger.save_dir", "runs"]
    run_here(folder, "fit", "-c", "small.yaml", "--data", "datamodules.toy.Toy", *args)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (LAMBDA, f"that need no function. If you trust it, add --allow {LAMBDA} to the command."),
        ("lightning.pytorch.Trainer", "If you trust it, add --allow lightning.pytorch.Trainer to the command."),
        ("callbacks.checkpoint.read_checkpoint", "it is not a class, and a config may name classes only."),
        ("lightning.pytorch.callbacks.NoSuchCallback", "there is no such class."),
        ("gpvae.cli.main", "it would build any class that its arguments name."),
    ],
)
def test_refusals_say_why(path: str, reason: str, folder: Path) -> None:
    message = assert_refused(folder, "fit", "-c", "small.yaml", "--trainer.callbacks", path).splitlines()[0]
    assert message.startswith(f"error: {path} is refused: ")
    assert message.endswith(reason)


def test_a_class_allowed_by_its_full_name(folder: Path) -> None:
    fit = ["fit", "-c", "small.yaml", "--trainer.callbacks"]
    run_here(folder, *fit, LAMBDA, "--allow", LAMBDA)
    run_here(folder, *fit, "canary_of_gpvae.Anything", "--allow", "canary_of_gpvae.Anything")
    assert (folder / "called").exists()
    refused(folder, *fit, "canary_of_gpvae.Data", "--allow", "canary_of_gpvae.Anything")


def test_functions_of_allowed_packages_are_refused(folder: Path) -> None:
    options = ["--trainer.callbacks", "BackboneFinetuning", "--trainer.callbacks.lambda_func", "canary_of_gpvae.run"]
    message = refused(folder, "fit", "-c", "small.yaml", *options, "--allow", "canary_of_gpvae")
    assert "canary_of_gpvae.run is refused: it is not a class" in message
    assert not (folder / "called").exists()


def test_other_parsers_keep_their_settings(folder: Path) -> None:
    before = dict(_common.parsing_settings)
    refused(folder, "fit", "-c", "small.yaml", "--data", "canary_of_gpvae.Data")
    assert _common.parsing_settings == before
