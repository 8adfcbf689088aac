"""Pictures that runs have drawn, reduced for the page."""

import base64
import io
import warnings
from pathlib import Path

from PIL import Image

#: Width in pixels, and colours: a page with the pictures of thirty experiments then has a few megabytes.
MAX_WIDTH = 900
NUM_COLOURS = 128
#: No run draws larger pictures; a file that claims to be larger might fill the memory.
MAX_PIXELS = 50_000_000


def final_pictures(folder: Path, num_tasks: int) -> list[Path]:
    """The pictures that a run drew after its last task, except forgetting matrices.

    Args:
        folder: The folder of the run.
        num_tasks: How many tasks it learnt.
    """
    found = sorted((folder / "figures").glob("*.png"))
    drawn = [path for path in found if not path.stem.startswith("forgetting")]
    return [path for path in drawn if path.stem == "skill" or path.stem.endswith(f"_{num_tasks:02d}")]


def data_uri(path: Path) -> tuple[str, int, int]:
    """The picture as a data URI, its width and its height.

    Args:
        path: A PNG file.

    Raises:
        ValueError: It cannot be read.
    """
    try:
        with path.open("rb") as content, warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            found = Image.open(content, formats=["PNG"])
            if found.width * found.height > MAX_PIXELS:
                raise ValueError(f"it has {found.width} by {found.height} pixels")
            picture = found.convert("RGB")
        picture.thumbnail((MAX_WIDTH, 4 * MAX_WIDTH), Image.Resampling.LANCZOS)
        file = io.BytesIO()
        picture.quantize(NUM_COLOURS, dither=Image.Dither.NONE).save(file, format="PNG", optimize=True)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:  # SyntaxError: a broken chunk
        raise ValueError(f"{path.name} cannot be read as a picture") from error
    uri = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
    return uri, picture.width, picture.height
