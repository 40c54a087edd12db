"""Space Traders (Vamplew et al. 2022): fly from planet A to B and back, soon and safely."""

import numpy as np

from lexicone.models._mdp import MDP

__all__ = ["space_traders"]

_FLIGHTS = {  # (planet, action): probability of arriving, time if it arrives, time if it does not
    ("A", "Indirect"): (1.0, 12.0, 0.0),
    ("A", "Direct"): (0.9, 6.0, 1.0),
    ("A", "Teleport"): (0.85, 0.0, 0.0),
    ("B", "Indirect"): (1.0, 10.0, 0.0),
    ("B", "Direct"): (0.9, 8.0, 7.0),
    ("B", "Teleport"): (0.85, 0.0, 0.0),
}


def space_traders() -> MDP:
    """Objectives ``success`` (1 for coming back) and ``time``; two decisions, nine policies.

    Going from A leads to B, from there home; a flight that fails ends the episode.
    """
    planets, actions = ("A", "B"), ("Indirect", "Direct", "Teleport")
    lost = 3
    next_state = np.tile(np.arange(4)[:, None, None], (1, 3, 2))
    probability = np.tile([1.0, 0.0], (4, 3, 1))
    reward = np.zeros((4, 3, 2, 2))
    for s, planet in enumerate(planets):
        for a, action in enumerate(actions):
            arrives, time, wasted = _FLIGHTS[planet, action]
            next_state[s, a] = s + 1, lost
            probability[s, a] = arrives, 1 - arrives
            reward[s, a] = (float(planet == "B"), -time), (0.0, -wasted)
    return MDP(
        next_state=next_state,
        probability=probability,
        reward=reward,
        initial=np.array([1.0, 0, 0, 0]),
        terminal=np.array([False, False, True, True]),
        state_names=(*planets, "home", "lost"),
        action_names=actions,
        objective_names=("success", "time"),
    )
