"""Options of `SVGPVAE` that checkpoints saved before they existed do not have, and what was built then."""

from collections.abc import Mapping
from typing import Any

FORMER: dict[str, Any] = {
    "networks": "mlp",
    "schedule": "constant",
    "left_out": 0.0,
    "horizon": 0.0,
    "latents": "series",
    "num_series": None,
    "replay_times": 256,
}


#: Options that came later, and that nothing is built from.
LATER: dict[str, Any] = {"step_precision": "float64"}


def former_options(saved: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are missing among those of a checkpoint, as they were when it was saved.

    Args:
        saved: Options in the checkpoint.
    """
    if not saved:
        return {}
    missing = {name: value for name, value in LATER.items() if name not in saved}
    if "networks" in saved:
        return missing
    return missing | FORMER | {"noise": "shared" if saved.get("shared_noise") else "variable"}
