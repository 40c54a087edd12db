"""Figures of the value-based family: where a rule works, what it does on a map, how it oscillates."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float, Int
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import as_texts, check_mapping, check_range, check_text
from lexicone.models._mdp import MDP, check_model
from lexicone.plots._checks import as_visits, check_map
from lexicone.plots._models import maze_on
from lexicone.plots._style import INK, PRIMARY, SECONDARY, STYLE, THRESHOLD, Figure

__all__ = ["fronts", "oscillations", "outcome_maps", "panels", "region", "value_maps"]

_ACTION_COLORS = ("#4c78a8", "#f2a541", "#6aa66a", "#b279a2", "#d9d9d9")
_OUTCOME_COLORS = ("#5aa469", "#e08e79", "#d9dce1", "#8d7fb8")
_WIDTH = 7.0  # inches: both columns of a paper


def region(
    gammas: Float[np.ndarray, " N"],
    slacks: Float[np.ndarray, " M"],
    reached: Int[np.ndarray, "N M"],
    boundary: float,
) -> Figure:
    """Where absolute slack works on the small maze, by sweep, and the two bounds of the paper's analysis.

    ``reached[γ,δ]`` counts the ways to break ties that lead to the goal as wanted.
    """
    gammas = _axis("gammas", gammas)
    slacks = _axis("slacks", slacks)
    reached = as_numbers("reached", reached, (len(gammas), len(slacks)), finite=True)
    check_range("boundary", boundary, -math.inf, math.inf, above=True, below=True)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 3.4), layout="constrained")
        axes = figure.subplots()
        works = np.asarray(reached).T > 0
        axes.pcolormesh(
            gammas,
            slacks,
            works,
            cmap=ListedColormap(["#f4f5f7", _OUTCOME_COLORS[0]]),
            vmin=0,
            vmax=1,
        )
        fine = np.linspace(gammas[0], gammas[-1], 300)
        axes.plot(fine, 1 - fine, color=PRIMARY, lw=1.4, label="enters G: δ < 1−γ")
        axes.plot(
            fine, fine * (1 - fine**2), color=SECONDARY, lw=1.4, label="leaves (1,0): δ ≥ γ(1−γ²)"
        )
        axes.axvline(
            boundary, color=INK, lw=1, ls="--", label=f"sweep: none from γ = {boundary:.3f} on"
        )
        axes.plot(
            [],
            [],
            "s",
            color=_OUTCOME_COLORS[0],
            label=f"sweep: {np.max(reached)} of 25 tie-breaks work",
        )
        axes.set(
            xlabel="discount γ",
            ylabel="slack δ",
            xlim=(gammas[0], gammas[-1]),
            ylim=(slacks[0], slacks[-1]),
        )
        figure.legend(loc="outside upper center", ncols=2, fontsize=7.5)
    return figure


def _axis(name: str, given: Any) -> np.ndarray:
    """At least two rising numbers."""
    numbers = as_numbers(name, given, (None,), finite=True)
    if len(numbers) < 2 or (np.diff(numbers) <= 0).any():
        raise ValueError(f"{name}: expected at least two numbers, in rising order, got {given!r}")
    return numbers


def _as_shown(mdp: MDP, shown: Any) -> list[tuple[str, np.ndarray, list[int]]]:
    """Titles, policies and trajectories."""
    if not isinstance(shown, list | tuple) or not shown:
        raise ValueError(f"shown: expected a list of (title, policy, states), got {shown!r}")
    found = []
    for i, entry in enumerate(shown):
        if not isinstance(entry, list | tuple) or len(entry) != 3:
            raise ValueError(f"shown[{i}]: expected (title, policy, states), got {entry!r}")
        title, policy, states = entry
        check_text(f"shown[{i}]", title)
        try:
            table = mdp.policy_table(policy)
        except ValueError as error:
            raise ValueError(f"shown[{i}]: {error}") from None
        found.append((title, table, as_visits(mdp, states, f"shown[{i}]")))
    return found


def _as_run(name: str, run: Any, mdp: MDP) -> dict[str, Any]:
    """What `oscillations` shows of a run."""
    check_mapping(name, run, "names to numbers")
    missing = [key for key in ("state", "threshold", "q1", "policies") if key not in run]
    if missing:
        raise ValueError(f"{name}: has no {missing[0]!r}")
    check_range(
        f"{name}['threshold']", run["threshold"], -math.inf, math.inf, above=True, below=True
    )
    q1 = as_numbers(f"{name}['q1']", run["q1"], (None, mdp.num_actions))
    policies = as_numbers(
        f"{name}['policies']", run["policies"], (len(q1), mdp.num_states), finite=True
    )
    return {**run, "q1": q1, "policies": policies}


def panels(mdp: MDP, shown: Sequence[tuple[str, Any, Sequence[int]]]) -> Figure:
    """The same map several times: a title, a policy and its trajectory each."""
    check_map(mdp)
    assert mdp.layout is not None
    shown = _as_shown(mdp, shown)
    height, width = len(mdp.layout.rows), len(mdp.layout.rows[0])
    with mpl.rc_context(STYLE):
        tile = _WIDTH / (len(shown) * (width + 0.3))
        lines = 1 + max(title.count("\n") for title, _, _ in shown)
        size = (_WIDTH, tile * height + 0.13 * lines + 0.1)
        figure = Figure(figsize=size, layout="constrained")
        for axes, (title, policy, trajectory) in zip(
            figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True
        ):
            visited = np.zeros((mdp.num_states, mdp.num_actions))
            visited[list(trajectory)] = 1.0
            maze_on(axes, mdp, policy, visited, None, trajectory, arrow_width=0.7)
            axes.set_title(title, fontsize=7.5)
            axes.set_anchor("S")  # what room is left goes to the titles
    return figure


def oscillations(runs: Mapping[str, Mapping[str, Any]], mdp: MDP) -> Figure:
    """A column for each run: q₁ of all actions in one state, and the policy of every state, sweep by sweep.

    Each run has ``state``, ``threshold``, ``q1[T,A]`` of that state and ``policies[T,S]`` (−1: at random).
    """
    check_model(mdp)
    check_mapping("runs", runs, "titles to runs")
    runs = {title: _as_run(f"runs[{title!r}]", run, mdp) for title, run in runs.items()}
    if mdp.num_actions >= len(_ACTION_COLORS):
        raise ValueError(
            f"mdp: has {mdp.num_actions} actions; there are colours for {len(_ACTION_COLORS) - 1}"
        )
    names = list(mdp.state_names or map(str, range(mdp.num_states)))
    actions = [*(mdp.action_names or ()), "random"]
    alive = np.flatnonzero(~mdp.terminal)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH, 4.0), layout="constrained")
        grid = figure.subplots(2, len(runs), sharex=True, sharey="row", squeeze=False)
        for (title, run), (top, strip) in zip(runs.items(), grid.T, strict=True):
            q, policies = np.asarray(run["q1"]), np.asarray(run["policies"])
            sweeps = np.arange(1, len(q) + 1)
            for a in range(mdp.num_actions):
                style = {"lw": 1.2, "ls": "--" if a % 2 else "-"}  # some lie on each other
                top.plot(sweeps, q[:, a], color=_ACTION_COLORS[a], label=actions[a], **style)
            top.axhline(run["threshold"], color=INK, lw=0.8, ls=":", label="threshold")
            top.set_title(f"{title}\nq₁ at {run['state']}", fontsize=8)
            codes = np.where(policies[:, alive] < 0, len(actions) - 1, policies[:, alive]).T
            strip.pcolormesh(
                np.arange(len(q) + 1) + 0.5,
                np.arange(len(alive) + 1) - 0.5,
                codes,
                cmap=ListedColormap(_ACTION_COLORS),
                norm=BoundaryNorm(np.arange(-0.5, 5), 5),
            )
            strip.set(xlabel="sweep", yticks=range(len(alive)))
            strip.set_yticklabels([names[s] for s in alive], fontsize=7)
        grid[0, 0].set_ylabel("q₁")
        grid[1, 0].set_ylabel("action in state")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8)
    return figure


def outcome_maps(
    first: Float[np.ndarray, " N"],
    second: Float[np.ndarray, " M"],
    maps: Mapping[str, Int[np.ndarray, "M N"]],
    outcomes: Sequence[str],
) -> Figure:
    """What happens for each pair of slacks, one map per rule; entries are indices of ``outcomes``."""
    first, second = _axis("first", first), _axis("second", second)
    check_mapping("maps", maps, "titles to tables")
    shape = (len(second), len(first))
    maps = {t: as_numbers(f"maps[{t!r}]", table, shape, finite=True) for t, table in maps.items()}
    outcomes = as_texts("outcomes", outcomes, len(_OUTCOME_COLORS))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH, 3.2), layout="constrained")
        grid = figure.subplots(1, len(maps), sharey=True, squeeze=False)[0]
        for axes, (title, table) in zip(grid, maps.items(), strict=True):
            axes.pcolormesh(
                first,
                second,
                np.asarray(table),
                cmap=ListedColormap(_OUTCOME_COLORS),
                norm=BoundaryNorm(np.arange(-0.5, 4), 4),
            )
            axes.set_title(title, fontsize=8.5)
            axes.set_xlabel("slack δ₁ of the goal")
        grid[0].set_ylabel("slack δ₂ of the tiles")
        figure.legend(
            handles=[
                Patch(color=c, label=o) for c, o in zip(_OUTCOME_COLORS, outcomes, strict=True)
            ],
            loc="outside lower center",
            ncols=4,
            fontsize=8,
        )
    return figure


def value_maps(mdp: MDP, columns: Mapping[str, Float[np.ndarray, "S K"]]) -> Figure:
    """Numbers of every state on the map: a row per objective with its own colours, a column per set of them."""
    check_map(mdp)
    assert mdp.layout is not None
    check_mapping("columns", columns, "titles to numbers of states")
    shape = (mdp.num_states, mdp.num_objectives)
    columns = {t: as_numbers(f"columns[{t!r}]", table, shape) for t, table in columns.items()}
    height, width = len(mdp.layout.rows), len(mdp.layout.rows[0])
    with mpl.rc_context(STYLE):
        tile = _WIDTH / (len(columns) * (width + 0.5))
        size = (_WIDTH, mdp.num_objectives * (tile * height + 0.35) + 0.1)
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(mdp.num_objectives, len(columns), squeeze=False)
        for k, label in enumerate(mdp.objective_labels):
            numbers = np.stack(list(columns.values()))[..., k]
            known = numbers[np.isfinite(numbers)]
            low, high = (known.min(), known.max()) if known.size else (0.0, 0.0)
            for axes, (title, table) in zip(grid[k], columns.items(), strict=True):
                shown = np.full((height, width), np.nan)
                for s in np.flatnonzero(~mdp.terminal & (mdp.layout.positions[:, 0] >= 0)):
                    row, column = mdp.layout.positions[s]
                    shown[row, column] = table[s, k]
                    number = f"{table[s, k] + 0.0:.3g}"
                    axes.text(column, row, number, ha="center", va="center", fontsize=7.5)
                for row, line in enumerate(mdp.layout.rows):
                    for column, mark in enumerate(line):
                        place = {"fontsize": 6, "va": "top"}
                        axes.text(column - 0.45, row - 0.45, mark.strip(".#"), **place)
                axes.imshow(
                    shown, cmap="RdYlGn", vmin=low if low < high else low - 1, vmax=high, alpha=0.6
                )
                axes.set(xticks=[], yticks=[])
                axes.spines[:].set_visible(False)
                axes.set_title(title, fontsize=7)
            grid[k, 0].set_ylabel(label)
    return figure


def fronts(
    front: Float[np.ndarray, "N 2"],
    found: Float[np.ndarray, "N 2"],
    linear: Float[np.ndarray, "M 2"],
    mixed: Float[np.ndarray, "N 2"],
    labels: Sequence[str],
) -> Figure:
    """A front of two objectives, and what was found of it.

    Args:
        front: its points.
        found: those that were found.
        linear: those of linear scalarisation.
        mixed: those of mixtures.
        labels: names of the two objectives.
    """
    front, found, linear, mixed = (
        as_numbers(name, points, (None, 2))
        for name, points in zip(
            ("front", "found", "linear", "mixed"), (front, found, linear, mixed), strict=True
        )
    )
    labels = as_texts("labels", labels, 2)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 3.0), layout="constrained")
        axes = figure.subplots()
        axes.step(*front.T, where="pre", color="#bbbbbb", lw=1, label="best without chance")
        axes.plot(
            *mixed.T,
            color=THRESHOLD,
            lw=1.2,
            ls="--",
            label="best in expectation (mixtures)",
        )
        axes.plot(*found.T, "o", color=SECONDARY, ms=6, label=f"TLQ, {len(found)} thresholds")
        axes.plot(
            *linear.T,
            "x",
            color=PRIMARY,
            ms=9,
            mew=2,
            label=f"linear scalarisation: {len(linear)} points",
        )
        axes.set(xlabel=labels[0], ylabel=labels[1])
        axes.legend(loc="upper right", fontsize=8)
    return figure
