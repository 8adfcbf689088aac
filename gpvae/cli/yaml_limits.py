"""Limits on the size of configs: a few lines of YAML can expand to more values than fit into memory."""

from typing import Any

import yaml  # type: ignore[import-untyped]
from jsonargparse import get_loader, set_loader

MAX_VALUES = 100_000
#: Maximum nesting of lists and mappings; deeper ones may exhaust the stack of a parser and end the process.
MAX_DEPTH = 100
_load: Any = get_loader("yaml")


def limit_configs() -> None:
    """Refuse configs that are nested too deeply, or have too many values or no end once aliases are expanded."""
    set_loader("yaml", _load_limited, exceptions=(yaml.YAMLError,))


def _load_limited(text: str) -> Any:  # noqa: ANN401
    _check_depth(text)
    config = _load(text)
    pending, count = [config], 0
    while pending:
        value, count = pending.pop(), count + 1
        if count > MAX_VALUES:
            raise yaml.YAMLError(f"it has more than {MAX_VALUES:,} values once all aliases are expanded")
        pending += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return config


def _check_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):  # does not recurse
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise yaml.YAMLError(f"its lists and mappings are nested more than {MAX_DEPTH} deep")
