"""Episodes to look at: rendered as a film where the world can be, else drawn as what was earned, seen and done."""

import dataclasses
import inspect
import os
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lexicone._base.checks import check_flags, check_index, check_path, check_range, check_whole
from lexicone._base.files import check_writable
from lexicone._base.film import FORMATS, Film
from lexicone.learning._environments import EnvSource
from lexicone.learning._named_worlds import find_world
from lexicone.learning._open_world import OpenedWorld
from lexicone.learning._play import play
from lexicone.learning._result import TrainingResult
from lexicone.learning._result_env import TrainedEnv
from lexicone.learning._result_model import Trained
from lexicone.learning._result_segments import TrainedSegments
from lexicone.learning._worlds_gym import make_copies
from lexicone.learning._worlds_jax import CompiledWorld
from lexicone.models._simulation import simulate
from lexicone.plots._episodes import EpisodeCourse, draw_episodes
from lexicone.plots._pictures import draw_picture
from lexicone.plots._style import save

__all__ = ["NothingToRender", "watch"]

_FIGURES = (".png", ".svg", ".pdf")
_WORLD, _MODEL_PACE, _PACE = 0x3A7C4, 4.0, 30.0  # steps per second, where nothing else is said


class NothingToRender(ValueError):
    """A film was asked for, and there are no pictures."""


def watch(
    trained: TrainingResult,
    path: str | os.PathLike[str],
    seed: int = 0,
    *,
    episodes: int = 1,
    greedy: bool = False,
    start: int = 0,
    max_steps: int | None = None,
) -> None:
    """See `TrainingResult.watch`."""
    check_path("path", path)
    suffix = Path(path).suffix.lower()
    if suffix not in (*FORMATS, *_FIGURES):
        raise ValueError(
            f"path: expected the ending {', '.join(FORMATS)} for a film or {', '.join(_FIGURES)} for a figure, got "
            f"{os.fspath(path)!r}"
        )
    check_index("seed", seed, trained.seeds)
    check_flags(greedy=greedy)
    check_range("start", start, 0, 2**32 - 1, whole=True)
    cap = trained.learner.max_steps if max_steps is None else max_steps
    check_whole(episodes=episodes, max_steps=cap)
    check_writable("path", path)
    run = _Showing(trained, int(seed), int(episodes), bool(greedy), int(start), int(cap))
    film = Film() if suffix in FORMATS else None
    courses, pace, states = run.play(film)
    title = f"{run.name}, {type(trained.learner).__name__}, seed {seed}"
    if film is None:
        figure = draw_episodes(courses, trained.order, title, states=states)
        save(figure, Path(path).with_suffix(""), (suffix[1:],))
        return
    if not len(film):
        raise NothingToRender(
            f"path: {run.name} has nothing to render; a .png shows what its episodes earn, see and do"
        )
    film.save(path, pace, _captions(trained, courses))


def _captions(trained: TrainingResult, courses: list[EpisodeCourse]) -> Any:
    """Under each picture: which step, and what the episode has earned so far."""
    order = trained.order
    sums = [
        np.asarray(order.in_units(np.cumsum(np.vstack([0 * c.rewards[:1], c.rewards]), axis=0)))
        for c in courses
    ]

    def words(episode: int, step: int) -> list[str]:
        step = min(step, len(sums[episode]) - 1)
        first = f"episode {episode + 1}, step {step} of {len(sums[episode]) - 1}"
        bounds = [f"   (threshold {level.bound})" for level in order.levels[:-1]]
        return [first] + [
            f"{name}: {value + 0.0:.4g}{bound}"
            for name, value, bound in zip(
                order.labels, sums[episode][step], [*bounds, ""], strict=True
            )
        ]

    return words


@dataclasses.dataclass(frozen=True)
class _Showing:
    """What is to be played."""

    trained: TrainingResult
    seed: int
    episodes: int
    greedy: bool
    start: int
    cap: int

    @property
    def name(self) -> str:
        if isinstance(self.trained, TrainedEnv | TrainedSegments):
            return self.trained.facts.environment
        return "model"

    def play(self, film: Film | None) -> tuple[list[EpisodeCourse], float, tuple[str, ...]]:
        """The episodes, with their pictures added to the film; steps per second; names of a model's states."""
        trained = self.trained
        if isinstance(trained, Trained):
            names = tuple(map(trained.mdp.state_label, range(trained.mdp.num_states)))
            return self._on_model(trained, film), _MODEL_PACE, names
        if isinstance(trained, TrainedEnv):
            opened = trained.world
            source, pace = _filmed(opened.source, film, self.episodes)
            env = source.make()
            try:
                return self._in_env(trained, env), pace(), ()
            finally:
                env.close()
        assert isinstance(trained, TrainedSegments)
        world = trained.world
        if isinstance(world, CompiledWorld):
            return self._in_jax(trained, world), _PACE, ()
        if world.vector:
            return self._in_copies(trained, world), _PACE, ()
        source, pace = _filmed(world.source, film, self.episodes)
        return self._in_copies(trained, dataclasses.replace(world, source=source)), pace(), ()

    def _on_model(self, trained: Trained, film: Film | None) -> list[EpisodeCourse]:
        table = trained.policy(self.seed)
        table = np.eye(table.shape[1])[table.argmax(axis=1)] if self.greedy else table
        found = simulate(
            trained.mdp, table, self.episodes, seed=self.start, max_steps=self.cap, record=True
        )
        assert found.trajectories is not None
        courses = []
        for n, length in enumerate(found.lengths.tolist()):
            states = found.trajectories.states[n, : length + 1]
            done = found.trajectories.actions[n, :length, None].astype(float)
            rewards = found.trajectories.rewards[n, :length]
            courses.append(EpisodeCourse(rewards, states[:, None].astype(float), done))
            if film is not None and trained.mdp.layout is not None:
                for step, state in enumerate(states.tolist()):
                    film.add(draw_picture(trained.mdp, state), n, step)
                film.end()
        return courses

    def _in_env(self, trained: TrainedEnv, env: Any) -> list[EpisodeCourse]:
        policy = trained.policy(self.seed, greedy=self.greedy)
        generator, courses = np.random.default_rng([self.start, self.seed]), []
        policy = dataclasses.replace(policy, generator=generator)
        opened = trained.world

        def choose(rows: np.ndarray, time: int) -> np.ndarray:
            shares = np.exp(np.asarray(policy.log_table(rows), float))[0]
            best = (
                shares.argmax()
                if self.greedy
                else generator.choice(len(shares), p=shares / shares.sum())
            )
            return np.array([best])

        for _ in range(self.episodes):
            played = play(opened, [env], choose, [int(generator.integers(2**31))], self.cap)
            done = played.action.astype(float) + opened.facts.first_action
            courses.append(EpisodeCourse(played.reward[:, 0], played.seen[:, 0], done))
        return courses

    def _in_copies(self, trained: TrainedSegments, opened: OpenedWorld) -> list[EpisodeCourse]:
        policy = trained.policy(self.seed)
        generator = None if self.greedy else np.random.default_rng([self.start, self.seed])
        copies = make_copies(opened, [_WORLD, self.start], 1, 1, self.cap)
        courses: list[EpisodeCourse] = []
        try:
            copies.begin()
            seen, done, rewards = [copies.rows[0].copy()], [], []
            while len(courses) < self.episodes:
                chosen = policy.choose(copies.rows, generator)
                step = copies.step(chosen)
                if not step.valid[0]:
                    seen = [copies.rows[0].copy()]
                    continue
                seen.append(step.following[0].copy())
                done.append(np.asarray(opened.spec.to_world(chosen)[0], float).reshape(-1))
                rewards.append(step.reward[0].copy())
                if step.ended[0]:
                    courses.append(EpisodeCourse(*map(np.stack, (rewards, seen, done))))
                    seen, done, rewards = [copies.rows[0].copy()], [], []
        finally:
            copies.close()
        return courses

    def _in_jax(self, trained: TrainedSegments, world: CompiledWorld) -> list[EpisodeCourse]:
        policy = trained.policy(self.seed)
        generator = None if self.greedy else np.random.default_rng([self.start, self.seed])
        reset, step = jax.jit(world.reset), jax.jit(world.step)
        key, courses = jax.random.key(self.start), []
        for n in range(self.episodes):
            own = jax.random.fold_in(key, n)
            row, state = reset(jax.random.fold_in(own, 0))
            seen, done, rewards = [np.asarray(row)], [], []
            for time in range(1, self.cap + 1):
                chosen = policy.choose(np.asarray(seen[-1], float)[None], generator)
                action = world.actions.to_world(chosen)[0]
                row, state, reward, over, cut, _ = step(
                    jax.random.fold_in(own, time), state, action
                )
                seen.append(np.asarray(row))
                done.append(np.asarray(action, float).reshape(-1))
                rewards.append(np.asarray(reward))
                if over or cut:
                    break
            courses.append(EpisodeCourse(*map(np.stack, (rewards, seen, done))))
        return courses


def _filmed(source: EnvSource, film: Film | None, episodes: int) -> tuple[EnvSource, Any]:
    """The same environment, whose pictures go to the film, and a function that says how many it takes in a second."""
    if film is None:
        return source, lambda: _PACE
    made: list[_Filmed] = []

    def make() -> Any:
        made.append(_Filmed(_make_to_render(source), film, episodes))
        return made[-1]

    return EnvSource(make, source.id, source.options), lambda: made[0].pace


def _make_to_render(source: EnvSource) -> Any:
    """An environment that makes pictures, if it can be told to; no window is opened, nothing is heard."""
    for driver in ("SDL_VIDEODRIVER", "SDL_AUDIODRIVER"):
        os.environ.setdefault(driver, "dummy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if source.id is not None:
                again: Any = find_world(source.id, {**source.options, "render_mode": "rgb_array"})
                return again.make()
            inspect.signature(source.make).bind(render_mode="rgb_array")
            make: Any = source.make
            return make(render_mode="rgb_array")
        except (TypeError, ValueError, AttributeError, ImportError):
            return source.make()


class _Filmed:
    """An environment whose every step is photographed."""

    def __init__(self, env: Any, film: Film, episodes: int) -> None:
        self._env, self._film, self._episodes = env, film, episodes
        self._episode, self._step = -1, 0

    @property
    def pace(self) -> float:
        """Steps per second, as the environment says."""
        said = (getattr(self._env, "metadata", None) or {}).get("render_fps")
        return float(said) if isinstance(said, int | float) and said > 0 else _PACE

    def reset(self, **options: Any) -> Any:
        found = self._env.reset(**options)
        self._film.end()
        self._episode, self._step = self._episode + 1, 0
        self._shoot()
        return found

    def step(self, action: Any) -> Any:
        found = self._env.step(action)
        self._step += 1
        self._shoot()
        if found[2] or found[3]:
            self._film.end()
        return found

    def _shoot(self) -> None:
        if not 0 <= self._episode < self._episodes:
            return
        try:
            picture = self._env.render()
        except Exception as error:  # whatever stands between an environment and its pictures
            if not isinstance(error, NotImplementedError):
                warnings.warn(
                    f"task: cannot be rendered: {type(error).__name__}: {error}", stacklevel=2
                )
            self._episodes = 0
            return
        if isinstance(picture, np.ndarray) and picture.ndim == 3 and picture.shape[2] == 3:
            self._film.add(picture, self._episode, self._step)

    def close(self) -> None:
        self._film.end()
        self._env.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)
