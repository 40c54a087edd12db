"""A truss: stress within the limit first, then deflection within the limit, then as light as possible; non-convex.

    python experiments/ordered_losses/truss.py --json experiments/ordered_losses/truss.json

Three bars hang a load from a ceiling. Their areas, and where their feet are fixed and where they meet, are free: seven
numbers. `maximize` with safe steps, along exact directions and along the flow, is compared with SciPy's SLSQP and
trust-constr from 100 random starts: how often the limits hold at the end, and how heavy the truss is. All get exact
derivatives from JAX.
"""

import argparse
import json
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import NonlinearConstraint, minimize

import lexicone as lx

jax.config.update("jax_enable_x64", True)

ORDER = lx.Order(
    {"stress": -1.0, "deflection": -0.6, "weight": None}
)  # larger is better: minus the figures
LOAD = jnp.array([0.4, -1.0])
FEASIBLE = 1e-6


def figures(x: Any) -> Any:
    """Minus the largest stress (its norm of order 16), minus the deflection, minus the weight, of a truss ``[7]``."""
    areas = jnp.exp(x[:3])
    feet = jnp.stack([x[3:6], jnp.ones(3)], axis=1)
    joint = jnp.stack([jnp.zeros(()), -jnp.exp(x[6])])
    bars = feet - joint[None]
    lengths = jnp.sqrt(jnp.sum(bars**2, axis=1))
    along = bars / lengths[:, None]
    stiffness = jnp.sum(
        (areas / lengths)[:, None, None] * along[:, :, None] * along[:, None], axis=0
    )
    moved = jnp.linalg.solve(stiffness + 1e-9 * jnp.eye(2), LOAD)
    stress = -(along @ moved) / lengths
    largest = jnp.sum(stress**16) ** (1 / 16)
    return -jnp.stack([largest, jnp.sqrt(moved @ moved), jnp.sum(areas * lengths)])


VALUES, SLOPES = jax.jit(figures), jax.jit(jax.jacobian(figures))


def start(seed: int) -> np.ndarray:
    """Thin bars whose feet are anywhere."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.uniform(-3, 1, 3), rng.uniform(-2, 2, 3), rng.uniform(-1, 1, 1)])


def by_maximize(x: np.ndarray) -> np.ndarray:
    """Lexicone's own: safe steps along exact directions."""
    options = {"method": "exact", "step": "safe", "active_constraints": True}
    return np.asarray(lx.maximize(figures, x, ORDER, step_size=0.05, max_steps=3000, **options).x)


def by_flow(x: np.ndarray) -> np.ndarray:
    """The flow instead of the cones."""
    options = {"method": "flow", "step": "safe"}
    return np.asarray(lx.maximize(figures, x, ORDER, step_size=0.05, max_steps=3000, **options).x)


def by_scipy(method: str, x: np.ndarray) -> np.ndarray:
    """The weight as the objective, the two limits as constraints."""
    limits = np.array(ORDER.thresholds)
    limited = NonlinearConstraint(
        lambda x: np.asarray(VALUES(x))[:2], limits, np.inf, jac=lambda x: np.asarray(SLOPES(x))[:2]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return minimize(
                lambda x: -float(VALUES(x)[2]),
                x,
                jac=lambda x: -np.asarray(SLOPES(x))[2],
                method=method,
                constraints=[limited],
                options={"maxiter": 1000},
            ).x
        except ValueError:  # NaN inside
            return np.full(7, np.nan)


def run(starts: int = 100) -> dict[str, Any]:
    """For each method: how often the limits hold, the median and the best weight of those, and the seconds."""
    methods = {
        "maximize": by_maximize,
        "maximize, flow": by_flow,
        "SLSQP": partial(by_scipy, "SLSQP"),
        "trust-constr": partial(by_scipy, "trust-constr"),
    }
    ends, seconds = {}, {}
    for name, solve in methods.items():
        begun = time.perf_counter()
        found = np.array([VALUES(solve(start(seed))) for seed in range(starts)])
        seconds[name] = time.perf_counter() - begun
        ends[name] = np.where(np.isfinite(found), found, -np.inf)
    limits = np.array(ORDER.thresholds) - FEASIBLE
    weights = {name: -f[np.all(f[:, :2] >= limits, axis=1), 2] for name, f in ends.items()}
    best = min(each.min(initial=np.inf) for each in weights.values())
    return {
        name: {
            "limits hold": len(each) / starts,
            "median weight": float(np.median(each)) if len(each) else None,
            "best weight": float(each.min(initial=np.inf)),
            "within 1 % of the best of all": float(np.sum(each <= 1.01 * best)) / starts,
            "seconds": seconds[name],
        }
        for name, each in weights.items()
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = run(options.starts)
    print(json.dumps(results, indent=2))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
