"""Saves the config of a run with its results."""

from pathlib import Path

from jsonargparse import Namespace
from lightning import LightningModule, Trainer
from lightning.pytorch.cli import LightningArgumentParser, SaveConfigCallback

from gpvae.utils.atomic import replacing


class SavedConfig(SaveConfigCallback):
    """Saves the config as `config.yaml` in the run folder, with any logger or none.

    Args:
        parser: The parser of the config.
        config: The config.
        folder: The run folder.
    """

    def __init__(self, parser: LightningArgumentParser, config: Namespace, folder: Path) -> None:
        super().__init__(parser, config, save_to_log_dir=False)
        self.folder = folder

    def save_config(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Save the config; Lightning calls this on rank 0 only."""
        with replacing(self.folder / self.config_filename) as unfinished:
            self.parser.save(self.config, unfinished, skip_none=False, overwrite=True, multifile=False)
