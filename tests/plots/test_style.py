"""Formats, widths and colours of figures."""

import io

import numpy as np
import pytest
from matplotlib import image
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from lexicone import plots
from lexicone.plots._curves import interval_of_mean
from lexicone.plots._style import COLORS, figure_defaults

LINEAR = {  # what is left of linear red, green and blue (Machado, Oliveira & Fernandes 2009)
    "full": np.eye(3),
    "no red": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "no green": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "no blue": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}
TO_XYZ = [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]


def in_lab(colors, seen):
    """As CIELAB has them, where differences of about 2 can just be seen."""
    rgb = np.array([to_rgb(color) for color in colors])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(linear @ np.transpose(seen), 0, 1) @ np.transpose(TO_XYZ) / [0.9505, 1, 1.0888]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack(
        [116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1
    )


def least_difference(colors):
    found = []
    for seen in LINEAR.values():
        lab = in_lab(colors, seen)
        apart = np.linalg.norm(lab[:, None] - lab[None], axis=-1)
        found.append(apart[np.triu_indices(len(colors), 1)].min())
    return min(found)


def test_ten_colours_differ_for_every_eye():
    assert len(COLORS) == 10
    assert least_difference(COLORS) > 25
    assert in_lab(COLORS, LINEAR["full"])[:, 0].max() < 70  # dark enough on white
    assert least_difference(["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd"]) < 25


def test_no_two_lines_look_the_same():
    styles = [str(sorted(plots.line_style(i).items())) for i in range(40)]
    assert len(set(styles)) == 40
    without_colour = {str((s["linestyle"], s["marker"])) for s in map(plots.line_style, range(10))}
    assert len(without_colour) == 10


@pytest.fixture(scope="module")
def ten():
    rng = np.random.default_rng(0)
    found = {
        f"learner {i}": {
            "episodes": np.arange(1, 6),
            "returns": rng.normal(size=(4, 5, 2)) + i,
            "satisfied": rng.random((4, 5, 1)),
        }
        for i in range(10)
    }
    return plots.learning_curves(found, {"a": 0.5, "b": None}, "ten", optimum=[3.0, 4.0])


def test_every_learner_is_drawn_and_named(ten):
    legend = [text.get_text() for text in ten.legends[0].get_texts()]
    assert legend == [*(f"learner {i}" for i in range(10)), "exact optimum"]
    assert len(ten.axes[0].collections) == 10  # the intervals
    colours = {line.get_color() for line in ten.axes[0].lines}
    assert colours >= set(COLORS)


def test_a_narrow_figure_keeps_its_legend(ten, tmp_path):
    before = ten.get_size_inches().tolist()
    (path,) = plots.save(ten, str(tmp_path / "ten.png"), width="column")
    assert image.imread(path).shape[1] == 660  # 3.3 inches, 200 dots each
    assert ten.get_size_inches().tolist() == before
    assert len(ten.legends) == 1
    with pytest.raises(ValueError, match="width: expected one of column, page"):
        plots.save(ten, tmp_path / "ten", width="slide")


def test_dollars_in_names_and_titles_are_no_formulas(tmp_path):
    order = {"price $x^{": 0.5, "fee [$/day] $": None}
    found = {
        "episodes": np.arange(1, 4),
        "returns": np.zeros((2, 3, 2)),
        "satisfied": np.zeros((2, 3, 1)),
    }
    for figure in (
        plots.history(found, order, "$$"),
        plots.learning_curves({"$\\a$": found}, order, "$$"),
    ):
        plots.save(figure, tmp_path / "figure.svg")
        figure._repr_png_()
        theirs = [text for text in figure.findobj(Text) if "$" in text.get_text()]
        assert len(theirs) >= 3
        assert not any(text.get_parse_math() for text in theirs)
    formulas = plots.cone_geometry().findobj(Text)  # ours
    assert any(text.get_parse_math() and "$" in text.get_text() for text in formulas)


def test_formats_follow_the_ending_or_what_is_usual(tmp_path):
    figure = plots.cone_geometry()
    (path,) = plots.save(figure, str(tmp_path / "one.pdf"))
    assert path.read_bytes()[:5] == b"%PDF-"
    again = plots.save(figure, tmp_path / "two.pdf")[0].read_bytes()
    assert again == path.read_bytes()  # no date
    with figure_defaults(("svg",), 2.0):
        assert [p.name for p in plots.save(figure, tmp_path / "a.b")] == ["a.b.svg"]


def test_notebooks_show_figures_without_pyplot():
    shown = image.imread(io.BytesIO(plots.cone_geometry()._repr_png_()))
    assert shown.shape[1] > 200


def test_intervals_are_those_of_student():
    rows = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, np.nan]])
    low, high = interval_of_mean(rows)
    assert (low[0], high[0]) == pytest.approx((2 - 2.4841377, 2 + 2.4841377))  # 4.3027·1/√3
    assert np.isnan([low[1], high[1]]).all()  # a single seed says nothing about others
