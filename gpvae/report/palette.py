"""How methods are drawn: a colour, a marker and a kind of line, the same all over the page."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from callbacks.figures.canvas import BLUE, DARK_ORANGE, VERMILLION

GREEN, PURPLE, STEEL = "#009E73", "#C068A0", "#7D7D85"
#: Told apart by colour-blind readers, and with a contrast of 3 to 1 against the light page and the dark one.
COLOURS = (BLUE, VERMILLION, GREEN, DARK_ORANGE, PURPLE, STEEL)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (5, 1.5, 1.5, 1.5)))


@dataclass(frozen=True)
class Style:
    """How a method is drawn.

    Args:
        colour: Colour of line, markers and band.
        marker: Marker, in matplotlib's terms.
        line: Kind of line, in matplotlib's terms.
    """

    colour: str
    marker: str
    line: str | tuple[int, tuple[float, ...]]


def styles_of(groups: Iterable[Sequence[str]]) -> dict[str, Style]:
    """A style for each method, the same in all groups; methods that meet in a group have different colours if they can.

    Args:
        groups: Names of the methods of each group.
    """
    rivals: defaultdict[str, set[str]] = defaultdict(set)
    for group in groups:
        for label in group:
            rivals[label] |= set(group) - {label}
    chosen: dict[str, int] = {}
    for label, others in rivals.items():
        met = [chosen[other] for other in others if other in chosen]
        clashes = Counter(number % len(COLOURS) for number in met)
        uses = Counter(chosen.values())
        numbers = range(len(COLOURS) * len(MARKERS))
        chosen[label] = min(numbers, key=lambda n: (clashes[n % len(COLOURS)], n in met, uses[n], n))
    return {label: style(number) for label, number in chosen.items()}


def style(number: int) -> Style:
    """One of the forty-two pairs of colour and marker.

    Args:
        number: Which of them.
    """
    return Style(COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)], LINES[number % len(LINES)])
