import dataclasses

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

from lexicone import Order, at_most, lowest, plots, tasks
from lexicone.exact._front import Front, pareto, sensitivity
from lexicone.exact._solve import solve
from lexicone.plots import _models as plots_models, _style as plots_style


def test_save_writes_three_formats_and_nothing_else(tmp_path):
    paths = plots.save(plots.cone_geometry(), tmp_path / "new" / "figure")
    names = ["figure.pdf", "figure.png", "figure.svg"]
    assert sorted(p.name for p in paths) == names
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == names
    assert paths[0].read_bytes()[:4] == b"\x89PNG"


def test_the_halfspace_loses_value_and_the_cone_keeps_it():
    """The titles are computed, so they say what the figures are to show."""
    titles = [f().axes[0].get_title() for f in (plots.halfspace_fails, plots.cone_keeps)]
    changes = [title.rsplit("$", 1)[1].split("→") for title in titles]
    (before, after), (kept_before, kept_after) = [(float(a), float(b)) for a, b in changes]
    assert after < before
    assert kept_after >= kept_before


def test_values_show_every_objective_and_threshold():
    history = np.linspace(0, 1, 30).reshape(10, 3)
    axes = plots.values_over_steps(history, Order([0.5, np.inf])).axes[0]
    labels = [str(line.get_label()) for line in axes.get_lines()]
    assert len([label for label in labels if "ends at" in label]) == 3
    assert len([label for label in labels if label.startswith("threshold")]) == 1


def arrows(figure: Figure) -> list[Annotation]:
    texts = figure.axes[0].texts
    return [t for t in texts if isinstance(t, Annotation) and t.arrow_patch is not None]


def legend(axes: Axes) -> list[str]:
    found = axes.get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def test_maze_arrows_follow_the_policy():
    mdp = tasks.maze("extended", objectives="path")
    everywhere_up = np.zeros(mdp.num_states, int)
    drawn = arrows(plots.draw_maze(mdp, everywhere_up))
    assert len(drawn) == mdp.num_states - 1  # none at the goal
    assert all(a.xy[1] > a.xyann[1] and a.xy[0] == a.xyann[0] for a in drawn)
    visited = np.zeros((mdp.num_states, 4))
    visited[16, 0] = 1
    assert len(arrows(plots.draw_maze(mdp, everywhere_up, visited))) == 1


def boxes(figure):
    """The rectangles of all words on a map, in tiles."""
    figure.draw_without_rendering()
    axes = figure.axes[0]
    back = axes.transData.inverted()
    return {
        t.get_text(): t.get_window_extent().transformed(back)
        for t in axes.texts
        if t.get_text() and getattr(t, "arrow_patch", None) is None
    }


def test_probabilities_are_not_on_the_arrows():
    """Of all pairs of directions, at the same start in the middle of the map."""
    mdp = tasks.maze("...\n.S.\n..G")
    for first, second in ((0, 1), (0, 3), (1, 2), (1, 3), (2, 3), (0, 2)):
        policy = np.full((9, 4), 0.25)
        policy[4] = 0.0
        policy[4, first], policy[4, second] = 0.81, 0.19
        visited = np.zeros((9, 4))
        visited[4] = 1.0
        figure = plots.draw_maze(mdp, policy, visited)
        words = boxes(figure)
        chances = [words["0.81"], words["0.19"]]
        assert not chances[0].overlaps(chances[1])
        for arrow in arrows(figure):
            ends = np.array([arrow.xy, arrow.xyann])
            along = ends[0] + np.linspace(0, 1, 50)[:, None] * (ends[1] - ends[0])
            for box in chances:
                assert not any(box.contains(x, y) for x, y in along)
        for box in chances:
            assert 1 <= box.x0 <= box.x1 <= 2
            assert 1 <= box.y0 <= box.y1 <= 2


def test_treasures_show_their_worth():
    mdp = tasks.deep_sea_treasure()
    words = boxes(plots.draw_maze(mdp))
    assert {"1", "16", "124"} <= set(words)
    assert "T" not in words


def test_a_map_says_when_tiles_hold_several_states():
    shared = tasks.resource_gathering()
    everywhere = np.zeros(shared.num_states, int)
    assert "several states" in plots.draw_maze(shared, everywhere).axes[0].get_xlabel()
    assert not plots.draw_maze(shared).axes[0].get_xlabel()
    single = tasks.maze("small")
    assert not plots.draw_maze(single, np.zeros(9, int)).axes[0].get_xlabel()


def test_a_map_on_axes_of_ones_own():
    mdp = tasks.maze("extended", objectives="path")
    figure = Figure()
    left, right = figure.subplots(1, 2)
    policy = np.zeros(mdp.num_states, int)
    plots.maze_on(left, mdp, policy, arrow_width=0.5)
    plots.maze_on(right, mdp, policy)

    def thick(axes):
        patches = [getattr(t, "arrow_patch", None) for t in axes.texts]
        return max(patch.get_linewidth() for patch in patches if patch is not None)

    assert thick(left) == pytest.approx(0.5 * thick(right))


def colors(figure):
    found = {}
    for text in figure.axes[0].texts:
        if text.get_bbox_patch() is not None:
            found[text.get_text()] = to_hex(text.get_bbox_patch().get_facecolor())
    return found


def test_graphs_show_actions_with_their_probabilities():
    mdp = tasks.space_traders()
    bare = [t.get_text() for t in plots.draw_model(mdp).axes[0].texts]
    for action in mdp.action_names or ():
        assert bare.count(action) == 2
    for chance in ("0.9", "0.1", "0.85", "0.15"):
        assert bare.count(chance) == 2
    found = solve(mdp, Order([0.88]))
    texts = [
        t.get_text() for t in plots.draw_model(mdp, found.policy, found.occupancy).axes[0].texts
    ]
    assert "Teleport 0.8" in texts
    assert "Indirect 0.2" in texts
    assert "Direct" in texts


def test_only_an_end_that_pays_is_a_goal():
    painted = colors(plots.draw_model(tasks.space_traders()))
    assert painted["home"] != painted["lost"]
    assert painted["lost"] == plots_style.GREY
    leaves = tasks.fruit_tree(3, seed=0, num_objectives=2)
    worthless = dataclasses.replace(leaves, reward=-leaves.reward)
    assert colors(plots.draw_model(leaves))["(3,0)"] == plots_models._GOALS
    assert colors(plots.draw_model(worthless))["(3,0)"] == plots_style.GREY


def test_the_fruit_tree_shows_the_probabilities_of_its_coins():
    mdp = tasks.fruit_tree(3, seed=0, num_objectives=2)
    policy = np.tile([1.0, 0.0], (15, 1))
    policy[0] = [0.3, 0.7]
    texts = [t.get_text() for t in plots.draw_model(mdp, policy).axes[0].texts]
    assert texts.count("0.3") == texts.count("0.7") == 1
    assert "1" not in texts


class TestFronts:
    mdp = tasks.maze("extended", objectives="path")

    @pytest.mark.slow
    def test_two_objectives(self):
        pure, mixed = pareto(self.mdp, policies="deterministic"), pareto(self.mdp, points=5)
        axes = plots.draw_front(mixed, pure, names=self.mdp.objective_names, title="both").axes[0]
        first, second = axes.get_lines()
        np.testing.assert_allclose(np.stack(first.get_data(), axis=1), mixed.values)
        assert second.get_drawstyle() == "steps-pre"
        assert first.get_drawstyle() == "default"
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("tiles+goal", "time")
        assert legend(axes) == ["stochastic policies, 5 points", "deterministic policies, 3 points"]
        some = plots.draw_front(pareto(self.mdp, policies="deterministic", points=2)).axes[0]
        assert "not all" in legend(some)[0]
        assert some.get_xlabel() == "objective 1"

    def test_three_objectives(self):
        front = Front(np.array([[0.0, 3, 1], [1, 2, 2], [2, 1, 0]]), 1.0, "stochastic", False)
        axes, bar = plots.draw_front(front, names=("a", "b", "c")).axes
        (points,) = axes.collections
        np.testing.assert_allclose(np.asarray(points.get_offsets()), front.values[:, :2])
        np.testing.assert_allclose(np.asarray(points.get_array()), front.values[:, 2])
        assert bar.get_ylabel() == "c"
        with pytest.raises(ValueError, match=r"^fronts: expected several of two objectives or one"):
            plots.draw_front(front, front)
        with pytest.raises(ValueError, match=r"^names: expected 3"):
            plots.draw_front(front, names=("a", "b"))
        with pytest.raises(ValueError, match=r"^fronts: need at least one"):
            plots.draw_front()

    def test_one_threshold_moves(self):
        levels = [0.0, -4.0, 2.0, 3.0, 1.0]
        found = sensitivity(self.mdp, Order([0.0]), 0, thresholds=levels)
        top, bottom = plots.draw_sensitivity(found, self.mdp.objective_names).axes
        x, y = bottom.get_lines()[0].get_data()
        np.testing.assert_allclose(np.asarray(x), sorted(levels))
        np.testing.assert_allclose(np.asarray(y), [-4, -8.8, -10, -10, -10], atol=1e-8)
        assert top.get_ylabel() == "tiles+goal"
        assert bottom.get_xlabel() == "threshold of tiles+goal"
        (missed,) = bottom.patches  # from 2 on no policy meets it
        assert isinstance(missed, Rectangle)
        assert (missed.get_x(), missed.get_width()) == (2.0, 1.0)
        met = sensitivity(self.mdp, Order([0.0]), 0, thresholds=[-3.0, 1.0])
        assert not plots.draw_sensitivity(met).axes[1].patches
        said = Order({"time": at_most(6), "tiles+goal": lowest()})
        turned = sensitivity(self.mdp, said, "time", thresholds=[at_most(6), at_most(5)])
        top, bottom = plots.draw_sensitivity(turned).axes
        x, y = bottom.get_lines()[0].get_data()
        np.testing.assert_allclose(np.asarray(x), [5, 6])
        np.testing.assert_allclose(np.asarray(y), [19 / 6, 7 / 3])
        assert top.get_ylabel() == "time"


def test_models_without_a_map_are_graphs():
    mdp = tasks.space_traders()
    texts = [t.get_text() for t in plots.draw_model(mdp).axes[0].texts]
    assert mdp.state_names
    assert set(mdp.state_names) <= set(texts)
    with pytest.raises(ValueError, match="mdp: has no layout"):
        plots.draw_maze(mdp)
    big = plots.draw_model(tasks.garnet(500))
    assert "more states not shown" in big.axes[0].get_title()


@pytest.mark.parametrize("count", [1, 4, 9])
def test_every_learner_is_drawn(count):
    episodes, share = np.arange(1, 4), np.full((2, 3), 0.5)
    curves = {f"learner {i}": (episodes, share) for i in range(count)}
    assert legend(plots.over_training({"task": curves}).axes[0]) == list(curves)
    shares = dict.fromkeys(curves, (episodes, share.T))
    spans = {name: np.full((3, 2), 0.5) for name in curves}
    assert legend(plots.by_delta(shares, spans, "title").axes[0]) == list(curves)
    assert len(plots.over_seeds(curves, "rate", "title").axes) == count
    assert all(axes.lines for axes in plots.over_seeds(curves, "rate", "title").axes)
    rates = {name: share[i % 2] for i, name in enumerate(curves)}
    assert legend(plots.one_seed(episodes, rates, "title").axes[0]) == list(curves)
    assert len(plots.leaf_probabilities({"panel": curves}, {}, "title").axes[0].lines) == count


def test_a_history_says_what_the_learner_does_not_report():
    """As the learner in the documentation, which logs neither which objective is improved nor how often it ends."""
    found = {"episodes": np.arange(1, 6), "returns": np.zeros((2, 5, 2))}
    order = Order([0.5])
    figure = plots.history({**found, "satisfied": np.ones((2, 5, 1))}, order, "title")
    says = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert says == [[], [], [], ["the learner does not\nreport 'improved'"]]
    assert len(figure.axes[2].lines) == 3
    bare = plots.history(
        {"episodes": found["episodes"], "returns": np.zeros((2, 5))}, order, "title"
    )
    assert all(axes.texts for axes in bare.axes)
