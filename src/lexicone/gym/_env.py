"""An `MDP` as a Gymnasium environment with MO-Gymnasium's conventions: vector rewards, their space.

Importing this module registers every task, so that ``gymnasium.make("lexicone/maze-v0",
drawing="extended")`` works. Use ``disable_env_checker=True`` (or ``mo_gymnasium.make``), as
Gymnasium's own checker expects one reward.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError(
        f"lexicone.gym needs Gymnasium: pip install 'lexicone[gym]' ({error})"
    ) from error

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import (
    check_index,
    check_kind,
    check_range,
    check_text,
    check_type,
)
from lexicone._base.memory import check_memory
from lexicone.models._mdp import MDP, check_model
from lexicone.plots._pictures import draw_picture, draw_text
from lexicone.tasks import TASKS, make

__all__ = ["MDPEnv", "MDPVectorEnv", "make_env", "make_vector_env", "register_tasks"]


class MDPEnv(gymnasium.Env[np.int64, int | np.integer]):
    """One episode at a time. Observations are state numbers, rewards float32 vectors ``[K]``.

    ``reward_names`` are the names of the model's objectives, with which those of an `Order` are matched.
    ``max_steps`` truncates an episode (None: never). ``render_mode`` is ``"ansi"`` for text or
    ``"rgb_array"``.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self, mdp: MDP, *, max_steps: int | None = None, render_mode: str | None = None
    ) -> None:
        check_model(mdp)
        _check_options(max_steps, render_mode, self.metadata["render_modes"])
        self.mdp = mdp
        self.max_steps = max_steps
        self.render_mode = render_mode
        self.observation_space = spaces.Discrete(mdp.num_states)
        self.action_space = spaces.Discrete(mdp.num_actions)
        self.reward_space = _reward_space(mdp)
        self.reward_names = mdp.objective_names
        self.reward_dim = mdp.num_objectives
        self.state = -1
        self.time = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Begin an episode; ``options={"state": s}`` begins it there."""
        _check_reset(seed, options)
        super().reset(seed=None if seed is None else int(seed))
        if options and "state" in options:
            check_index("options['state']", options["state"], self.mdp.num_states)
            self.state = int(options["state"])
        else:
            self.state = int(_draw_indices(self.np_random, self.mdp.initial[None])[0])
        self.time = 0
        return np.int64(self.state), self._info()

    def step(self, action: int | np.integer) -> tuple[np.int64, Any, bool, bool, dict[str, Any]]:
        """Take an action."""
        if self.state < 0:
            raise gymnasium.error.ResetNeeded("call reset before step")
        check_index("action", action, self.mdp.num_actions)
        if not self.mdp.available[self.state, action]:
            raise ValueError(
                f"action: {self.mdp.action_label(int(action))} is not available in "
                f"{self.mdp.state_label(self.state)}"
            )
        branch = int(
            _draw_indices(self.np_random, self.mdp.probability[self.state, action][None])[0]
        )
        reward = self.mdp.reward[self.state, action, branch].astype(np.float32)
        self.state = int(self.mdp.next_state[self.state, action, branch])
        self.time += 1
        terminated = bool(self.mdp.terminal[self.state])
        capped = self.max_steps is not None and self.time >= self.max_steps
        return np.int64(self.state), reward, terminated, capped and not terminated, self._info()

    def _info(self) -> dict[str, Any]:
        """Which actions are available, where not all of them are everywhere."""
        if self.mdp.available.all():
            return {}
        return {"action_mask": self.mdp.available[self.state].astype(np.int8)}

    def render(self) -> Any:
        """The map with the agent on it, or the state's name where there is no map."""
        if self.render_mode == "ansi":
            return draw_text(self.mdp, self.state)
        if self.render_mode == "rgb_array":
            return draw_picture(self.mdp, self.state)
        return None


class MDPVectorEnv(VectorEnv):
    """Many copies of `MDPEnv`, moved together by table lookups; rewards are ``[num_envs, K]``.

    A copy that has ended begins anew at the following step, which ignores its action and pays 0
    (Gymnasium's ``AutoresetMode.NEXT_STEP``).
    """

    metadata = {  # noqa: RUF012
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        mdp: MDP,
        num_envs: int = 1,
        *,
        max_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        check_model(mdp)
        check_range("num_envs", num_envs, 1, whole=True)
        num_envs = int(num_envs)
        check_memory("num_envs", 100 * num_envs, f"{num_envs} copies")
        _check_options(max_steps, render_mode, self.metadata["render_modes"])
        self.mdp = mdp
        self.num_envs = num_envs
        self.max_steps = max_steps
        self.render_mode = render_mode
        self.single_observation_space = spaces.Discrete(mdp.num_states)
        self.single_action_space = spaces.Discrete(mdp.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.reward_space = _reward_space(mdp)
        self.reward_names = mdp.objective_names
        self.states = np.full(num_envs, -1, dtype=np.int64)
        self.times = np.zeros(num_envs, dtype=np.int64)
        self.ended = np.zeros(num_envs, dtype=bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin all episodes, or those in ``options["reset_mask"]``."""
        _check_reset(seed, options)
        super().reset(seed=None if seed is None else int(seed))
        mask = np.ones(self.num_envs, dtype=bool)
        if options and options.get("reset_mask") is not None:
            mask = as_numbers("options['reset_mask']", options["reset_mask"]) > 0
            if mask.shape != (self.num_envs,):
                raise ValueError(
                    f"options['reset_mask']: expected shape ({self.num_envs},), got {mask.shape}"
                )
        self._begin(mask)
        self.ended[mask] = False
        return self.states.copy(), self._info()

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take one action per copy."""
        try:
            actions = np.asarray(actions)
        except (TypeError, ValueError, RuntimeError):
            raise ValueError(f"actions: expected whole numbers, got {actions!r}") from None
        if (self.states < 0).any():
            raise gymnasium.error.ResetNeeded("call reset before step")
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(f"actions: expected {self.num_envs} whole numbers, got {actions!r}")
        if ((actions < 0) | (actions >= self.mdp.num_actions)).any():
            raise ValueError(f"actions: expected 0 to {self.mdp.num_actions - 1}, got {actions}")
        missing = ~self.mdp.available[self.states, actions] & ~self.ended
        if missing.any():
            i = int(np.argmax(missing))
            raise ValueError(
                f"actions[{i}]: {self.mdp.action_label(int(actions[i]))} is not available in "
                f"{self.mdp.state_label(int(self.states[i]))}"
            )
        fresh = self.ended
        branch = _draw_indices(self.np_random, self.mdp.probability[self.states, actions])
        reward = self.mdp.reward[self.states, actions, branch].astype(np.float32)
        reward[fresh] = 0.0
        self.states = self.mdp.next_state[self.states, actions, branch].astype(np.int64)
        self.times += 1
        self._begin(fresh)
        terminated = self.mdp.terminal[self.states] & ~fresh
        truncated = np.zeros_like(terminated)
        if self.max_steps is not None:
            truncated = (self.times >= self.max_steps) & ~terminated & ~fresh
        self.ended = terminated | truncated
        return self.states.copy(), reward, terminated, truncated, self._info()

    def _info(self) -> dict[str, Any]:
        """Which actions are available in each copy, where not all of them are everywhere."""
        if self.mdp.available.all():
            return {}
        return {"action_mask": self.mdp.available[self.states].astype(np.int8)}

    def render(self) -> Any:
        """One frame per copy."""
        if self.render_mode is None:
            return None
        draw = draw_text if self.render_mode == "ansi" else draw_picture
        return tuple(draw(self.mdp, int(s)) for s in self.states)

    def _begin(self, mask: np.ndarray) -> None:
        count = int(mask.sum())
        first = np.broadcast_to(self.mdp.initial, (count, self.mdp.num_states))
        self.states[mask] = _draw_indices(self.np_random, first)
        self.times[mask] = 0


def make_env(
    task: str, *, max_steps: int | None = None, render_mode: str | None = None, **options: Any
) -> MDPEnv:
    """A task of the registry as an environment; ``options`` are the task's own."""
    check_text("task", task)
    return MDPEnv(make(task, **options), max_steps=max_steps, render_mode=render_mode)


def make_vector_env(
    task: str,
    num_envs: int = 1,
    *,
    max_steps: int | None = None,
    render_mode: str | None = None,
    **options: Any,
) -> MDPVectorEnv:
    """A task of the registry as many environments that are moved together.

    Args:
        task: its name.
        num_envs: how many.
        max_steps: truncates an episode; None: never.
        render_mode: ``"ansi"``, ``"rgb_array"`` or None.
        options: the task's own.
    """
    check_text("task", task)
    return MDPVectorEnv(
        make(task, **options), num_envs, max_steps=max_steps, render_mode=render_mode
    )


def register_tasks() -> None:
    """Register ``lexicone/<task>-v0`` for every task; a second call does nothing."""
    for name in TASKS:
        identity = f"lexicone/{name.replace('_', '-')}-v0"
        if identity not in gymnasium.registry:
            gymnasium.register(
                identity,
                entry_point="lexicone.gym:make_env",
                vector_entry_point="lexicone.gym:make_vector_env",
                kwargs={"task": name},
            )


def _check_options(max_steps: int | None, render_mode: str | None, modes: Sequence[str]) -> None:
    if max_steps is not None:
        check_range("max_steps", max_steps, 1, whole=True)
    if render_mode is not None:
        check_kind("render_mode", render_mode, modes)


def _check_reset(seed: Any, options: Any) -> None:
    if seed is not None:
        check_range("seed", seed, 0, whole=True)
    if options is not None:
        check_type("options", options, dict, "a dict")


def _reward_space(mdp: MDP) -> spaces.Box:
    """From the least to the largest reward that can be paid."""
    paid = mdp.reward[mdp.probability > 0].astype(np.float32)
    return spaces.Box(paid.min(axis=0), paid.max(axis=0), dtype=np.float32)


def _draw_indices(generator: np.random.Generator, probability: np.ndarray) -> np.ndarray:
    """One index per row of ``[n, m]`` probabilities; those of probability 0 are never drawn."""
    if probability.shape[1] == 1:
        return np.zeros(len(probability), dtype=int)
    total = np.cumsum(probability, axis=1)
    draw = generator.random((len(probability), 1)) * total[:, -1:]
    return np.minimum((draw >= total).sum(axis=1), probability.shape[1] - 1)


register_tasks()
