"""Directions from rows of gradients, and the same projection from an independent solver."""

# pyright: reportAttributeAccessIssue=false
# (clarabel is a compiled module without stubs)

import math
from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from lexicone import Direction, find_direction

Rows = np.ndarray[Any, np.dtype[np.floating[Any]]]


def unit(rows: Rows) -> Rows:
    """Rows of length 1; zero rows stay."""
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)


def improve_last(rows: Rows, delta: Any, **options: Any) -> Direction:
    """The direction that improves the last objective and keeps all others; exact unless told otherwise."""
    size = len(rows)
    options = {"method": "exact", **options}
    return find_direction(rows @ rows.T, np.zeros(size), np.zeros(size - 1), delta=delta, **options)


def project_with_clarabel(rows: Rows, delta: float) -> Rows | None:
    """The same projection as a second-order cone program; None where the solver does not finish."""
    axes, g = unit(rows[:-1]), rows[-1] / np.linalg.norm(rows[-1])
    axes = axes[np.any(axes != 0, axis=-1)]
    n, sin = len(g), math.sin(delta)
    if len(axes) == 0:
        return g
    blocks, cones = [], []
    for axis in axes:  # (⟨a,u⟩, sinΔ·u) lies in the second-order cone
        blocks.append(-np.vstack([axis, sin * np.eye(n)]) if sin > 0 else -axis[None])
        cones.append(clarabel.SecondOrderConeT(n + 1) if sin > 0 else clarabel.NonnegativeConeT(1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    stacked = np.vstack(blocks)
    matrix, zero = sparse.csc_matrix(stacked), np.zeros(len(stacked))
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.eye_array(n)), -g, matrix, zero, cones, settings
    ).solve()
    return np.asarray(solution.x) if str(solution.status) == "Solved" else None


def flow_with_clarabel(rows: Rows, rates: Rows, prices: Rows) -> Rows | None:
    """The flow in unit gradients, stage by stage as quadratic programs; None where the solver does not finish.

    Variables of stage j: d in coordinates of the gradients' span, and what its rate falls short by.
    """
    axes, g = unit(rows[:-1]), unit(rows)[-1]
    _, values, basis = np.linalg.svd(unit(rows), full_matrices=False)
    basis = basis[values > 1e-12]
    axes, g = axes @ basis.T, basis @ g
    n, d, granted = len(g), g, np.array(rates, float)
    for j in range(len(axes)):
        if not axes[j].any():
            granted[j] = -np.inf
            continue
        held = [i for i in range(j + 1) if np.isfinite(granted[i])]
        matrix = np.zeros((len(held) + 1, n + 1))
        matrix[:-1, :n] = -axes[held]
        matrix[len(held) - 1 :, n] = -1.0
        right = np.append(-granted[held], 0.0)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
        solution = clarabel.DefaultSolver(
            sparse.csc_matrix(np.diag(np.append(np.ones(n), 0.0))),
            np.append(-g, prices[j]),
            sparse.csc_matrix(matrix),
            right,
            [clarabel.NonnegativeConeT(len(right))],
            settings,
        ).solve()
        if str(solution.status) not in ("Solved", "AlmostSolved"):
            return None
        d = np.asarray(solution.x)[:n]
        granted[j] = min(granted[j], axes[j] @ d)
    return d @ basis
