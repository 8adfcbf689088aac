"""The `config.yaml` of a run: which model was trained on which data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

FILE_NAME = "config.yaml"
#: A config has a few hundred lines; larger files are refused.
MAX_BYTES = 1_000_000


class _LoaderWithoutAliases(yaml.SafeLoader):
    """Refuses aliases, by which a few lines can expand to more values than fit into memory.

    It is the loader in Python because the one in C crashes on deeply nested files.
    """

    def compose_node(self, *where: Any) -> Any:  # noqa: ANN401
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has aliases, which no run writes")
        return super().compose_node(*where)


@dataclass(frozen=True)
class ConfigSection:
    """The model or the data of a config: a class and its options.

    Args:
        class_name: Name of the class, without the package.
        options: Its arguments.
    """

    class_name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, section: object) -> "ConfigSection":
        """Parse a section of a config; what is not as expected is taken as missing."""
        known = section if isinstance(section, dict) else {}
        options = known.get("init_args")
        named = {str(key): value for key, value in options.items()} if isinstance(options, dict) else {}
        return cls(str(known.get("class_path") or "").rpartition(".")[2], named)


@dataclass(frozen=True)
class RunConfig:
    """The config of a run.

    Args:
        text: The file as it is.
        model: The model.
        data: The data that it learnt from.
        trainer: Options of the trainer.
    """

    text: str
    model: ConfigSection
    data: ConfigSection
    trainer: Mapping[str, Any] = field(default_factory=dict)

    @property
    def made_by(self) -> str:
        """Which gpvae made the run, as `gpvae.utils.provenance` writes it; empty if it is not recorded."""
        comments = takewhile(lambda line: line.startswith("#"), self.text.splitlines())
        words = (line.removeprefix("#").strip() for line in comments)
        return next((line for line in words if line.startswith("gpvae ")), "")

    @property
    def num_tasks(self) -> int | None:
        """How many tasks the run should learn; None if the config does not say."""
        options = self.data.options
        count = 1 if options.get("joint") is True else options.get("stop_after") or options.get("num_tasks")
        return count if isinstance(count, int) else None

    @property
    def num_inducing(self) -> int | None:
        """The number of inducing variables M; None if the config does not say."""
        count = self.model.options.get("num_inducing")
        return count if isinstance(count, int) else None


def read_config(path: Path) -> RunConfig:
    """Read a config.

    Args:
        path: The file.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is not the config of a run.
    """
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{path.name} has more than {MAX_BYTES:,} bytes: it is not a config")
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        config: Any = yaml.load(text, _LoaderWithoutAliases)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path.name} cannot be read as YAML: {reason}") from error
    if not isinstance(config, dict):
        raise ValueError(f"{path.name} is not the config of a run: expected sections such as model and data")
    trainer = config.get("trainer")
    return RunConfig(
        text,
        ConfigSection.parse(config.get("model")),
        ConfigSection.parse(config.get("data")),
        trainer if isinstance(trainer, dict) else {},
    )
