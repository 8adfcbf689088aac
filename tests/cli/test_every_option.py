"""No option of any class that a config may name takes a function, or a class that is not meant for configs."""

import functools
import inspect
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
from jsonargparse import ArgumentParser, Namespace, _common, set_parsing_settings
from jsonargparse._parameter_resolvers import get_signature_parameters
from lightning import Trainer
from lightning.pytorch.callbacks import LambdaCallback, ModelCheckpoint

from callbacks import TaskFigures
from datamodules import ERA5, Toy
from gpvae.cli.allowed_classes import ALLOWED_PACKAGES, is_meant_for_configs, restrict_classes
from gpvae.modules import SVGPVAE

#: A module of an allowed package with everything that could be called. `calls` has what was called.
CANARY = "datamodules.canary"
CALLABLES = ("function", "Callable", "Callable.method", "Callable.alternative", "instance", "partial", "Unmeant")
#: Real functions and classes of the allowed packages, of which the first two were attacks.
REAL = (
    "lightning.fabric.utilities.cloud_io._load",
    "gpvae.cli.run_folder.clear",
    "gpvae.utils.atomic.write_atomically",
    "gpvae.modules.StreamingGP.load_from_checkpoint",
    "lightning.pytorch.callbacks.LambdaCallback",
    "lightning.pytorch.Trainer",
    "lightning.pytorch.trainer.trainer.os.system",
    "torch.optim.swa_utils.AveragedModel",
    "torch.optim.swa_utils.get_swa_avg_fn",
)
PATHS = (*(f"{CANARY}.{name}" for name in CALLABLES), *REAL)
SPECS = [spec for path in PATHS for spec in (path, {"class_path": path}, {"class_path": path, "init_args": {"x": 1}})]
VALUES: list[Any] = [*SPECS, *([spec] for spec in SPECS)]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The canary, as a module that is imported already."""
    calls: list[str] = []

    def function(*_: Any, **__: Any) -> None:
        calls.append("function")

    class Callable:
        def __init__(self, *_: Any, **__: Any) -> None:
            calls.append("class")

        def __call__(self, *_: Any, **__: Any) -> None: ...

        def method(self) -> None: ...

        @classmethod
        def alternative(cls, **_: Any) -> None:
            calls.append("alternative")

    module = ModuleType(CANARY)
    members = {"function": function, "Callable": Callable, "Unmeant": type("Unmeant", (), {"__init__": function})}
    for name, member in members.items():
        member.__module__, member.__qualname__ = CANARY, name
    vars(module).update(members, partial=functools.partial(function), instance=Callable())
    calls.clear()
    monkeypatch.setitem(sys.modules, CANARY, module)
    monkeypatch.setattr(sys.modules["datamodules"], "canary", module, raising=False)
    return calls


def allowed_classes() -> list[type]:
    """Return every class of the allowed packages that a config may name, and the trainer."""
    names = [
        name for name in sys.modules if name.split(".")[0] in {package.split(".")[0] for package in ALLOWED_PACKAGES}
    ]
    found = {cls for name in names for cls in vars(sys.modules[name]).values() if isinstance(cls, type)}
    meant = {cls for cls in found if is_meant_for_configs(cls)}
    return [Trainer, *sorted(meant, key=lambda cls: f"{cls.__module__}.{cls.__qualname__}")]


@dataclass
class Option:
    """An option of a class.

    Args:
        cls: The class.
        name: Its argument.
        annotation: The type of the argument.
    """

    cls: type
    name: str
    annotation: Any

    @property
    def accepts_callables(self) -> bool:
        return "Callable" in str(self.annotation)

    @property
    def accepts_imports_or_paths(self) -> bool:
        """Whether a value may be a class, an object of a class, anything, or a path."""
        words = ("Any", "object", "type[", "Type[", "Path", "_empty")
        text = str(self.annotation)
        return self.accepts_callables or "." in text.replace("typing.", "") or any(word in text for word in words)


def imports_let_through(annotation: Any) -> list[Any]:  # noqa: ANN401
    """Return the values of which the parser imports what they name, for an option of a type."""
    parser = ArgumentParser(exit_on_error=False, default_env=False)
    try:
        parser.add_argument("--option", type=Any if annotation is inspect._empty else annotation)
    except ValueError:  # a type that the parser does not know, for which it has no option
        return []
    return [value for value in VALUES if _is_let_through(parser, value)]


def _is_let_through(parser: ArgumentParser, value: Any) -> bool:  # noqa: ANN401
    try:
        config = parser.parse_object({"option": value})
    except Exception:
        return False
    built = None
    with suppress(Exception):
        built = parser.instantiate_classes(config)["option"]
    return _has_import(config["option"], value) or _has_import(built, value)


def _has_import(result: Any, value: Any) -> bool:  # noqa: ANN401
    if result == value:  # a plain value, left as it was
        return False
    if isinstance(result, Namespace):
        return result.get("class_path") in PATHS or any(_has_import(item, value) for item in vars(result).values())
    if isinstance(result, list | tuple | set):
        return any(_has_import(item, value) for item in result)
    return callable(result)


def options() -> Iterator[Option]:
    for cls in allowed_classes():
        for parameter in get_signature_parameters(cls, None):
            yield Option(cls, parameter.name, parameter.annotation)


def count_let_through(tried: list[Option]) -> dict[str, list[Any]]:
    """Return options that let an import through, with the values; options of the same type are tried once."""
    by_type: dict[str, list[Any]] = {}
    for option in tried:
        if str(option.annotation) not in by_type:
            by_type[str(option.annotation)] = imports_let_through(option.annotation)
    every = {f"{option.cls.__qualname__}.{option.name}": by_type[str(option.annotation)] for option in tried}
    return {name: values for name, values in every.items() if values}


def test_no_option_lets_a_function_through(calls: list[str], capsys: pytest.CaptureFixture) -> None:
    classes, every = allowed_classes(), list(options())
    tried = [option for option in every if option.accepts_imports_or_paths]
    with restrict_classes([]):
        through = count_let_through(tried)
    with capsys.disabled():
        print(
            f"\n{len(classes)} classes with {len(every)} options: {len(tried)} accept callables, classes, anything or "
            f"paths, {sum(option.accepts_callables for option in tried)} of them callables; {len(VALUES)} imports "
            f"tried with each; {len(through)} options let one through"
        )
    assert {SVGPVAE, Toy, ERA5, TaskFigures, ModelCheckpoint} <= set(classes)
    assert LambdaCallback not in classes
    assert sum(option.accepts_callables for option in every) >= 10
    assert not through
    assert not calls


def test_the_enumeration_finds_functions_where_only_packages_are_restricted(
    calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_common, "parsing_settings", dict(_common.parsing_settings))
    set_parsing_settings(
        import_path_denylist=["*"], import_path_allowlist=[*ALLOWED_PACKAGES], instantiate_subclass_spec_in_any=False
    )
    through = count_let_through([option for option in options() if option.accepts_imports_or_paths])
    assert len(through) >= 10
    assert "BackboneFinetuning.lambda_func" in through
    assert calls
