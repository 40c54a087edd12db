"""Vectors of copies that the user brings: a ``gymnasium.vector.VectorEnv``, in one process or several.

Where a copy begins anew by itself in the step after an end (Gymnasium's next-step autoreset), that step decides nothing
and is masked. Where it does so in the same step, the final observation is in ``info["final_obs"]``.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from lexicone.learning._open_world import OpenedWorld

__all__ = ["Notes", "Stepped", "VectorCopies", "located"]

Notes = Callable[[], dict[str, np.ndarray]]
"""Where copies were at some moment, written down: what `restore` needs."""


class Stepped(NamedTuple):
    """One step of M copies, as in a `Segment`."""

    reward: np.ndarray
    following: np.ndarray
    terminated: np.ndarray
    ended: np.ndarray
    valid: np.ndarray


@contextmanager
def located(where: Callable[[int], str], copy: int) -> Iterator[None]:
    """A ValueError inside says in which copy it was, too, and an exception of the user's functions becomes one."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error}, in {where(copy)}") from error
    except Exception as error:
        raise ValueError(
            f"task: its features or rewards failed in {where(copy)}: {type(error).__name__}: {error}"
        ) from error


class VectorCopies:
    """R vectors of N copies each. ``rows`` ``[M,D]`` is what they show, run by run."""

    def __init__(self, opened: OpenedWorld, key: Sequence[int], runs: int, cap: int) -> None:
        self.opened, self.key, self.cap, self.cut = opened, tuple(key), cap, False
        self.failed = False
        self.vectors = [opened.make() for _ in range(runs)]
        self.count = opened.copies
        self.modes = [_mode(vector) for vector in self.vectors]
        size = runs * self.count
        self.rows = np.zeros((size, opened.facts.inputs), np.dtype(opened.dtype))
        self.last: list[Any] = [None] * size
        self.over = np.zeros(size, bool)  # whose next step only begins anew
        self.time = 0
        self.update = 1
        """Which one is under way, for messages."""

    def begin(self) -> None:
        """All copies at the beginning of an episode."""
        for run, vector in enumerate(self.vectors):
            entropy = (*self.key, run, self.time)
            seed = int(np.random.SeedSequence(entropy).generate_state(1)[0] >> 1)
            observations, _ = self._call(run, "reset", lambda v=vector, s=seed: v.reset(seed=s))
            self._show(run, observations)
        self.over[:] = False

    def step(self, chosen: np.ndarray) -> Any:
        """All copies take one step."""
        opened, size, n = self.opened, len(self.rows), self.count
        actions = opened.spec.to_world(chosen)
        reward = np.zeros((size, opened.facts.objectives))
        following = np.zeros_like(self.rows)
        terminated, ended = np.zeros(size, bool), np.zeros(size, bool)
        valid = ~self.over
        self.time += 1
        self.rows = self.rows.copy()  # what was shown before stays as it was
        for run, vector in enumerate(self.vectors):
            own = slice(run * n, (run + 1) * n)
            found = self._call(run, "step", lambda v=vector, a=actions[own]: v.step(a))
            observations, earned, over, truncated, info = found
            over, truncated = np.asarray(over, bool), np.asarray(truncated, bool)
            before = self.last[own]
            shown = opened.split(observations, n)
            finals: Any = info.get("final_obs", [None] * n)
            for i in range(n):
                m, end = run * n + i, bool(over[i] or truncated[i])
                final = finals[i] if end and self.modes[run] == "same" else shown[i]
                if end and self.modes[run] == "same" and final is None:
                    raise ValueError(
                        f"task: {opened.facts.environment} begins anew in the same step and has no final_obs in info"
                    )
                with located(self._where, m):
                    following[m] = opened.row(final)
                    if valid[m]:
                        reward[m] = opened.paid(earned[i], before[i], actions[m], final)
            done = (over | truncated) & valid[own]
            terminated[own], ended[own] = over & valid[own], done
            if self.modes[run] == "none" and done.any():
                observations, _ = self._call(
                    run, "reset", lambda v=vector, d=done: v.reset(options={"reset_mask": d})
                )
            self._show(run, observations)
            self.over[own] = done if self.modes[run] == "next" else False
        opened.check(reward, following, self.cap, self._where)
        return Stepped(reward, following, terminated, ended, valid)

    def _where(self, m: int) -> str:
        run, copy = divmod(m, self.count)
        return f"copy {copy} of run {run}, update {self.update}, after {self.time} steps in all"

    def _show(self, run: int, observations: Any) -> None:
        shown = self.opened.split(observations, self.count)
        for i, observation in enumerate(shown):
            self.last[run * self.count + i] = observation
            self.rows[run * self.count + i] = self.opened.row(observation)

    def _call(self, run: int, what: str, function: Any) -> Any:
        """Whatever fails in it, also a copy in another process that has died, with the place."""
        try:
            return function()
        except KeyboardInterrupt:
            self.failed = True  # its processes were interrupted, too, and may not answer any more
            raise
        except Exception as error:
            self.failed = True
            raise ValueError(
                f"task: {self.opened.facts.environment} failed in {what}, in the vector of run {run}, after "
                f"{self.time} steps in all: {type(error).__name__}: {error}"
            ) from error

    def mark(self) -> Notes:
        """A vector cannot be brought back to where it was: nothing to remember but how far it is."""
        time = np.array(self.time)
        return lambda: {"replay.time": time}

    def restore(self, notes: dict[str, np.ndarray]) -> None:
        """New episodes: vectors of the user's do not resume to the same bits."""
        time = np.asarray(notes.get("replay.time", ()))
        if time.shape != ():
            raise ValueError("resume: the file does not say what its environments had done")
        self.time = int(time)
        self.begin()

    def close(self) -> None:
        """Close the vectors that were made here."""
        if self.opened.owned:
            for vector in self.vectors:
                _close(vector, self.failed)


def _close(vector: Any, failed: bool) -> None:
    """Also one of whose processes some have died, so that it no longer closes by itself."""
    processes = getattr(vector, "processes", ())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            vector.close(**({"terminate": True} if failed and processes else {}))
    except Exception:
        for process in processes:
            process.terminate()
            process.join()
        for pipe in getattr(vector, "parent_pipes", ()):
            if pipe is not None:
                pipe.close()
        vector.closed = True  # or it would try again when it is forgotten


def _mode(vector: Any) -> str:
    """When a vector begins anew: in the "next" step, in the "same", or never ("none")."""
    mode = (vector.metadata or {}).get("autoreset_mode")
    name = str(getattr(mode, "name", mode)).upper().replace("-", "_")
    return {"SAME_STEP": "same", "DISABLED": "none"}.get(name, "next")
