"""What the paper's experiments with policy gradients share: train, judge every seed in the open, draw, report.

Each has a *literal* part, the paper's algorithm with the settings that it does not give filled in, and a *best* part:
the same learner with batches of episodes, exact directions, normalised credit and annealed entropy.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from scipy import stats

from lexicone import __version__, plots
from lexicone._base.checks import check_range
from lexicone._base.text import vector_text
from lexicone.exact._solve import solve
from lexicone.learning._result import uninterrupted
from lexicone.learning._result_model import Trained
from lexicone.learning._train import train
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.studies.sweeps.cells import Computed
from lexicone.studies.sweeps.running import run_group
from lexicone.studies.sweeps.store import Store

__all__ = [
    "BEST",
    "Experiment",
    "Options",
    "Part",
    "draw",
    "figures",
    "part_cell",
    "report",
    "run",
    "run_parts",
    "train_part",
]

SUCCESS = 0.9
"""A seed is successful if that share of its evaluation episodes is: the paper's 90 %."""
EPISODES = 100
"""Evaluation episodes, as in the paper: actions are sampled, dropout is off."""
_SNAPSHOTS = 50

BEST = Reinforce(
    delta=math.radians(5),
    gamma=0.95,
    batch=16,
    max_steps=100,
    dropout=0.0,
    temperature=1.0,
    method="exact",
    credit="normalized",
    entropy=0.5,
)
"""The learner of the *best* parts; one configuration for both mazes."""


@dataclass(frozen=True)
class Options:
    """How much of an experiment to run."""

    seeds: int = 10
    key: int = 0
    episodes: int | None = None
    """Instead of each part's own number."""
    resume: bool = False
    progress: bool = True


class Part(NamedTuple):
    """One way to train."""

    name: str
    title: str
    learner: Reinforce
    order: Order
    episodes: int


class Experiment(NamedTuple):
    """One of the paper's mazes."""

    name: str
    title: str
    mdp: MDP
    paper: str
    """What the paper reports."""
    checks: dict[str, Callable[[Any], Any]]
    """For each objective: a name, and which returns ``[…,K]`` count as satisfied."""
    success: Callable[[Any], Any]
    """Which returns count as a success."""
    success_text: str
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()


def run(experiment: Experiment, options: Options, out: Path) -> dict[str, Any]:
    """Train all parts and judge them; a dictionary that JSON can hold."""
    check_range("--seeds", options.seeds, 1, whole=True)
    results: dict[str, Any] = {
        "experiment": experiment.name,
        "title": experiment.title,
        "paper": experiment.paper,
        "success": f"{experiment.success_text} in at least {SUCCESS:.0%} of {EPISODES} episodes",
        "notes": list(experiment.notes),
        "options": {"seeds": options.seeds, "key": options.key},
        "parts": {},
    }
    cells = [
        part_cell(
            experiment.name, part, options, partial(_run_part, experiment, part, options, out)
        )
        for part in experiment.parts
    ]
    results["parts"] = {
        part.name: found
        for part, found in zip(experiment.parts, run_parts(cells, options, out), strict=True)
    }
    return results


def part_cell(
    experiment: str,
    part: Part,
    options: Options,
    compute: Callable[[], dict[str, Any]],
    **more: Any,
) -> Computed:
    """A part as a cell of a study; ``more`` is what else decides its numbers."""
    settings = {
        "version": __version__,
        "experiment": experiment,
        "part": part.name,
        "learner": asdict(part.learner),
        "thresholds": list(part.order.thresholds),
        "episodes": options.episodes or part.episodes,
        "seeds": options.seeds,
        "key": options.key,
        **more,
    }
    return Computed(
        task_name=experiment, learner_name=part.name, settings=settings, compute=compute
    )


def run_parts(cells: Sequence[Computed], options: Options, out: Path) -> list[dict[str, Any]]:
    """What the cells find, one after another; with ``resume`` those that are kept are not computed again."""
    store = Store(out)
    for cell in cells:
        if not (options.resume and cell.found(store)):
            run_group([cell], store)
    kept = [cell.found(store) or {} for cell in cells]
    return [{name: value for name, value in each.items() if name != "settings"} for each in kept]


def _run_part(experiment: Experiment, part: Part, options: Options, out: Path) -> dict[str, Any]:
    return _judge(experiment, part, train_part(part, experiment.mdp, options, out))


def train_part(part: Part, mdp: MDP, options: Options, out: Path) -> Trained:
    """One part, with its checkpoint in the folder: killed, it goes on from there with ``resume``."""
    trained = train(
        mdp,
        part.order,
        part.learner,
        seeds=options.seeds,
        episodes=options.episodes or part.episodes,
        seed=options.key,
        snapshots=_SNAPSHOTS,
        progress=options.progress,
        checkpoint=out / f"{part.name}.safetensors",
        resume=options.resume,
        overwrite=not options.resume,
    )
    return uninterrupted(trained)


def _judge(experiment: Experiment, part: Part, trained: Trained) -> dict[str, Any]:
    final = trained.evaluate(EPISODES, seed=1)
    shares = experiment.success(final.returns).mean(axis=1)
    won = int((shares >= SUCCESS).sum())
    interval = stats.binomtest(won, len(shares)).proportion_ci(method="wilson")
    times, tables = trained.snapshots
    count, seeds = tables.shape[:2]
    along = trained.evaluate(EPISODES, policies=tables.reshape(-1, *tables.shape[2:]), seed=2)
    returns = along.returns.reshape(count, seeds, EPISODES, -1)
    exact = solve(experiment.mdp, part.order, policies="deterministic")  # success counts episodes
    curves = {
        name: np.moveaxis(np.asarray(check(returns)).mean(axis=-1), 0, 1).tolist()
        for name, check in {**experiment.checks, "success": experiment.success}.items()
    }
    return {
        "title": part.title,
        "thresholds": list(part.order.thresholds),
        "learner": asdict(part.learner),
        "episodes": trained.updates * part.learner.batch,
        "usual_episodes": part.episodes,
        "steps": float(trained.history["steps"][:, -1].mean()),
        "success": shares.tolist(),
        "seeds": len(shares),
        "successful_seeds": won,
        "interval": [float(interval.low), float(interval.high)],
        "returns": final.returns.mean(axis=1).tolist(),
        "found": float(trained.history["found"].mean()),
        "exact": exact.values.tolist(),
        "curves": {"episodes": (times * part.learner.batch).tolist(), **curves},
    }


def report(results: dict[str, Any], console: Console) -> None:
    """The table *paper | ours literal | ours best | exact optimum*, and what success means."""
    parts = results["parts"]
    table = Table(title=results["title"])
    for column in ("", "paper", *(f"ours, {part['title']}" for part in parts.values())):
        table.add_column(column)
    table.add_column("exact optimum")
    won = [f"{p['successful_seeds']} of {p['seeds']}" for p in parts.values()]
    table.add_row("successful seeds", results["paper"], *won, "")
    intervals = [f"{p['interval'][0]:.0%} to {p['interval'][1]:.0%}" for p in parts.values()]
    table.add_row("95 % interval", "", *intervals, "")
    shares = [f"{np.mean(p['success']):.1%}" for p in parts.values()]
    table.add_row("success, mean of seeds", "", *shares, "100%")
    means = [_means_text(np.median(p["returns"], axis=0)) for p in parts.values()]
    exact = dict.fromkeys(_means_text(p["exact"]) for p in parts.values())
    table.add_row("returns, median seed", "", *means, " or ".join(exact))
    limits = [", ".join(f"{t:g}" for t in p["thresholds"]) for p in parts.values()]
    table.add_row("threshold", "not given", *limits, "")
    table.add_row("episodes", "", *(f"{p['episodes']:,}" for p in parts.values()), "")
    table.add_row("steps, mean of seeds", "", *(f"{p['steps']:,.0f}" for p in parts.values()), "")
    console.print(table)
    console.print(f"A seed is successful: {results['success']} (sampled actions, dropout off).")
    console.print("The exact optimum is that of deterministic policies: success counts episodes.")
    for note in results["notes"]:
        console.print(note)


def draw(results: dict[str, Any], out: Path) -> list[Path]:
    """The paper's figures as files."""
    found = figures(results)
    return [path for name, figure in found.items() for path in plots.save(figure, out / name)]


def figures(results: dict[str, Any]) -> dict[str, Figure]:
    """The paper's figures: a successful seed of each part, and all seeds."""
    found: dict[str, Figure] = {}
    curves = {}
    for name, part in results["parts"].items():
        episodes = np.array(part["curves"]["episodes"])
        rates = {k: np.array(v) for k, v in part["curves"].items() if k != "episodes"}
        curves[part["title"]] = (episodes, rates.pop("success"))
        seed = int(np.argmax(part["success"]))
        one = {label: rate[seed] for label, rate in rates.items()}
        title = f"{results['experiment']}, {part['title']}: seed {seed}"
        found[f"{name}-one-seed"] = plots.one_seed(episodes, one, title)
    found["all-seeds"] = plots.over_seeds(curves, "successful episodes", results["title"])
    return found


def _means_text(values: Any) -> str:
    """What differs from a short number by rounding alone is printed as that number."""
    return vector_text(np.round(values, 9), 3)
