"""How large a config may be: a few lines of YAML can stand for more values than any machine holds."""

from typing import Any

import yaml  # type: ignore[import-untyped]
from jsonargparse import get_loader, set_loader

MOST_VALUES = 100_000
_load: Any = get_loader("yaml")


def limit_configs() -> None:
    """Refuse configs that have too many values, or that contain themselves, when all aliases are written out."""
    set_loader("yaml", _load_limited, exceptions=(yaml.YAMLError,))


def _load_limited(text: str) -> Any:  # noqa: ANN401
    config = _load(text)
    waiting, count = [config], 0
    while waiting:
        value, count = waiting.pop(), count + 1
        if count > MOST_VALUES:
            raise yaml.YAMLError(f"it stands for more than {MOST_VALUES:,} values, with all aliases written out")
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return config
