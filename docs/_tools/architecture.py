"""Draws the packages and their imports: `python docs/_tools/architecture.py` writes docs/architecture.svg.

Contents and imports of the boxes come from the import graph. The places of the boxes and the groups of modules at the
root of `gpvae` are chosen here. Imports that follow from others are left out.
"""

import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

import grimp
import networkx as nx  # type: ignore[import-untyped]

ROOT = Path(__file__).parent.parent.parent
PICTURE = ROOT / "docs" / "architecture.svg"
PACKAGES = ("gpvae", "callbacks", "datamodules")
#: First and last row, left and right end of each box.
PLACES = {
    "gpvae.saved": (0, 0, 0.0, 1.0),
    "gpvae.cli": (1, 1, 0.0, 1.0),
    "callbacks": (2, 2, 0.0, 0.68),
    "gpvae.report": (2, 2, 0.68, 1.0),
    "datamodules": (3, 7, 0.0, 0.25),
    "gpvae.modules": (3, 3, 0.25, 0.54),
    "interfaces": (3, 3, 0.54, 0.68),
    "gpvae.results": (3, 4, 0.68, 0.84),
    "gpvae.plotting": (3, 4, 0.84, 1.0),
    "gpvae.vae": (4, 4, 0.25, 0.44),
    "gpvae.bank": (4, 4, 0.44, 0.54),
    "gpvae.estimators": (4, 4, 0.54, 0.68),
    "streaming GP": (5, 5, 0.25, 0.68),
    "gpvae.metrics": (5, 7, 0.68, 1.0),
    "gpvae.inducing": (6, 6, 0.25, 0.465),
    "gpvae.hyperparameters": (6, 6, 0.465, 0.68),
    "gpvae.hippo": (7, 7, 0.25, 0.465),
    "kernels": (7, 7, 0.465, 0.68),
    "gpvae.utils": (8, 8, 0.0, 1.0),
}
NUM_ROWS = 1 + max(last for _, last, _, _ in PLACES.values())
#: Modules and packages at the root of `gpvae` that share a box.
GROUPS = {
    "streaming GP": (
        *(
            "online_gp",
            "presented_gp",
            "predictive_gp",
            "observations",
            "methods",
            "diagnostics",
            "inference",
            "natural_gradients",
        ),
        *("bounds", "streaming", "posteriors", "sites", "saving"),
    ),
    "kernels": ("kernels", "likelihoods"),
    "interfaces": ("sklearn", "river", "botorch"),
}
TITLES = {
    "streaming GP": "gpvae: the streaming GP",
    "kernels": "gpvae: kernels, likelihoods",
    "interfaces": "gpvae: interfaces",
}
WIDTH, LINE, PADDING, GAP, FONT = 1060, 15, 9, 26, 12


@dataclass(frozen=True)
class Box:
    """A package, or some modules at the root of `gpvae`, with its place in the picture."""

    name: str
    left: float
    right: float
    top: float
    bottom: float
    lines: tuple[str, ...]


def box_of(module: str) -> str | None:
    """The name of the box of a module; None for `gpvae` itself."""
    package, _, rest = module.partition(".")
    if package != "gpvae":
        return package
    name = rest.partition(".")[0]
    if name in ("", "__main__"):
        return None
    return next((group for group, members in GROUPS.items() if name in members), f"gpvae.{name}")


def read() -> tuple[dict[str, list[str]], nx.DiGraph]:
    """The modules and packages in each box, and which box imports which."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    contents: dict[str, set[str]] = {}
    imports = nx.DiGraph()
    for module in sorted(graph.modules):
        box = box_of(module)
        if box is None:
            continue
        depth = 2 if box.startswith("gpvae.") else 1
        contents.setdefault(box, set()).update(module.split(".")[depth : depth + 1])
        others = {box_of(imported) for imported in graph.find_modules_directly_imported_by(module)}
        imports.add_edges_from((box, other) for other in others - {None, box})
    return {box: sorted(names) for box, names in contents.items()}, nx.transitive_reduction(imports)


def wrap(names: list[str], width: float) -> list[str]:
    """Names in lines that fit a box."""
    lines = [""]
    for name in names:
        if lines[-1] and len(f"{lines[-1]} {name}") * 0.57 * FONT > width - 2 * PADDING:
            lines.append("")
        lines[-1] = f"{lines[-1]} {name}".strip()
    return lines


def lay_out(contents: dict[str, list[str]], imports: nx.DiGraph) -> list[Box]:
    """Boxes in their places, rows as high as their contents."""
    if contents.keys() != PLACES.keys():
        differing = ", ".join(sorted(contents.keys() ^ PLACES.keys()))
        raise ValueError(f"give a place in {Path(__file__).name} to each package and to no other: {differing}")
    lines, heights = {}, dict.fromkeys(range(NUM_ROWS), 0.0)
    for name, (first, last, left, right) in PLACES.items():
        width = (right - left) * (WIDTH - GAP) - GAP
        used = sorted(other.removeprefix("gpvae.") for other in imports.successors(name))
        lines[name] = [*wrap(contents[name], width), *(f"→ {line}" for line in wrap(used, width - 20) if line)]
        if first == last:
            heights[first] = max(heights[first], 2 * PADDING + LINE * (1 + len(lines[name])))
    tops = [GAP + sum(heights[above] + GAP for above in range(row)) for row in range(NUM_ROWS)]
    return [
        Box(
            name=name,
            left=GAP + left * (WIDTH - GAP),
            right=right * (WIDTH - GAP),
            top=tops[first],
            bottom=tops[last] + heights[last],
            lines=tuple(lines[name]),
        )
        for name, (first, last, left, right) in PLACES.items()
    ]


def arrow(a: Box, b: Box, boxes: list[Box]) -> str:
    """A vertical arrow from a box to one below it, where nothing is in between."""
    low, high = max(a.left, b.left), min(a.right, b.right)
    x = (low + high) / 2
    between = any(c.left < x < c.right and a.bottom < c.top < b.top for c in boxes)
    if low >= high or between:
        return ""
    return f'<path d="M{x:.0f} {a.bottom:.0f}V{b.top - 1:.0f}" stroke="#5a6069" marker-end="url(#tip)"/>'


def picture() -> str:
    """The packages as they are, as SVG."""
    contents, imports = read()
    boxes = lay_out(contents, imports)
    by_name = {box.name: box for box in boxes}
    height = boxes[-1].bottom + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" font-family="sans-serif" '
        f'font-size="{FONT}">',
        '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#5a6069"/></marker>',
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    arrows = (arrow(by_name[source], by_name[target], boxes) for source, target in sorted(imports.edges))
    parts += [drawn for drawn in arrows if drawn]
    for box in boxes:
        fill = "#e8f1f8" if box.name.startswith("gpvae") or box.name in GROUPS else "#fdf3e1"
        parts.append(
            f'<rect x="{box.left:.0f}" y="{box.top:.0f}" width="{box.right - box.left:.0f}" '
            f'height="{box.bottom - box.top:.0f}" rx="5" fill="{fill}" stroke="#8a8f98"/>'
        )
        for number, text in enumerate((TITLES.get(box.name, box.name), *box.lines), start=1):
            style = 'font-weight="bold"' if number == 1 else 'fill="#5a6069"' if text.startswith("→") else ""
            y = box.top + PADDING + LINE * number - 3
            parts.append(f'<text x="{box.left + PADDING:.0f}" y="{y:.0f}" {style}>{escape(text)}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))  # an installed gpvae does not bring these packages under their short names
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")
