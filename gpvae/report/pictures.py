"""The pictures that runs have drawn, small enough for a page."""

import base64
import io
import warnings
from pathlib import Path

from PIL import Image

#: Pixels across, and colours: a page with the pictures of thirty experiments then has a few megabytes.
MOST_PIXELS = 900
COLOURS = 128
#: No picture of a run is this large; a file that says so would fill the memory.
MOST_TO_READ = 50_000_000


def last_pictures(folder: Path, num_tasks: int) -> list[Path]:
    """What a run drew after its last task, forgetting matrices apart.

    Args:
        folder: The folder of the run.
        num_tasks: How many tasks it learnt.
    """
    found = sorted((folder / "figures").glob("*.png"))
    drawn = [path for path in found if not path.stem.startswith("forgetting")]
    return [path for path in drawn if path.stem == "skill" or path.stem.endswith(f"_{num_tasks:02d}")]


def data_uri(path: Path) -> tuple[str, int, int]:
    """The picture as an address that holds it, its width and its height.

    Args:
        path: A PNG file.

    Raises:
        ValueError: It cannot be read.
    """
    try:
        with path.open("rb") as content, warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            found = Image.open(content, formats=["PNG"])
            if found.width * found.height > MOST_TO_READ:
                raise ValueError(f"it has {found.width} by {found.height} pixels")
            picture = found.convert("RGB")
        picture.thumbnail((MOST_PIXELS, 4 * MOST_PIXELS), Image.Resampling.LANCZOS)
        file = io.BytesIO()
        picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file, format="PNG", optimize=True)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:  # SyntaxError: a broken chunk
        raise ValueError(f"{path.name} cannot be read as a picture") from error
    address = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
    return address, picture.width, picture.height
