"""The config of a run, saved with its results."""

from pathlib import Path

from jsonargparse import Namespace
from lightning import LightningModule, Trainer
from lightning.pytorch.cli import LightningArgumentParser, SaveConfigCallback

from gpvae.utils.atomic import replacing


class SavedConfig(SaveConfigCallback):
    """Saves the config as `config.yaml` in the folder of the run, whatever logger there is.

    Args:
        parser: The parser of the config.
        config: The config.
        folder: The folder of the run.
    """

    def __init__(self, parser: LightningArgumentParser, config: Namespace, folder: Path) -> None:
        super().__init__(parser, config, save_to_log_dir=False)
        self.folder = folder

    def save_config(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Save it, from the first process."""
        with replacing(self.folder / self.config_filename) as unfinished:
            self.parser.save(self.config, unfinished, skip_none=False, overwrite=True, multifile=False)
