import numpy as np

from lexicone import tasks
from lexicone.plots._text import describe_choices, sketch


def test_a_maze_as_it_was_drawn():
    mdp = tasks.maze("S.\nHG")
    assert sketch(mdp).splitlines() == [
        "+---+---+",
        "| S | . |",
        "+---+---+",
        "| H | G |",
        "+---+---+",
    ]


def test_arrows_and_stars():
    mdp = tasks.maze("S.\nHG")
    policy = np.zeros((4, 4))
    policy[:, 1] = 1.0  # Down
    policy[0] = [0, 0.25, 0, 0.75]
    lines = sketch(mdp, policy).splitlines()
    assert lines[1] == "|S→*| ↓ |"
    assert lines[3] == "|H↓ | G |"
    assert describe_choices(mdp, policy, 0) == "Right 0.75, Down 0.25"
    only_start = np.zeros((4, 4))
    only_start[0, 1] = 1.0
    assert sketch(mdp, policy, only_start).splitlines()[1] == "|S→*| . |"


def test_lists_without_a_map():
    mdp = tasks.space_traders()
    assert sketch(mdp).startswith("A → ")
    assert "A: Indirect 1" in sketch(mdp, np.zeros(mdp.num_states, int))
    assert sketch(tasks.garnet(200)).splitlines()[-1].startswith("… and ")
