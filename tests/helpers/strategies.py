"""Hypothesis strategies that several test files share."""

import math

import numpy as np
from hypothesis import strategies as st

DELTAS = st.sampled_from([0.0, 1.0, 5.0, 15.0, 30.0]).map(math.radians)


@st.composite
def gradient_matrices(draw, max_objectives=6, max_size=200, min_objectives=1):
    """K gradients of n parameters, with duplicates, opposites, near-copies, zeros and rank deficiency."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(min_objectives, max_objectives))
    n = draw(st.one_of(st.integers(1, 8), st.integers(1, max_size)))
    rows = rng.normal(size=(size, n)) * 10.0 ** rng.integers(-3, 4, size=(size, 1))
    for kind in draw(st.lists(st.sampled_from(["copy", "opposite", "near", "zero"]), max_size=2)):
        target, source = rng.integers(size, size=2)
        match kind:
            case "copy":
                rows[target] = 2.5 * rows[source]
            case "opposite":
                rows[target] = -rows[source]
            case "near":
                rows[target] = rows[source] + 1e-4 * np.linalg.norm(rows[source]) * rng.normal(
                    size=n
                )
            case "zero":
                rows[target] = 0.0
    return rows
