"""The cells of examples, and the pages that are made of them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = ROOT / "docs" / "examples"
#: The names of all examples.
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
CELL = re.compile(r"^# %%(?P<kind> \[markdown\])?\n", flags=re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """A cell of an example.

    Attributes:
        is_text: Whether it is text.
        source: The text in Markdown, or the code.
    """

    is_text: bool
    source: str

    @property
    def markdown(self) -> str:
        """The cell on a page."""
        return self.source if self.is_text else f"```python\n{self.source}\n```"


def cells(name: str) -> list[Cell]:
    """The cells of an example.

    Args:
        name: The name of the example.
    """
    _, *parts = CELL.split((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8"))
    return [_cell(kind is not None, text.strip()) for kind, text in zip(parts[::2], parts[1::2], strict=True)]


def _cell(is_text: bool, source: str) -> Cell:
    return Cell(is_text, re.sub(r"^# ?", "", source, flags=re.MULTILINE) if is_text else source)


def page(name: str, outputs: list[str]) -> str:
    """The page of an example.

    Args:
        name: The name of the example.
        outputs: What follows each cell on the page; may be empty.
    """
    parts = [part for cell, output in zip(cells(name), outputs, strict=True) for part in (cell.markdown, output)]
    return "\n\n".join(part for part in parts if part) + "\n"


def outputs_on_page(name: str) -> list[str]:
    """What follows each cell on the page of an example.

    Args:
        name: The name of the example.

    Raises:
        ValueError: The page is not that of the example.
    """
    rest, outputs = (PAGES / f"{name}.md").read_text(encoding="utf-8"), []
    for cell in cells(name):
        before, found, rest = rest.partition(f"{cell.markdown}\n")
        if not found:
            raise ValueError(f"{name}.md lacks a cell of the example: run `python docs/_tools/render.py {name}`")
        outputs.append(before.strip())
    return [*outputs[1:], rest.strip()]
