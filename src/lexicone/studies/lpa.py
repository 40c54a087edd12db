"""The optimisation benchmark for the LPA (section "Experiment" and appendix "Lexicographic Projection Algorithm").

    F₁ = −4x² − y² − xy,   F₂ = −(x−1)² − (y−½)²,   τ = −0.5,   Δ = π/90

The paper prints +xy and α=0.2; the values that it reports come from −xy and α=0.02. Its final values are those of
plain ascent from (1.5, 1.5) that stops where no direction is found.
"""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from scipy.optimize import minimize

from lexicone import plots
from lexicone._base.checks import check_range
from lexicone._base.progress import progress_bars
from lexicone.directions._maximize import Maximum, maximize
from lexicone.order import Order

__all__ = [
    "FIGURES",
    "ORDER",
    "Lpa",
    "ascend",
    "draw",
    "figure",
    "objectives",
    "report",
    "run",
    "true_optimum",
]

ORDER = Order([-0.5], names=["F₁", "F₂"])
DELTA = math.pi / 90
START = (1.5, 1.5)
PLAIN: dict[str, Any] = {"delta": DELTA, "step_size": 0.02}
ACTIVE: dict[str, Any] = {**PLAIN, "active_constraints": True, "buffer": 0.01}
SAFE: dict[str, Any] = {
    **PLAIN,
    "method": "exact",
    "step": "safe",
    "active_constraints": True,
}
REPORTED = {"plain": (-0.450, -0.580), "active": (-0.496, -0.554)}
FIGURES = (
    "values",
    "trajectory",
    "values-active",
    "trajectory-active",
    "halfspace",
    "cone",
    "geometry",
)


@dataclass(frozen=True)
class Lpa:
    """The paper's optimisation benchmark, and the exact safe ascent from many start points."""

    starts: int = 50
    """How many random start points the safe ascent is tried from."""
    seed: int = 0
    """Seed of the start points."""


def objectives(x: Any) -> Float[Array, "2"]:
    """(F₁, F₂) at a point of the plane."""
    a, b = x
    return jnp.stack([-4 * a**2 - b**2 - a * b, -((a - 1) ** 2) - (b - 0.5) ** 2])


def ascend(start: Any = START, **settings: Any) -> Maximum:
    """The benchmark from one start point."""
    return maximize(objectives, np.asarray(start, float), ORDER, **settings)


def true_optimum() -> tuple[np.ndarray, np.ndarray]:
    """``max F₂`` subject to ``F₁ ≥ τ`` from an independent solver (SLSQP): the point and its values."""
    gradient = jax.jacobian(objectives)
    answer = minimize(
        lambda x: -float(objectives(x)[1]),
        np.zeros(2),
        jac=lambda x: -np.asarray(gradient(x)[1]),
        constraints={
            "type": "ineq",
            "fun": lambda x: float(objectives(x)[0]) - ORDER.thresholds[0],
            "jac": lambda x: np.asarray(gradient(x)[0]),
        },
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return answer.x, np.asarray(objectives(answer.x))


def run(config: Lpa) -> dict[str, Any]:
    """All ascents; a dictionary that JSON can hold."""
    check_range("starts", config.starts, 1)
    runs = {"plain": ascend(**PLAIN), "active": ascend(**ACTIVE), "safe": ascend(**SAFE)}
    _, best = true_optimum()
    starts = np.random.default_rng(config.seed).uniform(-5, 5, size=(config.starts, 2))
    with progress_bars(transient=False) as progress:
        watched = progress.track(starts, description="safe ascents from random start points")
        ends = [ascend(start, **SAFE) for start in watched]
    values = np.stack([end.values for end in ends])
    return {
        "config": asdict(config),
        "optimum": best.tolist(),
        "paper": REPORTED,
        "runs": {
            name: {"values": r.values.tolist(), "steps": r.steps, "status": r.status}
            for name, r in runs.items()
        },
        "starts": {
            "count": config.starts,
            "worst_distance": float(np.abs(values[:, 1] - best[1]).max()),
            "lowest_first": float(values[:, 0].min()),
            "most_steps": max(end.steps for end in ends),
            "optimal": sum(end.status == "optimal" for end in ends),
        },
    }


def report(results: dict[str, Any], console: Console) -> None:
    """Prints the paper's final values, ours, and the true optimum."""
    table = Table(title="max F₂ subject to F₁ ≥ −0.5, from (1.5, 1.5), Δ = 2°")
    table.add_column("ascent", no_wrap=True)
    for column in ("paper F₁, F₂", "ours F₁, F₂", "short", "steps"):
        table.add_column(column, justify="right", no_wrap=True)
    best = results["optimum"]
    titles = {
        "plain": "as in the paper",
        "active": "with active constraints",
        "safe": "exact, safe, active",
    }
    for name, title in titles.items():
        paper, ours = results["paper"].get(name), results["runs"][name]
        table.add_row(
            title,
            "" if paper is None else f"{paper[0]:.3f} {paper[1]:.3f}",
            f"{ours['values'][0]:.5f} {ours['values'][1]:.5f}",
            f"{best[1] - ours['values'][1]:.0e}",
            str(ours["steps"]),
        )
    table.add_row("true optimum (SLSQP)", "", f"{best[0]:.5f} {best[1]:.5f}", "", "")
    console.print(table)
    console.print("short: how far F₂ stays below its true optimum.")
    many = results["starts"]
    console.print(
        f"Safe ascent from {many['count']} random start points: at most {many['worst_distance']:.1e} from the "
        f"optimum, F₁ ≥ {many['lowest_first']:.7f}, at most {many['most_steps']} steps."
    )


def draw(name: str, out: Path, delta: float | None = None) -> list[Path]:
    """Draws one of `FIGURES` into the folder ``out`` as PNG, SVG and PDF; ``delta`` changes the figure's Δ."""
    return plots.save(figure(name, delta), out / name)


def figure(name: str, delta: float | None = None) -> Figure:
    """One of `FIGURES`."""
    figures = {
        "halfspace": lambda: plots.halfspace_fails(),
        "cone": lambda: plots.cone_keeps(*([] if delta is None else [delta])),
        "geometry": lambda: plots.cone_geometry(*([] if delta is None else [delta])),
    }
    if name in figures:
        return figures[name]()
    settings = ACTIVE if name.endswith("active") else PLAIN
    result = ascend(**settings | ({} if delta is None else {"delta": delta}))
    if name.startswith("values"):
        return plots.values_over_steps(result.history, ORDER)
    gradients = jax.vmap(jax.jacobian(objectives))(jnp.asarray(result.path))
    batched = jnp.vectorize(objectives, signature="(n)->(k)")
    return plots.trajectory(batched, np.asarray(result.path), np.asarray(gradients), ORDER)
