"""Reads a page as a strict browser would."""

import base64
import hashlib
from dataclasses import dataclass, field
from html.parser import HTMLParser

#: Elements that have no end tag.
VOID = frozenset({"meta", "img", "br", "hr"})
#: What the page may load: nothing but the pictures and styles within it.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def policy(script: str) -> str:
    """What a page may load and run that has this script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return POLICY.replace("img-src", f"script-src 'sha256-{digest}'; img-src")


@dataclass
class Table:
    """A table: its caption and the text of its cells, row by row."""

    caption: str = ""
    rows: list[list[str]] = field(default_factory=list)
    bold: list[list[bool]] = field(default_factory=list)


class Page(HTMLParser):
    """What is in a page; fails where tags do not match.

    Attributes:
        elements: Every start tag, with its attributes.
        tables: Every table.
        texts: All text that is neither a style nor a script.
        headings: Level and text of each heading.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[Table] = []
        self.texts: list[str] = []
        self.headings: list[tuple[int, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attributes]
        assert len(set(names)) == len(names), f"an attribute twice in {tag}: {names}"
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "table":
            self.tables.append(Table())
        elif tag == "tr":
            self.tables[-1].rows.append([])
            self.tables[-1].bold.append([])
        elif tag in ("td", "th"):
            self.tables[-1].rows[-1].append("")
            self.tables[-1].bold[-1].append(False)
        elif tag in ("h1", "h2", "h3", "h4"):
            self.headings.append((int(tag[1]), ""))

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1] == tag, f"</{tag}> closes {self._open}"
        self._open.pop()

    def handle_data(self, text: str) -> None:
        if {"style", "script"} & set(self._open):
            return
        self.texts.append(text)
        if "caption" in self._open:
            self.tables[-1].caption += text
        elif ("td" in self._open or "th" in self._open) and "small" not in self._open:
            self.tables[-1].rows[-1][-1] += text
            self.tables[-1].bold[-1][-1] |= "strong" in self._open
        elif self._open and self._open[-1] in ("h1", "h2", "h3", "h4"):
            level, so_far = self.headings[-1]
            self.headings[-1] = (level, so_far + text)

    def attributes(self, name: str) -> list[str]:
        """The values of an attribute, of all elements that have it."""
        return [value or "" for _, attributes in self.elements for key, value in attributes.items() if key == name]

    @property
    def text(self) -> str:
        """All text."""
        return "".join(self.texts)

    def tables_called(self, start: str) -> list[Table]:
        """The tables whose captions begin so."""
        return [table for table in self.tables if table.caption.startswith(start)]
