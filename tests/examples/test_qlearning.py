"""Thresholded lexicographic Q-learning: what a rule ends with, from the model and from samples."""

import numpy as np
import pytest

import lexicone as lx

pytestmark = pytest.mark.float32


def test_a_preset_may_end_beside_the_optimum():
    maze, order = lx.tasks.maze("small"), lx.Order([0.7])  # reach the goal; then avoid bad tiles
    found = lx.tlq_iterate(maze, order, "gabor", gamma=0.9)
    assert found.status == "converged"
    np.testing.assert_allclose(found.values, [0.9, -5.0], atol=1e-5)  # straight through a bad tile
    np.testing.assert_allclose(lx.solve(maze, order, gamma=0.9).values, [0.7, 0.0], atol=1e-5)


def test_learned_from_samples_it_ends_with_the_same():
    maze, order = lx.tasks.maze("small"), lx.Order([0.7])
    learned = lx.tlq(maze, order, "gabor", gamma=0.9, seeds=3, steps=20_000)
    assert learned.values.shape == (3, 2)
    np.testing.assert_allclose(learned.values, np.tile([0.9, -5.0], (3, 1)), atol=1e-4)


def test_the_papers_verdict():
    maze, order = lx.tasks.maze("small"), lx.Order([0.7])
    first, last = lx.classify(maze, order, gamma=0.9)
    assert first.constrained
    assert not last.constrained
    assert lx.predict(maze, order, gamma=0.9).works is not True


def test_a_rule_is_put_together_from_parts():
    rule = lx.preset("gabor", ties="random")
    assert isinstance(rule, lx.Rule)
    assert rule.ties == "random"
