"""The pages of the documentation, and the blocks of code on them.

An HTML comment on the line above a block changes how it is tested:

- `<!-- not run: why -->`: the block is not run, for the reason given;
- `<!-- run -->`, above shell commands: they are run, not only parsed.

A Python block that begins with a comment such as `# tides.py` is also written to that file, for later blocks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
#: Pages rendered from examples/*.py, which have tests of their own.
RENDERED = ROOT / "docs" / "examples"
#: Pages of the site outside docs/.
OUTSIDE_DOCS = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
PAGES = [*OUTSIDE_DOCS, *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = ("bibtex", "diff", "python", "sh", "text", "yaml")

FENCE = re.compile(r"(?P<indent> *)```(?P<language>\w*)$")
COMMENT = re.compile(r" *<!-- (?P<text>.*?) -->$")
FILE_NAME = re.compile(r"# (?P<name>\w+\.py)\n")


@dataclass(frozen=True)
class Block:
    """A block of code.

    Attributes:
        page: The page.
        line: Line number of its first line, from 1.
        language: The language after the fence.
        text: The code, without the indentation of the block.
        note: The comment above it; empty if there is none.
    """

    page: Path
    line: int
    language: str
    text: str
    note: str

    @property
    def reason_not_to_run(self) -> str:
        """Why it is not run; empty if it is run."""
        return self.note.removeprefix("not run: ") if self.note.startswith("not run: ") else ""

    @property
    def is_run(self) -> bool:
        """Whether its shell commands are run, not only parsed."""
        return self.note == "run"

    @property
    def file_name(self) -> str:
        """The file that the code is written to; empty if it names none."""
        found = FILE_NAME.match(self.text)
        return found["name"] if found else ""

    def __str__(self) -> str:
        return f"{name(self.page)}, line {self.line}"


def name(page: Path) -> str:
    """The path of a page relative to the root."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, in order."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start = 0
    while start < len(lines):
        fence = FENCE.match(lines[start])
        if not fence:
            start += 1
            continue
        end = next(i for i in range(start + 1, len(lines)) if lines[i].strip() == "```")
        comment = COMMENT.match(lines[start - 1]) if start else None
        text = "".join(line.removeprefix(fence["indent"]) + "\n" for line in lines[start + 1 : end])
        yield Block(page, start + 2, fence["language"], text, comment["text"] if comment else "")
        start = end + 1
