import numpy as np
import pytest

from lexicone import Order, plots, tasks


def test_save_writes_both_formats_and_nothing_else(tmp_path):
    paths = plots.save(plots.cone_geometry(), tmp_path / "new" / "figure")
    assert sorted(p.name for p in paths) == ["figure.png", "figure.svg"]
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["figure.png", "figure.svg"]
    assert paths[0].read_bytes()[:4] == b"\x89PNG"


def test_the_half_space_loses_value_and_the_cone_keeps_it():
    """The titles are computed, so they say what the figures are to show."""
    titles = [f().axes[0].get_title() for f in (plots.halfspace_fails, plots.cone_keeps)]
    changes = [title.rsplit("$", 1)[1].split("→") for title in titles]
    (before, after), (kept_before, kept_after) = [(float(a), float(b)) for a, b in changes]
    assert after < before
    assert kept_after >= kept_before


def test_values_show_every_objective_and_threshold():
    history = np.linspace(0, 1, 30).reshape(10, 3)
    axes = plots.values_over_steps(history, Order([0.5, np.inf])).axes[0]
    labels = [line.get_label() for line in axes.get_lines()]
    assert len([label for label in labels if "ends at" in label]) == 3
    assert len([label for label in labels if label.startswith("threshold")]) == 1


def arrows(figure):
    return [t for t in figure.axes[0].texts if getattr(t, "arrow_patch", None) is not None]


def test_maze_arrows_follow_the_policy():
    mdp = tasks.maze("extended", objectives="path")
    everywhere_up = np.zeros(mdp.num_states, int)
    drawn = arrows(plots.draw_maze(mdp, everywhere_up))
    assert len(drawn) == mdp.num_states - 1  # none at the goal
    assert all(a.xy[1] > a.xyann[1] and a.xy[0] == a.xyann[0] for a in drawn)
    visited = np.zeros((mdp.num_states, 4))
    visited[16, 0] = 1
    assert len(arrows(plots.draw_maze(mdp, everywhere_up, visited))) == 1


def test_models_without_a_map_are_graphs():
    mdp = tasks.space_traders()
    texts = [t.get_text() for t in plots.draw_model(mdp).axes[0].texts]
    assert set(mdp.state_names) <= set(texts)
    with pytest.raises(ValueError, match="mdp: has no layout"):
        plots.draw_maze(mdp)
    big = plots.draw_model(tasks.garnet(500))
    assert "more states not shown" in big.axes[0].get_title()
