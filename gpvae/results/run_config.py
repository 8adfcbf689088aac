"""What was run, as the `config.yaml` of a run tells."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

FILE_NAME = "config.yaml"
#: A config has some hundred lines; this many bytes are no config.
MOST_BYTES = 1_000_000


class _WithoutAliases(yaml.SafeLoader):
    """YAML without aliases, by which a few lines can stand for more values than any machine holds.

    It is that of PyYAML in Python: the one in C does not survive what is nested too deeply.
    """

    def compose_node(self, *where: Any) -> Any:  # noqa: ANN401
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has aliases, which no run writes")
        return super().compose_node(*where)


@dataclass(frozen=True)
class Part:
    """The model or the data of a config: a class and its options.

    Args:
        kind: Name of the class, without the package.
        options: Its arguments.
    """

    kind: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, section: object) -> "Part":
        """The section of a config, whatever is in it."""
        known = section if isinstance(section, dict) else {}
        options = known.get("init_args")
        named = {str(key): value for key, value in options.items()} if isinstance(options, dict) else {}
        return cls(str(known.get("class_path") or "").rpartition(".")[2], named)


@dataclass(frozen=True)
class RunConfig:
    """The config of a run.

    Args:
        text: The file as it is.
        model: What learnt.
        data: From what.
    """

    text: str
    model: Part
    data: Part

    @property
    def made_by(self) -> str:
        """Which gpvae made the run, in the words of `gpvae.utils.provenance`; empty for runs that do not say."""
        comments = takewhile(lambda line: line.startswith("#"), self.text.splitlines())
        words = (line.removeprefix("#").strip() for line in comments)
        return next((line for line in words if line.startswith("gpvae ")), "")

    @property
    def num_tasks(self) -> int | None:
        """How many tasks the run is to learn, where the config says so."""
        options = self.data.options
        count = 1 if options.get("joint") is True else options.get("stop_after") or options.get("num_tasks")
        return count if isinstance(count, int) else None

    @property
    def num_inducing(self) -> int | None:
        """The number of inducing variables M, where the config says so."""
        count = self.model.options.get("num_inducing")
        return count if isinstance(count, int) else None


def read_config(path: Path) -> RunConfig:
    """Read a config.

    Args:
        path: The file.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It is not the config of a run.
    """
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path.name} has more than {MOST_BYTES:,} bytes, which no config has")
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        config: Any = yaml.load(text, _WithoutAliases)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path.name} cannot be read as YAML: {reason}") from error
    if not isinstance(config, dict):
        raise ValueError(f"{path.name} is not the config of a run: expected sections such as model and data")
    return RunConfig(text, Part.of(config.get("model")), Part.of(config.get("data")))
