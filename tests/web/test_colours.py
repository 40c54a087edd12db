"""The page's colours can be read, light and dark, and told apart by the colour-blind."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import lexicone

CSS = (Path(lexicone.__file__).parent / "web" / "static" / "style.css").read_text()
PALETTES = [
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
    for block in re.findall(r":root[^{]*\{([^}]*--paper[^}]*)\}", CSS)
]
READ = [
    *(("text", paper) for paper in ("paper", "panel", "floor", "high", "low", "goal", "begin")),
    *(("quiet", paper) for paper in ("paper", "panel")),
    *(("good", "good-paper"), ("bad", "bad-paper"), ("accent-text", "accent"), ("accent", "panel")),
]
DRAWN = [(ink, "paper") for ink in ("arrow", "coin", "trail", *(f"line-{k}" for k in range(1, 8)))]
# how the three kinds of colour-blindness see linear RGB (Viénot, Brettel and Mollon, 1999, and for blue the same way)
BLIND = {
    "red": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "green": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    "blue": [[1, 0.14461, -0.14461], [0, 0.85924, 0.14076], [0, 0.85924, 0.14076]],
}


def linear(colour):
    """Light, 0 to 1 for red, green and blue."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(first, second):
    """As WCAG has it: 4.5 for text, 3 for drawings."""
    light = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] for c in (first, second))
    return (light[1] + 0.05) / (light[0] + 0.05)


def test_dark_is_the_same_by_setting_and_by_button():
    light, by_setting, by_button = PALETTES
    assert by_setting == by_button
    assert set(light) == set(by_setting)
    assert light != by_setting


@pytest.mark.parametrize("palette", PALETTES[:2], ids=["light", "dark"])
def test_words_and_lines_stand_out(palette):
    weak = {p: contrast(palette[p[0]], palette[p[1]]) for p in READ}
    assert {pair: found for pair, found in weak.items() if found < 4.5} == {}
    faint = {p: contrast(palette[p[0]], palette[p[1]]) for p in DRAWN}
    assert {pair: found for pair, found in faint.items() if found < 3} == {}
    assert contrast(palette["faint"], palette["paper"]) < 3  # what is no word may be faint


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("palette", PALETTES[:2], ids=["light", "dark"])
def test_the_first_lines_and_tiles_differ_for_the_colour_blind(palette, kind):
    for names in (["line-1", "line-2", "line-3"], ["high", "low", "goal", "begin", "wall"]):
        seen = {n: np.clip(BLIND[kind] @ linear(palette[n]), 0, 1) ** (1 / 2.2) for n in names}
        near = [
            (a, b)
            for a, b in itertools.combinations(names, 2)
            if np.linalg.norm(seen[a] - seen[b]) < 0.07
        ]
        assert near == []
