"""Text and lines have enough contrast (WCAG 2: 4.5 to 1 for text, 3 to 1 for lines)."""

import re

import pytest

from gpvae.report.heat_maps import NUM_SHADES, shade_rules
from gpvae.report.page import ENVIRONMENT
from gpvae.report.palette import COLOURS

STYLES = ENVIRONMENT.get_template("style.css").render()
#: Colours by name, of the light page and of the dark one.
LIGHT, DARK = (dict(re.findall(r"--(\w+): (#\w+)", block)) for block in re.findall(r":root {[^}]*--page[^}]*}", STYLES))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("page", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_lines_stand_out(page: dict[str, str]) -> None:
    for ground in ("page", "stripe"):
        for ink in ("ink", "soft", "link"):
            assert contrast(page[ink], page[ground]) >= 4.5, (ink, ground)
    for colour in COLOURS:
        assert contrast(colour, page["page"]) >= 3, colour


def test_numbers_in_heat_maps_stand_out() -> None:
    rules = re.findall(r"\.s\d+{background:(#\w+);color:(#\w+)}", shade_rules())
    assert len(rules) == NUM_SHADES
    for ground, ink in rules:
        assert contrast(ground, ink) >= 4.5


def test_both_pages_have_the_same_colours() -> None:
    assert LIGHT.keys() == DARK.keys() == {"page", "ink", "soft", "line", "stripe", "link"}
