"""Changes configs at random."""

import copy
from collections.abc import Iterator
from typing import Any

import yaml
from hypothesis import strategies as st

from tests.fuzz.damage import damaged

Path = tuple[str | int, ...]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2**31, 2**63, 2**64, -(2**63), 10**30, 10**400]),
    st.integers(-5, 200),
    st.floats(),
    st.sampled_from([1e-320, 1e308, -1e308, 0.0, -0.0, float("nan"), float("inf"), float("-inf")]),
    st.text(max_size=8),
    st.sampled_from(
        ["", "null", "1e400", "nan", "Toy", "StreamingGP", "gpvae.modules.StreamingGP", "auto", "cpu", "../x"]
    ),
    st.binary(max_size=8),
    st.dates(),
)
classes = st.fixed_dictionaries(
    {
        "class_path": st.sampled_from(
            ["Toy", "StreamingGP", "os.system", "lightning.Trainer", "gpvae", "torch.optim.Adam"]
        )
    },
    optional={"init_args": st.dictionaries(st.text(max_size=4), scalars, max_size=2), "dict_kwargs": scalars},
)
values = st.one_of(
    scalars,
    scalars,
    st.lists(scalars, max_size=3),
    st.dictionaries(st.one_of(st.text(max_size=6), st.integers(), st.none()), scalars, max_size=3),
    classes,
)
kinds = st.sampled_from(["replace", "replace", "replace", "remove", "rename", "add", "nest"])
config_changes = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), kinds, values), min_size=1, max_size=3)


def paths(config: Any, at: Path = ()) -> Iterator[Path]:  # noqa: ANN401
    """Yield the path of every value in a config."""
    for key, value in config.items() if isinstance(config, dict) else ():
        yield (*at, key)
        yield from paths(value, (*at, key))


def change_config(config: dict[str, Any], changes: list[tuple[float, str, Any]]) -> dict[str, Any]:
    """A copy of a config with some of its values replaced, removed, renamed, added or nested."""
    config = copy.deepcopy(config)
    for where, kind, value in changes:
        found = list(paths(config))
        if not found:
            break
        *above, key = found[int(where * len(found))]
        parent = config
        for step in above:
            parent = parent[step]
        if kind == "replace":
            parent[key] = value
        elif kind == "remove":
            del parent[key]
        elif kind == "rename":
            parent[str(value)] = parent.pop(key)
        elif kind == "add":
            parent[str(value)] = value
        else:
            parent[key] = {key: parent[key]}
    return config


def _text(config: dict[str, Any]) -> bytes:
    return yaml.safe_dump(config, allow_unicode=True).encode("utf-8", "surrogatepass")


def wrong_configs(config: dict[str, Any]) -> st.SearchStrategy[bytes]:
    """Draw a config whose keys, values or nesting are changed, or whose text is damaged.

    Args:
        config: The original config.
    """
    numbers = st.one_of(st.floats(), st.integers(), scalars)
    one = st.tuples(st.floats(0, 1, exclude_max=True), st.just("replace"), numbers).map(lambda change: [change])
    text = _text(config)
    return st.one_of(
        st.builds(lambda changes: _text(change_config(config, changes)), one),
        st.builds(lambda changes: _text(change_config(config, changes)), one),
        st.builds(lambda changes: _text(change_config(config, changes)), config_changes),
        st.builds(lambda changes: _text(change_config(config, changes)), config_changes),
        damaged(text),
        st.builds(_text, st.dictionaries(st.sampled_from(list(config)), values)),
        st.builds(yaml.safe_dump, values).map(lambda text: text.encode("utf-8", "surrogatepass")),
    )
