"""The subcommands ``lexicone compare``, criteria side by side, and ``lexicone augment``, budgets in the state."""

import json
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional

from lexicone.cli_models import build, check_folder, make_order, plain_numbers
from lexicone.mdp import MDP
from lexicone.order import Order

__all__ = ["Augment", "Compare"]

_EPISODES = 10_000


@dataclass(frozen=True)
class Compare:
    """The best policy under each meaning of a threshold, side by side.

    expected: thresholds hold for expected returns; a policy may choose at random. episode: they shall hold for every
    episode; the policy sees what is left of each budget. deterministic: expected returns, and no chance (small
    tasks). Each with its expected returns and the exact probability that an episode meets the thresholds.

    Examples:
      lexicone compare maze:extended --set objectives=path --thresholds -3
      lexicone compare road-trip --thresholds -10 --out runs/compare
      lexicone compare space-traders --thresholds 0.88 --json
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt (a drawing), road_trip:FILE.csv, or a model saved as FILE.npz."""
    thresholds: tuple[float, ...]
    """K−1 thresholds, most important first; inf means: maximise."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE."""
    gamma: float = 1.0
    """Discount factor of the returns, above 0 and at most 1."""
    max_states: int = 100_000
    """The most states with budgets."""
    out: Path | None = None
    """The folder to write compare.png to."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self, console: Console) -> None:
        """Solves three times, prints and draws."""
        if self.out is not None:
            check_folder(self.out)
        mdp = build(self.task, self.set)
        order = make_order(mdp, self.thresholds, self.task)
        if self.json:
            rows = compare(mdp, order, self.gamma, self.max_states)
            print(json.dumps([_as_json(row) for row in rows], indent=2, ensure_ascii=False))
        else:
            with console.status("solving …"):
                rows = compare(mdp, order, self.gamma, self.max_states)
            _print(mdp, order, rows, console)
        if self.out is not None:
            from lexicone.plots import save
            from lexicone.plots_compare import Panel, beside

            panels = [
                Panel(f"{_title(row)}\n{_chance(row)}", row.policy, row.occupancy)
                for row in rows
                if row.policy is not None and row.occupancy is not None
            ]
            for path in save(beside(mdp, panels), self.out / "compare", ("png",)):
                if not self.json:
                    console.print(str(path), highlight=False)


class Row(NamedTuple):
    """One criterion and its best policy; without a policy the message says why."""

    name: str
    message: str
    values: np.ndarray
    chances: np.ndarray
    """Of each threshold, then of all together."""
    policy: np.ndarray | None
    """What it does in each state; for a policy with memory on average over its budgets."""
    occupancy: np.ndarray | None
    memory: bool = False


def compare(mdp: MDP, order: Order, gamma: float = 1.0, max_states: int = 100_000) -> list[Row]:
    """The best policy for ``criterion="expected"``, for ``"episode"``, and the best deterministic one."""
    from lexicone.augment import augmentation
    from lexicone.search import search
    from lexicone.solve import solve

    nothing = np.full(len(order), np.nan)
    augmented, refusal = None, ""
    try:
        augmented = augmentation(mdp, order, gamma=gamma, max_states=max_states)
    except ValueError as error:
        if not str(error).startswith("max_states"):
            raise
        refusal = str(error)

    def stationary(name: str, **options: Any) -> Row:
        try:
            found = solve(mdp, order, gamma, **options)
        except ValueError as error:
            if not str(error).startswith("policies"):
                raise
            return Row(name, str(error), nothing, nothing, None, None)
        chances = nothing
        if found.stay is None and augmented is not None:
            chances = _joined(augmented.chances(augmented.spread(found.policy)))
        elif found.stay is None:
            chances = _sampled(mdp, order, found.policy, gamma)
        return Row(name, found.message, found.values, chances, found.policy, found.occupancy)

    rows = [stationary("expected")]
    if augmented is None:
        rows.append(Row("episode", refusal, nothing, nothing, None, None))
    else:
        found = search(mdp, order, gamma=gamma, criterion="episode", max_states=max_states)
        lifted = found.policy
        chances = _joined(lifted.chances)
        policy, occupancy = lifted.shadow
        rows.append(
            Row("episode", found.message, found.values, chances, policy, occupancy, memory=True)
        )
    return [*rows, stationary("deterministic", policies="deterministic")]


@dataclass(frozen=True)
class Augment:
    """Put budgets into the states of a task: size, the best policy by episodes, and the model as a file.

    Examples:
      lexicone augment road-trip --thresholds -10
      lexicone augment maze:early-late --set objectives=path --thresholds -7
      lexicone augment road-trip --set costs=('toll','hours') --thresholds -12 -9 --rewards penalty --save trip.npz
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt (a drawing), road_trip:FILE.csv, or a model saved as FILE.npz."""
    thresholds: tuple[float, ...]
    """K−1 thresholds on the returns of an episode, most important first: a budget B is −B."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE."""
    rewards: Literal["vector", "endpoint", "accumulated", "penalty"] = "vector"
    """K objectives clipped by episode, or one of the paper's three scalar rewards."""
    gamma: float = 1.0
    """Discount factor of the returns, above 0 and at most 1."""
    max_states: int = 100_000
    """The most states with budgets."""
    save: Path | None = None
    """Write the augmented model here, as an npz file."""

    def run(self, console: Console) -> None:
        """Augments, solves and prints one episode."""
        from lexicone.augment import augmentation
        from lexicone.solve import solve

        mdp = build(self.task, self.set)
        order = make_order(mdp, self.thresholds, self.task)
        found = augmentation(mdp, order, self.rewards, self.gamma, max_states=self.max_states)
        console.print(
            f"{mdp.num_states} states, with budgets {found.mdp.num_states}", highlight=False
        )
        if found.penalty is not None:
            numbers = ", ".join(f"{m:.6g}" for m in found.penalty.multipliers)
            console.print(f"λ = {numbers}, C = {found.penalty.constant:.6g}", highlight=False)
        own = order if self.rewards == "vector" else Order([])
        solution = solve(found.mdp, own, self.gamma)
        lifted = found.lift(solution.policy)
        values = ", ".join(f"{v:.6g}" for v in lifted.values)
        console.print(
            f"{solution.status}: ({values}); an episode meets all thresholds with probability "
            f"{lifted.chances.overall:.4g}",
            highlight=False,
        )
        for line in _episode(lifted):
            console.print(line, highlight=False, markup=False)
        if self.save is not None:
            found.mdp.save(self.save)
            console.print(str(self.save), highlight=False)


def _episode(lifted: Any, longest: int = 100) -> list[str]:
    """The likeliest episode, a line for each step."""
    model = lifted.augmented.tracked
    labels = model.action_names or tuple(f"action {a}" for a in range(model.num_actions))
    memory, seen, lines = int(np.argmax(model.initial)), set(), []
    while not model.terminal[memory] and memory not in seen and len(lines) < longest:
        seen.add(memory)
        action = int(lifted.table[memory].argmax())
        lines.append(f"  {model.state_names[memory]}: {labels[action]}")
        memory = int(model.next_state[memory, action, model.probability[memory, action].argmax()])
    ending = "" if model.terminal[memory] else ", and so on"
    return [*lines, f"  {model.state_names[memory]}{ending}"]


def _joined(chances: Any) -> np.ndarray:
    return np.append(chances.rates, chances.overall)


def _sampled(mdp: MDP, order: Order, policy: np.ndarray, gamma: float) -> np.ndarray:
    """Estimates, for models whose budgets are too many."""
    from lexicone.simulate import satisfaction, simulate

    return _joined(satisfaction(simulate(mdp, policy, _EPISODES, gamma=gamma).returns, order))


def _print(mdp: MDP, order: Order, rows: list[Row], console: Console) -> None:
    from lexicone.sketch import sketch

    table = Table()
    table.add_column("criterion")
    for label in mdp.objective_labels:
        table.add_column(label, justify="right")
    for label, limit in zip(mdp.objective_labels, order.thresholds, strict=False):
        table.add_column(f"P({label} ≥ {limit:g})", justify="right")
    if len(order) > 2:
        table.add_column("P(all)", justify="right")
    shown = len(order) if len(order) > 2 else 1
    for row in rows:
        numbers = [f"{v:.6g}" for v in row.values] + [f"{c:.4g}" for c in row.chances[:shown]]
        table.add_row(row.name, *("—" if n == "nan" else n for n in numbers))
    console.print(table)
    for row in rows:
        if row.message != "optimal":
            console.print(f"{row.name}: {row.message}", highlight=False, markup=False)
    maps = [
        [_title(row), *sketch(mdp, row.policy, row.occupancy).splitlines()]
        for row in rows
        if row.policy is not None
    ]
    widths = [max(map(len, lines)) for lines in maps]
    if sum(widths) + 3 * len(widths) <= max(console.width, 80):
        for parts in zip_longest(*maps, fillvalue=""):
            line = "   ".join(p.ljust(w) for p, w in zip(parts, widths, strict=True))
            console.print(line.rstrip(), highlight=False, markup=False)
    else:
        for lines in maps:
            console.print("\n".join(lines), highlight=False, markup=False)


def _title(row: Row) -> str:
    return f"{row.name}: ({', '.join(f'{v:.4g}' for v in row.values)})"


def _chance(row: Row) -> str:
    if np.isnan(row.chances[-1]):
        return ""
    return f"{100 * row.chances[-1]:.4g} % of episodes meet the thresholds"


def _as_json(row: Row) -> dict[str, Any]:
    return {
        "criterion": row.name,
        "message": row.message,
        "values": plain_numbers(row.values),
        "chances": plain_numbers(row.chances[:-1]),
        "chance_of_all": plain_numbers(row.chances[-1:])[0],
        "memory": row.memory,
        "found": row.policy is not None,
    }
