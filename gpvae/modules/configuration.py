"""What may differ between a checkpoint and the run that resumes from it."""

from collections.abc import Collection, Mapping
from typing import Any

#: Differing options by name: the value in the checkpoint, and the value now.
Differences = dict[str, tuple[Any, Any]]


def differing_options(saved: Mapping[str, Any], present: Mapping[str, Any]) -> Differences:
    """The options that differ; a tuple equals a list.

    Args:
        saved: Arguments in the checkpoint.
        present: Arguments now.
    """
    keys = present.keys() - {"_instantiator"}
    if "_class_path" not in saved:
        keys -= {"_class_path"}  # known only if the command line built the object
    return {
        key.lstrip("_"): (saved.get(key), present.get(key))
        for key in sorted(keys)
        if _tuples_as_lists(saved.get(key)) != _tuples_as_lists(present.get(key))
    }


def check_same_configuration(
    saved: Mapping[str, Any],
    present: Mapping[str, Any],
    changeable: Collection[str] = (),
    accept: bool = False,
) -> Differences:
    """Raise, with the differences, unless a checkpoint was saved with the same arguments.

    Args:
        saved: Arguments in the checkpoint.
        present: Arguments now.
        changeable: Arguments that may change between two tasks if the user accepts it.
        accept: Whether the user does.

    Returns:
        The differences that are accepted.
    """
    differences = differing_options(saved, present)
    fixed = [key for key in differences if key not in changeable]
    if fixed or (differences and not accept):
        listed = "; ".join(
            f"{key} is {old!r} in the checkpoint and {new!r} here" for key, (old, new) in differences.items()
        )
        raise ValueError(f"the checkpoint has another configuration: {listed}. {_advice(fixed, list(differences))}")
    return differences


def _advice(fixed: list[str], differing: list[str]) -> str:
    advice = "Use the configuration that it was saved with, or start without the checkpoint"
    accepted = [key for key in differing if key not in fixed]
    if not fixed:
        return f"{advice}; to go on with the new values from here on, add --accept changed"
    if accepted:
        return f"{advice}; --accept changed allows {', '.join(accepted)} to change, but not {', '.join(fixed)}"
    return advice


def _tuples_as_lists(value: Any) -> Any:  # noqa: ANN401
    """A value with all tuples within it replaced by lists."""
    if isinstance(value, Mapping):
        return {key: _tuples_as_lists(part) for key, part in value.items()}
    return [_tuples_as_lists(part) for part in value] if isinstance(value, list | tuple) else value
