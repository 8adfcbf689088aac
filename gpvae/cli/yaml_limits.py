"""How large a config may be: a few lines of YAML can stand for more values than any machine holds."""

from typing import Any

import yaml  # type: ignore[import-untyped]
from jsonargparse import get_loader, set_loader

MOST_VALUES = 100_000
#: How deep lists and mappings may lie within each other; a parser may end the process where they go on and on.
DEEPEST = 100
_load: Any = get_loader("yaml")


def limit_configs() -> None:
    """Refuse configs of too many values, or that contain themselves, when all aliases are written out; or too deep."""
    set_loader("yaml", _load_limited, exceptions=(yaml.YAMLError,))


def _load_limited(text: str) -> Any:  # noqa: ANN401
    _check_depth(text)
    config = _load(text)
    waiting, count = [config], 0
    while waiting:
        value, count = waiting.pop(), count + 1
        if count > MOST_VALUES:
            raise yaml.YAMLError(f"it stands for more than {MOST_VALUES:,} values, with all aliases written out")
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return config


def _check_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):  # knows no recursion
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise yaml.YAMLError(f"lists and mappings lie within each other more than {DEEPEST} deep")
