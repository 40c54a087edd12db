"""Episodes of a finished policy in fresh environments that are Python code."""

from collections.abc import Sequence

import numpy as np

from lexicone.learning._open_world import OpenedWorld
from lexicone.learning._policy_file import Policy
from lexicone.learning._worlds_gym import make_copies

__all__ = ["play_episodes"]

_AT_ONCE = 32  # episodes that run side by side


def play_episodes(
    opened: OpenedWorld, policy: Policy, episodes: int, cap: int, seed: Sequence[int] | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns ``[E,K]``, lengths, and whether each terminated.

    Args:
        opened: the environment.
        policy: what acts, with NumPy.
        episodes: how many. Each copy plays equally many, so that short ones are not preferred.
        cap: on their steps.
        seed: of sampled actions and of episodes; None takes the most probable actions.
    """
    count = opened.copies if opened.vector else min(episodes, _AT_ONCE)
    each = -(-episodes // count)
    generator = None if seed is None else np.random.default_rng(seed)
    copies = make_copies(opened, [0x0E7A1, *(seed or [0])], 1, count, cap)
    found: list[list[tuple[np.ndarray, int, bool]]] = [[] for _ in range(count)]
    total, length = np.zeros((count, opened.facts.objectives)), np.zeros(count, int)
    try:
        copies.begin()
        while min(map(len, found)) < each:
            step = copies.step(policy.choose(copies.rows, generator))
            total += step.reward
            length += step.valid
            for m in np.flatnonzero(step.ended).tolist():
                found[m].append((total[m].copy(), int(length[m]), bool(step.terminated[m])))
                total[m], length[m] = 0.0, 0
    finally:
        copies.close()
    kept = [own[i] for i in range(each) for own in found][:episodes]
    returns, lengths, terminated = zip(*kept, strict=True)
    return np.stack(returns), np.array(lengths), np.array(terminated)
