"""Every option has a help text."""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonargparse import ArgumentParser

import datamodules
from callbacks import TaskCheckpoint, TaskFigures, TaskReport
from datamodules import TaskStream
from gpvae import modules
from gpvae.modules import ContinualModule
from tests.cli.program import run_here


def exported(package: object, base: type) -> Iterator[type]:
    for name in package.__all__:
        member = getattr(package, name)
        if inspect.isclass(member) and issubclass(member, base) and not inspect.isabstract(member):
            yield member


CLASSES = [*exported(modules, ContinualModule), *exported(datamodules, TaskStream)]


@pytest.mark.parametrize("part", [*CLASSES, TaskCheckpoint, TaskFigures, TaskReport], ids=lambda part: part.__name__)
def test_every_argument_is_explained(part: type) -> None:
    parser = ArgumentParser()
    parser.add_class_arguments(part, "part")
    arguments = {action.dest: action.help for action in parser._actions if action.dest.startswith("part.")}
    assert arguments
    unexplained = [name for name, text in arguments.items() if not text or text == "==SUPPRESS=="]
    assert not unexplained
    assert part.__doc__


def test_a_class_for_each_dataset_and_model() -> None:
    assert {"StreamingGP", "Toy", "TwoMoons", "Solar", "Covid"} <= {part.__name__ for part in CLASSES}


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["fit", "--help"], ["--name", "--checkpoint.every_n_steps", "--figures.dpi", "--report.print_table"]),
        (["fit", "--model.help", "StreamingGP"], ["--model.method", "OVC-per-dim", "train_first_task"]),
        (["fit", "--data.help", "Solar"], ["--data.num_tasks", "--data.stop_after", "Lean 2004"]),
    ],
    ids=["fit", "model", "data"],
)
def test_help(args: list[str], found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        run_here(tmp_path, *args)
    assert exit_.value.code == 0
    text = capsys.readouterr().out
    assert all(word in text for word in found), sys.argv
    assert not list(tmp_path.iterdir())
