"""The subcommand ``lexicone train``."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from rich.console import Console
from tyro.conf import Positional

from lexicone._base.files import write_text
from lexicone._base.text import as_typed, guess, read_assignment
from lexicone.cli._evaluate import judge, solve_model
from lexicone.cli._options import (
    Drawn,
    Threshold,
    build,
    check_folder,
    make_order,
    order_of_rewards,
    radians,
    read_option,
    with_chances,
)
from lexicone.cli._train_table import print_training
from lexicone.learning._defaults import SEEDS, TRAINING_FILE
from lexicone.models._mdp import MDP
from lexicone.order import Order

if TYPE_CHECKING:
    from lexicone.exact._solve import Solution
    from lexicone.learning._result_env import TrainedEnv
    from lexicone.learning._result_model import Trained
    from lexicone.learning._result_segments import TrainedSegments

__all__ = ["Train", "make_learner"]

_LEAST_DRAWN = 0.01  # actions less likely than that are not drawn


@dataclass(frozen=True)
class Train(Drawn):
    """Learn a policy for a task from samples, several seeds at once, and compare it with the exact optimum.

    Writes training.safetensors (everything, for evaluate, report and lx.load), results.json, history.csv and figures,
    and says which thresholds hold, what collapsed, and what to try next. Interrupted or killed, it goes on with
    --resume and ends as if nothing had happened; with more --steps or --episodes it goes on longer. The task may also
    be an environment of Gymnasium or MO-Gymnasium, or a class of your own; that has no exact optimum to compare with.

    Examples:
      lexicone train maze:concave --thresholds 0.5 --settings criterion=episode --episodes 4000
      lexicone train maze:extended --set objectives=path --thresholds -3
      lexicone train maze:extended --set objectives=path --thresholds 0 --learner reinforce --settings gamma=0.91
      lexicone train space-traders --thresholds 0.88 --out runs/traders --resume --log csv tensorboard
      lexicone train deep-sea-treasure-v0 --thresholds 20 --seeds 2 --steps 200000
      lexicone train robots.py:Arm --set speed=2 --thresholds -0.5 2.3 --steps 300000
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt, road_trip:FILE.csv, a model saved as FILE.npz; or an environment: its id,
    MODULE:ID, or FILE.py:NAME for a class or a function that makes one, or for a world in JAX."""
    thresholds: tuple[Threshold, ...]
    """K−1 thresholds on returns, most important first; inf means: maximise. Of a cost: at-most:200."""
    chances: tuple[float, ...] = ()
    """For --settings criterion=chance: the share of episodes that shall meet each threshold; one for all, or each."""
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
    snapshots: int = 0
    """Policies to keep on the way, for `lexicone explore`; of models only."""
    resume: bool = False
    """Go on from the folder's training.safetensors, if it is there; with a larger budget, longer."""
    overwrite: bool = False
    """Replace the folder's training.safetensors even if it is of another training."""
    log: tuple[Literal["csv", "tensorboard"], ...] = ()
    """Rows of the history as they come: log.csv, or a folder for `tensorboard --logdir`."""
    json: bool = False
    """Print JSON instead of a progress bar and a table."""

    def run(self, console: Console) -> None:
        """Trains, judges, draws."""
        check_folder(self.out)
        learner = make_learner(self.learner, self.settings, self.delta_deg)
        task, order = _find(self.task, self.set, self.objectives, self.thresholds, learner)
        order = with_chances(order, self.chances)
        from lexicone.learning._train import train

        trained = train(
            task,
            order,
            learner,
            seeds=self.seeds,
            episodes=self.episodes,
            steps=self.steps,
            seed=self.seed,
            snapshots=self.snapshots,
            progress=not self.json,
            checkpoint=self.out / TRAINING_FILE,
            resume=self.resume,
            overwrite=self.overwrite,
            log=self.log,
        )
        if trained.status == "interrupted":
            done = f"after {int(trained.run.update)} of {trained.updates} updates"
            raise KeyboardInterrupt(f"{done}, which are saved; --resume goes on")
        exact = solve_model(trained)
        results = judge(trained, exact, 100, False, 1)
        trained.to_csv(self.out / "history.csv")
        write_text(self.out / "results.json", json.dumps(results, indent=1) + "\n")
        _draw(trained, exact, results, self.task, self.out)
        if self.json:
            print(json.dumps(results, indent=2))
            return
        print_training(results, trained.order, console)
        for line in results["diagnosis"]:
            console.print(line, highlight=False)
        console.print(f"{TRAINING_FILE}, results.json, history.csv and figures are in {self.out}/")


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
            meant = guess(key or setting, fields)
            raise ValueError(f"--settings: {setting!r}{meant} is none of NAME=VALUE with {listed}")
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
    from lexicone.learning._open_world import MadeInJax, open_world
    from lexicone.learning._worlds_jax import names_in_jax
    from lexicone.learning.algos._actor_critic import ActorCritic

    try:
        found: Any = find_world(task, dict(map(read_option, options)))
        env: Any = None
        if not isinstance(found, NamedWorld):
            env = open_world(found, None) if isinstance(learner, ActorCritic) else open_env(found)
    except MadeInJax as made:
        found, env = made.named, None
    except (UnknownEnvironment, ImportError) as error:
        raise ValueError(
            f"task: there is no task {task!r}; there are {', '.join(TASKS)}. Nor is there an environment to train in: "
            f"{str(error).removeprefix('task: ')}"
        ) from None
    if env is None:  # in JAX, where only names tell how many objectives there are
        names = names_in_jax(found.world)
        count = len(thresholds) + 1 if names is None else len(names)
        return found, order_of_rewards(task, names, count, objectives, thresholds)
    count, names = env.facts.objectives, env.facts.reward_names
    return env, order_of_rewards(task, names, count, objectives, thresholds)


def _is_model(task: str) -> bool:
    from lexicone.tasks import find

    try:
        return task.endswith(".npz") or bool(find(task.partition(":")[0]))
    except ValueError:
        return False


def _draw(
    trained: "Trained | TrainedEnv | TrainedSegments",
    exact: "Solution | None",
    results: dict[str, Any],
    task: str,
    out: Path,
) -> None:
    from lexicone import plots
    from lexicone.learning._result_model import Trained

    title = f"{as_typed(task)}, {results['learner']}, {trained.seeds} seeds"
    plots.save(plots.history(trained.history, trained.order, title), out / "history")
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
