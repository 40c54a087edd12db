"""The subcommands for learners: ``lexicone train`` and ``lexicone evaluate``."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional

from lexicone._base.checks import check_range
from lexicone._base.files import write_text
from lexicone._base.text import plain_numbers, read_assignment, vector_text
from lexicone.cli._options import (
    Threshold,
    build,
    check_folder,
    make_order,
    radians,
    read_objectives,
    read_option,
)
from lexicone.learning._defaults import SEEDS, TRAINING_FILE
from lexicone.models._mdp import MDP
from lexicone.order import Order

if TYPE_CHECKING:
    from lexicone.exact._solve import Solution
    from lexicone.learning._result_env import TrainedEnv
    from lexicone.learning._result_model import Trained
    from lexicone.learning._result_segments import TrainedSegments

__all__ = ["Evaluate", "Train", "judge", "make_learner"]

_LEAST_DRAWN = 0.01  # actions less likely than that are not drawn


@dataclass(frozen=True)
class Train:
    """Learn a policy for a task from samples, several seeds at once, and compare it with the exact optimum.

    Writes training.safetensors (everything, for `lexicone evaluate` and lx.load), results.json and figures.
    Interrupted or killed, it goes on with --resume and ends as if nothing had happened. The task may also be an
    environment of Gymnasium or MO-Gymnasium, or a class of your own; there is no exact optimum of that to compare with.

    Examples:
      lexicone train maze:concave --thresholds 0.5 --settings criterion=episode --episodes 4000
      lexicone train maze:extended --set objectives=path --thresholds -3
      lexicone train maze:extended --set objectives=path --thresholds 0 --learner reinforce --settings gamma=0.91
      lexicone train space-traders --thresholds 0.88 --out runs/traders --resume
      lexicone train deep-sea-treasure-v0 --thresholds 20 --seeds 2 --steps 200000
      lexicone train robots.py:Arm --set speed=2 --thresholds -0.5 2.3 --steps 300000
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt, road_trip:FILE.csv, a model saved as FILE.npz; or an environment: its id,
    MODULE:ID, or FILE.py:NAME for a class or a function that makes one, or for a world in JAX."""
    thresholds: tuple[Threshold, ...]
    """K−1 thresholds on returns, most important first; inf means: maximise. Of a cost: at-most:200."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE; for an environment those that it is made with."""
    objectives: tuple[str, ...] = ()
    """The task's objectives in this sequence, by name or number from 1; those of a model not listed are left out."""
    learner: str = "ppo"
    """Which learner: ppo, a2c, or reinforce, the paper's algorithm."""
    settings: tuple[str, ...] = ()
    """Settings of the learner, as NAME=VALUE; a wrong name lists them all."""
    delta_deg: float | None = None
    """Conservativeness Δ in degrees, 0 to below 90, instead of the learner's own."""
    episodes: int | None = None
    """How many episodes each seed learns from: on models, or with reinforce. By default 20,000."""
    steps: int | None = None
    """How many steps each seed learns from, in environments. By default 300,000."""
    seeds: int = SEEDS
    """How many independent runs."""
    seed: int = 0
    """Where all randomness comes from."""
    out: Path = Path("runs/train")
    """The folder to write to."""
    resume: bool = False
    """Go on from the folder's training.safetensors, if it is there."""
    json: bool = False
    """Print JSON instead of a progress bar and a table."""

    def run(self, console: Console) -> None:
        """Trains, judges, draws."""
        check_folder(self.out)
        learner = make_learner(self.learner, self.settings, self.delta_deg)
        task, order = _find(self.task, self.set, self.objectives, self.thresholds, learner)
        from lexicone.learning._train import train

        trained = train(
            task,
            order,
            learner,
            seeds=self.seeds,
            episodes=self.episodes,
            steps=self.steps,
            seed=self.seed,
            progress=not self.json,
            checkpoint=self.out / TRAINING_FILE,
            resume=self.resume,
        )
        exact = _solve(trained)
        results = judge(trained, exact, 100, False, 1)
        write_text(self.out / "results.json", json.dumps(results, indent=1) + "\n")
        _draw(trained, exact, results, self.task, self.out)
        if self.json:
            print(json.dumps(results, indent=2))
            return
        _print_table(results, trained.order, console)
        console.print(f"{TRAINING_FILE}, results.json and figures (PNG, SVG) are in {self.out}/")


@dataclass(frozen=True)
class Evaluate:
    """Run trained policies again, and compare them with the exact optimum where the task is a model.

    Examples:
      lexicone evaluate runs/train
      lexicone evaluate runs/train --episodes 1000 --greedy --json
    """

    path: Positional[Path]
    """A folder that `lexicone train` wrote to, or a saved training."""
    episodes: int = 100
    """Evaluation episodes per seed."""
    greedy: bool = False
    """Take the most probable action instead of sampling; where nothing rewards speed, that can loop."""
    seed: int = 0
    """Of the evaluation."""
    task: str | None = None
    """The id of the environment, where it is MODULE:NAME: a file may not ask for a module to be imported."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self, console: Console) -> None:
        """Evaluates and prints."""
        check_range("--episodes", self.episodes, 1)
        from lexicone.learning._saved import load

        trained = load(self.path, task=self.task)
        results = judge(trained, _solve(trained), self.episodes, self.greedy, self.seed)
        if self.json:
            print(json.dumps(results, indent=2))
            return
        done, total = int(trained.run.update), trained.updates
        if done < total:
            console.print(f"The training is not finished: {done} of {total} updates are done.")
        _print_table(results, trained.order, console)


def make_learner(name: str, settings: tuple[str, ...], delta_deg: float | None = None) -> Any:
    """The learner that the command line describes."""
    from lexicone.learning.algos._registry import LEARNERS

    known = {key.lower(): key for key in LEARNERS}
    if name.lower() not in known:
        raise ValueError(f"--learner: there is no {name!r}; there are {', '.join(known)}")
    kind = known[name.lower()]
    cls = LEARNERS[kind]
    fields = {field.name: field for field in dataclasses.fields(cls)}
    given: dict[str, Any] = {}
    for setting in settings:
        key, value = read_assignment(setting) or ("", None)
        if key not in fields:
            listed = ", ".join(f"{n}={field.default!r}" for n, field in fields.items())
            raise ValueError(f"--settings: {setting!r} is none of NAME=VALUE with {listed}")
        given[key] = _as_setting(value, fields[key].type)
    if delta_deg is not None:
        if "delta" in given:
            raise ValueError("--delta-deg: delta is among the settings already")
        given["delta"] = radians(delta_deg)
    return cls(**given)


def _as_setting(value: Any, kind: Any) -> Any:
    """A value as its setting takes it; one number may stand for a tuple of one. The learner checks the rest."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower(), value)
    if kind is float and type(value) is int:
        return float(value)
    if "tuple" in str(kind) and isinstance(value, int | float):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def judge(
    trained: "Trained | TrainedEnv | TrainedSegments",
    exact: "Solution | None",
    episodes: int,
    greedy: bool,
    seed: int,
) -> dict[str, Any]:
    """Every seed's satisfaction, and for a model exact values and gap to the optimum, as JSON can hold them.

    Args:
        trained: on a model or in an environment.
        exact: the optimum of the model; None for an environment.
        episodes: of the evaluation, for each seed.
        greedy: whether to take the most probable action instead of sampling.
        seed: of the evaluation.
    """
    from lexicone.learning._result_env import TrainedEnv
    from lexicone.learning._result_segments import TrainedSegments

    found = trained.evaluate(episodes, greedy=greedy, seed=seed)
    results = {
        "objectives": list(trained.order.labels),
        "thresholds": plain_numbers(trained.order.thresholds),
        "learner": type(trained.learner).__name__,
        "episodes": _last(trained.history["episodes"]),
        "steps": _last(trained.history["steps"]),
        "evaluation_episodes": episodes,
        "greedy": greedy,
        "max_steps": trained.learner.max_steps,
        "success": found.success.tolist(),
        "satisfied": found.satisfied.tolist(),
        "returns": found.returns.mean(axis=1).tolist(),
        "terminated": found.terminated.mean(axis=1).tolist(),
    }
    if isinstance(trained, TrainedEnv | TrainedSegments):
        return {**results, "environment": trained.facts.environment}
    assert exact is not None
    return {
        **results,
        "values": [plain_numbers(row) for row in trained.values(greedy=greedy)],
        "gap": [plain_numbers(row) for row in trained.gap(exact, greedy=greedy)],
        "exact": plain_numbers(exact.values),
        "exact_status": str(exact.status),
    }


def _last(counts: Any) -> Any:
    """By the end: of all runs ``[L]``, or of each ``[N,L]``."""
    return np.asarray(counts)[..., -1:].sum(axis=-1).tolist()


def _find(
    task: str,
    options: tuple[str, ...],
    objectives: tuple[str, ...],
    thresholds: tuple[Threshold, ...],
    learner: Any,
) -> tuple[Any, Order]:
    """The model or the environment that is meant, and the order of its objectives."""
    from lexicone.tasks import TASKS

    if _is_model(task):
        mdp = build(task, options, objectives)
        return mdp, make_order(mdp, thresholds, task)
    from lexicone.learning._environments import UnknownEnvironment, open_env
    from lexicone.learning._named_worlds import NamedWorld, find_world
    from lexicone.learning._open_world import open_world
    from lexicone.learning._worlds_jax import names_in_jax
    from lexicone.learning.algos._actor_critic import ActorCritic

    try:
        found = find_world(task, dict(map(read_option, options)))
        if isinstance(
            found, NamedWorld
        ):  # in JAX, where nothing but names tells how many there are
            names = names_in_jax(found.world)
            count = len(thresholds) + 1 if names is None else len(names)
            return found, _order_of_rewards(task, names, count, objectives, thresholds)
        env = open_world(found, None) if isinstance(learner, ActorCritic) else open_env(found)
    except (UnknownEnvironment, ImportError) as error:
        raise ValueError(
            f"task: there is no task {task!r}; there are {', '.join(TASKS)}. Nor is there an environment to train in: "
            f"{str(error).removeprefix('task: ')}"
        ) from None
    count, names = env.facts.objectives, env.facts.reward_names
    return env, _order_of_rewards(task, names, count, objectives, thresholds)


def _order_of_rewards(
    task: str,
    names: tuple[str, ...] | None,
    count: int,
    objectives: tuple[str, ...],
    thresholds: tuple[Threshold, ...],
) -> Order:
    """Of an environment that pays ``count`` rewards, in the sequence of ``--objectives``."""
    if len(thresholds) != count - 1:
        raise ValueError(
            f"--thresholds: {task} has {count} objectives and takes a threshold for each but the last; "
            f"got {len(thresholds)}"
        )
    if objectives:
        if names is None:
            raise ValueError(f"--objectives: the rewards of {task} have no names")
        places = read_objectives(objectives, names, count, task)
        if len(places) != count:
            raise ValueError(f"--objectives: expected all of {', '.join(names)}, in some sequence")
        names = tuple(names[k] for k in places)
    return Order(thresholds, names=names)


def _is_model(task: str) -> bool:
    from lexicone.tasks import find

    try:
        return task.endswith(".npz") or bool(find(task.partition(":")[0]))
    except ValueError:
        return False


def _solve(trained: "Trained | TrainedEnv | TrainedSegments") -> "Solution | None":
    """The exact optimum of a model; None for an environment."""
    from lexicone.exact._solve import solve
    from lexicone.learning._result_model import Trained

    return solve(trained.mdp, trained.order) if isinstance(trained, Trained) else None


def _print_table(results: dict[str, Any], order: Order, console: Console) -> None:
    """In the order's units; results have totals, larger is better."""
    table = Table()
    table.add_column("seed", justify="right")
    for name, level in zip(order.labels, order.levels[:-1], strict=False):
        table.add_column(f"{name} {level.bound}", justify="right")
    known = "gap" in results
    for column in ("all", "mean returns"):
        table.add_column(column, justify="right")
    if known:
        table.add_column("gap to the exact optimum", justify="right")
    for i, share in enumerate(results["success"]):
        met = [f"{rate:.0%}" for rate in results["satisfied"][i]]
        vectors = [_shown(order, results["returns"][i])]
        if known:  # a gap has no sign of its own: positive is worse
            vectors.append(
                _shown(order, results["gap"][i]) * [level.sign for level in order.levels]
            )
        numbers = (vector_text(vector, 3, brackets=False) for vector in vectors)
        table.add_row(str(i), *met, f"{share:.0%}", *numbers)
    console.print(table)
    how = "greedy actions" if results["greedy"] else "sampled actions"
    explanation = f"Shares of {results['evaluation_episodes']} episodes ({how})."
    if known:
        optimum = vector_text(_shown(order, results["exact"]), 3, brackets=False)
        explanation += (
            f" The gap is that of exact expected values within {results['max_steps']} steps, both clipped at the "
            f"thresholds, to the optimum {optimum} ({results['exact_status']})."
        )
    else:
        explanation += f" Episodes have at most {results['max_steps']} steps."
    console.print(explanation, highlight=False)


def _shown(order: Order, numbers: list[Any]) -> np.ndarray:
    """Values of a JSON file, where infinities are text, in the order's units."""
    return np.asarray(order.in_units([float(number) for number in numbers]))


def _draw(
    trained: "Trained | TrainedEnv | TrainedSegments",
    exact: "Solution | None",
    results: dict[str, Any],
    task: str,
    out: Path,
) -> None:
    from lexicone import plots
    from lexicone.learning._result_model import Trained

    title = f"{task}, {results['learner']}, {trained.seeds} seeds"
    figure = plots.history(trained.history, trained.order, title)
    plots.save(figure, out / "history")
    if exact is None or not isinstance(trained, Trained) or trained.mdp.layout is None:
        return
    from lexicone.plots._side_by_side import Panel, beside

    best = int(np.argmax(results["success"]))
    table = trained.policy(best)
    table = np.where(table < _LEAST_DRAWN, 0.0, table)
    table /= table.sum(axis=1, keepdims=True)
    either = np.broadcast_to(_visited(trained.mdp, table, exact)[:, None], table.shape)
    panels = [
        Panel(f"seed {best}: met {results['success'][best]:.0%}", table, either),
        Panel("exact, in expectation", exact.policy, either),
    ]
    plots.save(beside(trained.mdp, panels), out / "policy")


def _visited(mdp: MDP, table: np.ndarray, exact: "Solution") -> np.ndarray:
    """The states that the learned or the exact policy comes to."""
    from lexicone.models._reachability import reachable

    learned = reachable(mdp.chain(table), mdp.initial > 0)
    return learned | (np.asarray(exact.occupancy).sum(axis=1) > 0)
