"""Changes states and saved models at random; as files they are sound."""

import io
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from tests.fuzz.mutations import change_config, config_changes

share = st.floats(0, 1, exclude_max=True)


def _entry(value: float) -> Callable[[Tensor, float], Tensor]:
    """Change one entry."""

    def change(tensor: Tensor, where: float) -> Tensor:
        tensor = tensor.clone()
        if tensor.numel():
            tensor.view(-1)[int(where * tensor.numel())] = value
        return tensor

    return change


#: Changes of a tensor, the second argument being a number between 0 and 1.
CHANGES: dict[str, Callable[[Tensor, float], Any]] = {
    **{f"an entry {value}": _entry(value) for value in (float("nan"), float("inf"), -1.0, 0.0, 1e30, -1e300, 1e-300)},
    "all NaN": lambda tensor, _: torch.full_like(tensor, torch.nan),
    "zero": lambda tensor, _: torch.zeros_like(tensor),
    "negative": lambda tensor, _: -tensor if tensor.dtype != torch.bool else ~tensor,
    "larger": lambda tensor, where: tensor * 10 ** (300 * where),
    "smaller": lambda tensor, where: tensor * 10 ** (-300 * where),
    "noise": lambda tensor, where: tensor + 10 * where * torch.linspace(-1, 1, tensor.numel()).reshape(tensor.shape),
    "transposed": lambda tensor, _: tensor.mT if tensor.ndim > 1 else tensor[None],
    "cut": lambda tensor, where: tensor[: int(where * len(tensor))] if tensor.ndim else tensor[None],
    "longer": lambda tensor, _: torch.cat([tensor, tensor]) if tensor.ndim else tensor.repeat(3),
    "empty": lambda tensor, _: tensor.new_empty(0),
    "flat": lambda tensor, _: tensor.reshape(-1),
    "deep": lambda tensor, _: tensor.expand(2, *tensor.shape),
    "a scalar": lambda tensor, _: tensor.new_zeros(()),
    "huge": lambda tensor, where: tensor.new_zeros(1).expand(int(10 ** (3 + 9 * where)), *tensor.shape[1:]),
    "single": lambda tensor, _: tensor.float(),
    "half": lambda tensor, _: tensor.half(),
    "integer": lambda tensor, _: tensor.nan_to_num().long(),
    "boolean": lambda tensor, _: tensor.bool(),
    "complex": lambda tensor, _: tensor + 1j,
    "sparse": lambda tensor, _: tensor.to_sparse(),
    "meta": lambda tensor, _: tensor.to("meta"),
    "text": lambda tensor, _: str(tensor),
    "nothing": lambda tensor, _: None,
    "a list": lambda tensor, _: tensor.tolist(),
    "a number": lambda tensor, where: where,
}


def _change(state: dict[str, Any], changes: list[tuple[float, str, float]]) -> dict[Any, Any]:
    """Change, remove, rename or exchange entries."""
    state = dict(state)
    for which, kind, where in changes:
        names = [name for name, value in state.items() if isinstance(value, Tensor)]
        if not names:
            break
        name, other = names[int(which * len(names))], names[int(where * len(names))]
        if kind == "remove":
            del state[name]
        elif kind == "rename":
            state[f"{name}x"] = state.pop(name)
        elif kind == "number":
            state[7] = state.pop(name)
        elif kind == "exchange":
            state[name], state[other] = state[other], state[name]
        else:
            with suppress(RuntimeError, NotImplementedError):  # some changes need another type or shape
                state[name] = CHANGES[kind](state[name], where)
    return state


def wrong_states(state: dict[str, Tensor]) -> st.SearchStrategy[dict[Any, Any]]:
    """Draw a state with one to three faults.

    Args:
        state: The original.
    """
    kinds = st.sampled_from([*CHANGES, *CHANGES, "remove", "rename", "number", "exchange", "exchange"])
    changes = st.lists(st.tuples(share, kinds, share), min_size=1, max_size=3)
    return changes.map(lambda chosen: _change(state, chosen))


def wrong_models(content: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw the content of a saved model whose description or state has faults.

    Args:
        content: The original.
    """
    described = config_changes.map(lambda chosen: {**content, "model": change_config(content["model"], chosen)})
    state = wrong_states(content["state"]).map(lambda changed: {**content, "state": changed})
    return st.one_of(described, described, state)


def to_bytes(content: Any) -> bytes:  # noqa: ANN401
    """A file with this content."""
    file = io.BytesIO()
    torch.save(content, file)
    return file.getvalue()
