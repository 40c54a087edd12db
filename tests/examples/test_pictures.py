"""Figures and text maps of what was solved or trained."""

from pathlib import Path

import lexicone as lx
from lexicone import plots


def test_a_policy_on_its_maze(tmp_path: Path):
    maze = lx.tasks.maze("extended", objectives="path")
    found = lx.solve(maze, lx.Order([-3.0]))
    figure = plots.draw_maze(maze, found.policy, found.occupancy, title="τ₁ = −3")
    assert figure.axes[0].get_title() == "τ₁ = −3"
    written = plots.save(figure, tmp_path / "maze")
    assert sorted(path.name for path in written) == ["maze.pdf", "maze.png", "maze.svg"]


def test_a_policy_as_text():
    maze = lx.tasks.maze("extended", objectives="path")
    found = lx.solve(maze, lx.Order([-3.0]))
    assert "G" in plots.sketch(maze, found.policy, found.occupancy)
    (coin,) = found.randomises
    assert "Up 0.8" in plots.describe_choices(maze, found.policy, coin)


def test_a_front():
    maze = lx.tasks.maze("extended", objectives="path")
    figure = plots.draw_front(lx.pareto(maze, policies="deterministic"))
    assert len(figure.axes) == 1
