"""Worlds that are Python code: copies of a Gymnasium environment, side by side, stepped one after another.

Every episode begins with ``reset(seed=…)``, the seed from the key, the run, the copy and the number of the episode; and
what was done since is remembered. So a training that goes on from a file plays the episodes that were under way again,
and ends with the same bits, as far as seeds settle what an environment does.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lexicone.learning._open_world import OpenedWorld
from lexicone.learning._worlds_vector import Notes, Stepped, VectorCopies, located

__all__ = ["OwnCopies", "make_copies"]


def make_copies(opened: OpenedWorld, key: Sequence[int], runs: int, copies: int, cap: int) -> Any:
    """R runs of N copies each: our own, or vectors that the user's function makes."""
    if opened.vector:
        return VectorCopies(opened, key, runs, cap)
    return OwnCopies(opened, key, runs, copies, cap)


class OwnCopies:
    """Environments of our own. ``rows`` ``[M,D]`` is what they show, run by run."""

    def __init__(
        self, opened: OpenedWorld, key: Sequence[int], runs: int, copies: int, cap: int
    ) -> None:
        self.opened, self.key, self.count, self.cap = opened, tuple(key), copies, cap
        size, dtype = runs * copies, np.dtype(opened.dtype)
        self.rows = np.zeros((size, opened.facts.inputs), dtype)
        self.last: list[Any] = [None] * size  # observations, for rewards that are made of them
        self.episode = np.zeros(size, np.int64)
        self.update = 1
        """Which one is under way, for messages."""
        self.taken: list[list[np.ndarray]] = [[] for _ in range(size)]
        self.cut = False
        self.masked = False  # whether an info says what can be done
        self.envs: list[Any] = []
        try:
            for _ in range(size):
                self.envs.append(opened.make())
        except Exception:
            self.close()
            raise

    def begin(self) -> None:
        """All copies at the beginning of their first episode."""
        for m in range(len(self.envs)):
            self._reset(m)

    def step(self, chosen: np.ndarray) -> Stepped:
        """All copies take one step; those whose episode ends begin another."""
        opened, size = self.opened, len(self.envs)
        actions = opened.to_world(chosen)
        count = opened.facts.objectives
        reward = np.zeros((size, count))
        following = np.zeros_like(self.rows)
        terminated, ended = np.zeros(size, bool), np.zeros(size, bool)
        for m, env in enumerate(self.envs):
            try:
                observation, earned, over, truncated, _ = env.step(actions[m])
            except Exception as error:
                raise self._lost(m, "step", error) from error
            self.taken[m].append(chosen[m])
            with located(self._where, m):
                following[m] = opened.row(observation)
                reward[m] = opened.paid(earned, self.last[m], actions[m], observation)
            self.last[m] = observation
            time = len(self.taken[m])
            late = time >= self.cap
            self.cut |= late and not over and not truncated
            terminated[m], ended[m] = over, over or truncated or late
        opened.check(reward, following, self.cap, self._where)
        self.rows = following.copy()
        for m in np.flatnonzero(ended).tolist():
            self.episode[m] += 1
            self._reset(m)
        return Stepped(reward, following, terminated, ended, np.ones(size, bool))

    def _reset(self, m: int) -> None:
        run, copy = divmod(m, self.count)
        entropy = (*self.key, run, copy, int(self.episode[m]))
        seed = int(np.random.SeedSequence(entropy).generate_state(1)[0] >> 1)
        try:
            observation, info = self.envs[m].reset(seed=seed)
        except Exception as error:
            raise self._lost(m, "reset", error) from error
        self.masked |= isinstance(info, dict) and "action_mask" in info
        self.rows[m], self.last[m], self.taken[m] = self.opened.row(observation), observation, []
        if not np.isfinite(self.rows[m]).all():
            raise ValueError(
                f"task: {self.opened.facts.environment} gave an observation that is not finite, "
                f"{self.rows[m].tolist()}, after reset(seed={seed}) in {self._where(m)}"
            )

    def mark(self) -> Notes:
        """Where all copies are now, to be written down when it is needed."""
        episode, lists = self.episode.copy(), list(self.taken)  # a new episode has a new list
        length = np.array([len(taken) for taken in lists])
        parts = self.opened.spec.parts
        kind = np.int32 if self.opened.spec.discrete else np.dtype(self.opened.dtype)

        def notes() -> dict[str, np.ndarray]:
            flat = [row for taken, n in zip(lists, length, strict=True) for row in taken[:n]]
            return {
                "replay.episode": episode,
                "replay.length": length,
                "replay.actions": np.asarray(flat, kind).reshape(-1, parts),
            }

        return notes

    def restore(self, notes: dict[str, np.ndarray]) -> None:
        """Play the episodes again that were under way; of one that then ends before, a new one begins."""
        episode, length, actions = (
            np.asarray(notes.get(f"replay.{name}", ())) for name in ("episode", "length", "actions")
        )
        size, parts = len(self.envs), self.opened.spec.parts
        if not (
            episode.shape == length.shape == (size,)
            and (length >= 0).all()
            and actions.shape == (length.sum(), parts)
        ):
            raise ValueError("resume: the file does not say what its environments had done")
        self.episode = episode.copy()
        for m, own in enumerate(np.split(actions, np.cumsum(length)[:-1])):
            self._reset(m)
            for chosen in own:
                action = self.opened.to_world(chosen[None])[0]
                try:
                    observation, _, over, truncated, _ = self.envs[m].step(action)
                except Exception as error:
                    raise self._lost(m, "step", error) from error
                if over or truncated:  # its seed does not settle what it does
                    self.episode[m] += 1
                    self._reset(m)
                    break
                self.taken[m].append(chosen)
                self.rows[m], self.last[m] = self.opened.row(observation), observation

    def close(self) -> None:
        """Close all copies, also if some fail."""
        for env in self.envs:
            env.close()

    def _where(self, m: int) -> str:
        run, copy = divmod(m, self.count)
        return (
            f"copy {copy} of run {run}, update {self.update}, episode {self.episode[m]}, "
            f"after {len(self.taken[m])} steps"
        )

    def _lost(self, m: int, what: str, error: Exception) -> Exception:
        name = self.opened.facts.environment
        hint = ""
        if self.masked and what == "step":
            hint = (
                ". Its action_mask says what can be done, which only learners on models heed: train on the model, or "
                "let other actions do nothing"
            )
        return ValueError(
            f"task: {name} failed in {what}, {self._where(m)}: {type(error).__name__}: {error}{hint}"
        )
