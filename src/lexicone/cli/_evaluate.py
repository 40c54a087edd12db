"""The subcommand ``lexicone evaluate``, and how trained policies are judged."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from tyro.conf import Positional

from lexicone._base.checks import check_range
from lexicone._base.text import plain_numbers
from lexicone.cli._train_table import print_training

if TYPE_CHECKING:
    from lexicone.exact._solve import Solution
    from lexicone.learning._result_env import TrainedEnv
    from lexicone.learning._result_model import Trained
    from lexicone.learning._result_segments import TrainedSegments

__all__ = ["Evaluate", "judge", "solve_model"]


@dataclass(frozen=True)
class Evaluate:
    """Run trained policies in fresh episodes: how often each threshold is met, with intervals of 95 %, and which hold.

    Where the task is a model, they are compared with its exact optimum.

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
        results = judge(trained, solve_model(trained), self.episodes, self.greedy, self.seed)
        if self.json:
            print(json.dumps(results, indent=2))
            return
        done, total = int(trained.run.update), trained.updates
        if done < total:
            console.print(f"The training is not finished: {done} of {total} updates are done.")
        print_training(results, trained.order, console)
        for line in results["standing"]:
            console.print(line, highlight=False)


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
        exact: the optimum of the model; None for an environment, or where it is not known.
        episodes: of the evaluation, for each seed.
        greedy: whether to take the most probable action instead of sampling.
        seed: of the evaluation.
    """
    from lexicone.learning._diagnosis import diagnose
    from lexicone.learning._result_env import TrainedEnv
    from lexicone.learning._result_segments import TrainedSegments
    from lexicone.tasks._worlds import best_values, is_world

    found = trained.evaluate(episodes, greedy=greedy, seed=seed)
    said = diagnose(trained.order, trained.learner, trained.history, found, trained.status)
    ends = found.intervals()
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
        "success_intervals": ends.success.tolist(),
        "satisfied_intervals": ends.satisfied.tolist(),
        "returns_intervals": [[plain_numbers(pair) for pair in seed] for seed in ends.returns],
        "criterion": said.criterion,
        "held": said.held.tolist(),
        "status": trained.status,
        "standing": said.standing(),
        "diagnosis": said.lines(),
    }
    if isinstance(trained, TrainedEnv | TrainedSegments):
        named = trained.facts.environment_id
        by_mean = all(p is None for p in trained.order.chances)
        if isinstance(trained, TrainedSegments) and is_world(named) and by_mean:
            best = best_values(str(named), trained.order)
            gaps = trained.order.gap(found.returns.mean(axis=1, dtype=float), best)
            results["gap"] = [plain_numbers(row) for row in gaps]
            results |= {"exact": plain_numbers(best), "exact_status": "optimal"}
        return {**results, "environment": trained.facts.environment}
    results["values"] = [plain_numbers(row) for row in trained.values(greedy=greedy)]
    if exact is None:
        return results
    return {
        **results,
        "gap": [plain_numbers(row) for row in trained.gap(exact, greedy=greedy)],
        "exact": plain_numbers(exact.values),
        "exact_status": str(exact.status),
    }


def _last(counts: Any) -> Any:
    """By the end: of all runs ``[L]``, or of each ``[N,L]``."""
    return np.asarray(counts)[..., -1:].sum(axis=-1).tolist()


def solve_model(trained: "Trained | TrainedEnv | TrainedSegments") -> "Solution | None":
    """The exact optimum of a model; None for an environment, or by chance: then the best policy has memory."""
    from lexicone.exact._solve import solve
    from lexicone.learning._result_model import Trained

    if not isinstance(trained, Trained) or any(p is not None for p in trained.order.chances):
        return None
    return solve(trained.mdp, trained.order)
