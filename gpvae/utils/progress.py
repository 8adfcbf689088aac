"""Progress bars in a terminal."""

from collections.abc import Iterable

from gpvae.utils.extras import require


def track(steps: range, description: str, *, shown: bool) -> Iterable[int]:
    """Steps, with a progress bar if it is to be shown and there is a terminal.

    Args:
        steps: The steps.
        description: What they do.
        shown: Whether to show a bar.
    """
    if not shown:
        return steps
    require("rich", "report", "progress=True draws a progress bar", ImportError)
    from rich import progress
    from rich.console import Console

    return progress.track(steps, description=description, disable=not Console().is_terminal, transient=True)
