"""Episodes in environments that are Python code: a batch of them, one step of all after another."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from lexicone.learning._environments import Env, OpenedEnv, check_finite, read_reward, read_row
from lexicone.learning._overflow import largest_reward

__all__ = ["Played", "play"]


class Played(NamedTuple):
    """N episodes, time first, for as many steps as the longest took."""

    seen: Float[np.ndarray, "t+1 N D"]
    """Before every step, and at the end where each episode stopped."""
    action: Int[np.ndarray, "t N"]
    """Counted from 0."""
    reward: Float[np.ndarray, "t N K"]
    alive: Bool[np.ndarray, "t N"]
    terminated: Bool[np.ndarray, " N"]


def play(
    opened: OpenedEnv,
    envs: Sequence[Env],
    choose: Callable[[np.ndarray, int], np.ndarray],
    seeds: Sequence[int],
    max_steps: int,
    where: str = "",
) -> Played:
    """One episode in each environment.

    An episode that the environment cuts off, or that has taken ``max_steps``, has stopped but not terminated.

    Args:
        opened: what is known of the environment.
        envs: copies of it, at least as many as seeds.
        choose: ``choose(rows [N,D], time)`` says what all do next, counted from 0.
        seeds: one for each episode.
        max_steps: the cap on an episode.
        where: which episodes these are, for messages.
    """
    facts, places, count = opened.facts, list(opened.places), len(seeds)
    rows = np.zeros((count, facts.inputs), jnp.zeros(()).dtype)
    going, terminated = np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
    for n, seed in enumerate(seeds):
        with _located(facts.environment, "reset", n, where, 0):
            found = envs[n].reset(seed=int(seed))
        rows[n] = read_row(opened, found[0])
    check_finite("observation", rows, facts.environment, 0, where)
    seen, action, reward, alive = [rows.copy()], [], [], []
    most = largest_reward(rows.dtype, max_steps)
    for time in range(max_steps):
        chosen = choose(rows, time)
        paid = np.zeros((count, facts.objectives))
        alive.append(going.copy())
        for n in np.flatnonzero(going).tolist():
            with _located(facts.environment, "step", n, where, time):
                taken = envs[n].step(facts.first_action + int(chosen[n]))
            observation, earned, ended, cut, _ = taken
            rows[n] = read_row(opened, observation)
            paid[n] = read_reward(earned, facts.environment, facts.objectives)[places]
            terminated[n] = ended
            going[n] = not (ended or cut)
        check_finite("observation", rows, facts.environment, time + 1, where)
        check_finite("reward", paid, facts.environment, time + 1, where)
        _check_size(paid, most, facts.environment, where)
        seen.append(rows.copy())
        action.append(np.where(alive[-1], chosen, 0))
        reward.append(paid)
        if not going.any():
            break
    return Played(np.stack(seen), np.stack(action), np.stack(reward), np.stack(alive), terminated)


@contextmanager
def _located(name: str, what: str, episode: int, where: str, time: int) -> Iterator[None]:
    """Whatever an environment raises, with the place."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"task: {name} failed in {what}, episode {episode}{where}, after {time} steps: "
            f"{type(error).__name__}: {error}"
        ) from error


def _check_size(paid: np.ndarray, most: float, name: str, where: str) -> None:
    """A ValueError for the first reward that is too large to be learned from."""
    if np.abs(paid).max() > most:
        n, k = map(int, np.argwhere(np.abs(paid) > most)[0])
        raise ValueError(
            f"task: {name} paid {paid[n, k]:.3g} of objective {k + 1} in episode {n}{where}; learners with "
            f"{np.finfo(jnp.zeros(()).dtype).bits} bits and such long episodes take at most {most:.3g} in a step"
        )
