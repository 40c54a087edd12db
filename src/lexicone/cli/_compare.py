"""The subcommands ``lexicone compare``, criteria side by side, and ``lexicone augment``, budgets in the state."""

import json
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional

from lexicone._base.text import plain_numbers, vector_text
from lexicone.cli._options import (
    Drawn,
    Threshold,
    build,
    check_folder,
    make_order,
    with_chances,
)
from lexicone.models._mdp import MDP
from lexicone.order import Order

if TYPE_CHECKING:
    from lexicone.criteria._compare import Row

__all__ = ["Augment", "Compare", "likeliest_episode"]


@dataclass(frozen=True)
class Compare(Drawn):
    """The best policy under each meaning of a threshold, side by side.

    expected: thresholds hold for expected returns; a policy may choose at random. episode: they shall hold for every
    episode; the policy sees what is left of each budget. deterministic: expected returns, and no chance (small
    tasks). chance, with --chances: so many of all episodes shall meet a threshold. Each with its expected returns and
    the exact probability that an episode meets the thresholds (≈ where there are too many budgets for that: then
    episodes are sampled).

    Examples:
      lexicone compare maze:extended --set objectives=path --thresholds -3
      lexicone compare road-trip --thresholds -10 --chances 0.9 --out runs/compare
      lexicone compare space-traders --thresholds 0.88 --json
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt (a drawing), road_trip:FILE.csv, or a model saved as FILE.npz."""
    thresholds: tuple[Threshold, ...]
    """K−1 thresholds, most important first; inf means: maximise."""
    chances: tuple[float, ...] = ()
    """For a fourth column: the share of episodes that shall meet each threshold, one for all or one for each; nan for
    one that holds for the mean."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE."""
    objectives: tuple[str, ...] = ()
    """The task's objectives in this sequence, by name or number from 1; those not listed are left out."""
    gamma: float = 1.0
    """Discount factor of the returns, above 0 and at most 1."""
    max_states: int = 100_000
    """The most states with budgets."""
    seconds: float = 30.0
    """How long to search for the best deterministic policy."""
    out: Path | None = None
    """The folder to write compare.png to."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self, console: Console) -> None:
        """Solves three times, or four, prints and draws."""
        from lexicone.criteria._compare import compare

        check_folder(self.out)
        mdp = build(self.task, self.set, self.objectives)
        order = make_order(mdp, self.thresholds, self.task).at_gamma(self.gamma)
        order = with_chances(order, self.chances)
        coming = compare(
            mdp, order, gamma=self.gamma, max_states=self.max_states, seconds=self.seconds
        )
        if self.json:
            rows = list(coming)
            print(json.dumps([_as_json(row) for row in rows], indent=2))
        else:
            rows = []
            with console.status("solving …"):
                for row in coming:
                    rows.append(row)
                    console.print(_line(row, order), highlight=False, markup=False)
            _print(mdp, order, rows, console)
        if self.out is not None:
            from lexicone.plots._side_by_side import Panel, beside
            from lexicone.plots._style import save

            panels = [
                Panel(f"{_title(row, order)}\n{_chance(row)}", row.policy, row.occupancy)
                for row in rows
                if row.policy is not None and row.occupancy is not None
            ]
            for path in save(beside(mdp, panels), self.out / "compare", ("png",)):
                if not self.json:
                    console.print(str(path), highlight=False)


@dataclass(frozen=True)
class Augment:
    """Put budgets into the states of a task: size, the best policy by episodes, and the model as a file.

    Examples:
      lexicone augment road-trip --thresholds -10
      lexicone augment maze:early-late --set objectives=path --thresholds -7
      lexicone augment road-trip --set "costs=('toll','hours')" --thresholds -12 -9 --rewards penalty --save trip.npz
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt (a drawing), road_trip:FILE.csv, or a model saved as FILE.npz."""
    thresholds: tuple[Threshold, ...]
    """K−1 thresholds on the returns of an episode, most important first: a budget B is −B."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE."""
    objectives: tuple[str, ...] = ()
    """The task's objectives in this sequence, by name or number from 1; those not listed are left out."""
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
        from lexicone.criteria._augment import augmentation
        from lexicone.exact._solve import solve

        if self.save is not None and (self.save.is_dir() or not self.save.parent.is_dir()):
            raise ValueError(
                f"--save: cannot write to {self.save}: no such folder, or no file name"
            )
        mdp = build(self.task, self.set, self.objectives)
        order = make_order(mdp, self.thresholds, self.task).at_gamma(self.gamma)
        found = augmentation(mdp, order, self.rewards, gamma=self.gamma, max_states=self.max_states)
        console.print(
            f"{mdp.num_states} states, with budgets {found.mdp.num_states}", highlight=False
        )
        if found.penalty is not None:
            numbers = vector_text(found.penalty.multipliers, 6, brackets=False)
            console.print(f"λ = {numbers}, C = {found.penalty.constant:.6g}", highlight=False)
        own = order if self.rewards == "vector" else Order([])
        solution = solve(found.mdp, own, gamma=self.gamma)
        lifted = found.lift(solution.policy)
        console.print(
            f"{solution.status}: {vector_text(order.in_units(lifted.values), 6)}; an episode meets all thresholds with "
            f"probability {lifted.chances.overall:.4g}",
            highlight=False,
        )
        for line in likeliest_episode(lifted):
            console.print(line, highlight=False, markup=False)
        if self.save is not None:
            found.mdp.save(self.save)
            console.print(str(self.save), highlight=False)


def likeliest_episode(lifted: Any, longest: int = 100) -> list[str]:
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


def _line(row: "Row", order: Order) -> str:
    """What is known of one criterion, as soon as it is known."""
    parts = [_title(row, order), _chance(row)] if row.policy is not None else [f"{row.name}: —"]
    if row.message != "optimal":
        parts.append(row.message)
    return "; ".join(part for part in parts if part)


def _print(mdp: MDP, order: Order, rows: "list[Row]", console: Console) -> None:
    """A column for each criterion, so that any number of objectives fits; then what the policies do."""
    from lexicone.plots._text import sketch

    table = Table()
    table.add_column("")
    for row in rows:
        table.add_column(row.name, justify="right")
    limits = [f" {level.bound}" for level in order.levels[:-1]]
    shown = [order.in_units(row.values) for row in rows]
    for k, label in enumerate(mdp.objective_labels):
        last = k == len(limits)
        table.add_row(label, *(_number(values[k], ".6g") for values in shown), end_section=last)
    labels = [f"P({label}{t})" for label, t in zip(mdp.objective_labels, limits, strict=False)]
    if len(limits) > 1:
        labels.append("P(all)")
    for k, label in enumerate(labels):
        table.add_row(label, *(_probability(row, k) for row in rows))
    console.print(table)
    maps = [
        [_title(row, order), *sketch(mdp, row.policy, row.occupancy).splitlines()]
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


def _number(value: float, form: str) -> str:
    return "—" if np.isnan(value) else format(value, form)


def _probability(row: "Row", k: int) -> str:
    text = _number(row.chances[k], ".4g")
    return f"≈{text}" if row.sampled and text != "—" else text


def _title(row: "Row", order: Order) -> str:
    return f"{row.name}: {vector_text(order.in_units(row.values))}"


def _chance(row: "Row") -> str:
    from lexicone.criteria._compare import EPISODES

    if np.isnan(row.chances[-1]):
        return ""
    share = f"{100 * row.chances[-1]:.4g} %"
    if row.sampled:
        return f"≈{share} of {EPISODES:,} sampled episodes meet the thresholds"
    return f"{share} of episodes meet the thresholds"


def _as_json(row: "Row") -> dict[str, Any]:
    return {
        "criterion": row.name,
        "message": row.message,
        "values": plain_numbers(row.values),
        "chances": plain_numbers(row.chances[:-1]),
        "chance_of_all": plain_numbers(row.chances[-1:])[0],
        "sampled": row.sampled,
        "memory": row.memory,
        "found": row.policy is not None,
    }
