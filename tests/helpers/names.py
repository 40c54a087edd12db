"""States and actions by their names."""

from lexicone.models._mdp import MDP


def state_number(mdp: MDP, name: str) -> int:
    assert mdp.state_names is not None
    return mdp.state_names.index(name)


def action_number(mdp: MDP, name: str) -> int:
    assert mdp.action_names is not None
    return mdp.action_names.index(name)


def state_name(mdp: MDP, state: int) -> str:
    assert mdp.state_names is not None
    return mdp.state_names[state]
