"""The folder that callbacks write to."""

from pathlib import Path

from lightning import Trainer


class ResultsWriter:
    """Mixin of callbacks that write files to the run folder.

    Attributes:
        folder: The run folder; that of the trainer's logger by default.
    """

    folder: Path | None = None

    def results_folder(self, trainer: Trainer) -> Path | None:
        """Return the run folder; None if nothing is to be written. All processes must call this together.

        Args:
            trainer: The trainer, which broadcasts the folder of its logger from rank 0.
        """
        logged = trainer.log_dir
        if trainer.fast_dev_run:  # type: ignore[attr-defined]
            return None
        return self.folder or Path(logged or trainer.default_root_dir)
