"""Runs on a SLURM cluster."""

from collections.abc import Sequence
from typing import Any

from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment


def trainer_plugins(plugins: Sequence[Any] | Any | None) -> list[Any]:  # noqa: ANN401
    """Return the plugins of a trainer, on SLURM with one that does not handle signals.

    By default Lightning answers a signal of SLURM with a checkpoint in the middle of a step, in a folder that all runs
    share; a run resumed from it ends with other results. `--ckpt_path last` resumes from a checkpoint of ours instead.

    Args:
        plugins: Plugins that the user has chosen.
    """
    result = list(plugins) if isinstance(plugins, list | tuple) else [plugins] if plugins else []
    if SLURMEnvironment.detect() and not any(isinstance(plugin, ClusterEnvironment) for plugin in result):
        result.append(SLURMEnvironment(auto_requeue=False))
    return result
