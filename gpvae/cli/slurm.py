"""What a cluster is asked for, and what it is not."""

from collections.abc import Sequence
from typing import Any

from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment


def with_plugins(given: Sequence[Any] | Any | None) -> list[Any]:  # noqa: ANN401
    """Plugins of a trainer and, on SLURM, one that leaves signals alone.

    Lightning would answer a signal of SLURM by a checkpoint in the midst of a step, from which no run ends as it would
    have, in a place that all runs share; `--ckpt_path last` goes on from one of ours.

    Args:
        given: Plugins that the user has asked for.
    """
    plugins = list(given) if isinstance(given, list | tuple) else [given] if given else []
    if SLURMEnvironment.detect() and not any(isinstance(plugin, ClusterEnvironment) for plugin in plugins):
        plugins.append(SLURMEnvironment(auto_requeue=False))
    return plugins
