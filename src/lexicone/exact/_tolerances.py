"""What counts as nothing, and as equal, in the exact solvers: all values are in units of `reward_scale`.

Limits that belong to one algorithm alone stand in its module.
"""

__all__ = [
    "EQUAL_VALUES",
    "EXACT_GAP",
    "KEPT_FLOOR",
    "NO_CHANCE",
    "NO_LOSS",
    "NO_REWARD",
    "NO_SHARE",
    "NO_VISITS",
    "RELAXED_FLOOR",
    "SAME_MAXIMUM",
    "SAME_POLICY_VALUES",
]

NO_CHANCE = 1e-12
"""A probability below this is rounding: a pair whose successors miss a sum of 1 by less cannot end."""
NO_VISITS = 1e-12
"""An occupancy of at most this is rounding: the pair is not taken."""
NO_SHARE = 1e-13
"""Of a state's visits, or of a mixture: a share below this is none."""
NO_REWARD = 1e-12
"""Of the largest reward of an objective: a reward of at most this is none."""
EQUAL_VALUES = 1e-9
"""Of the values' size: values that differ by less are equal up to rounding."""
NO_LOSS = 1e-8
"""Of the values' size: a pair that loses more at one visit cannot keep an optimum."""
SAME_POLICY_VALUES = 1e-8
"""Of the values' size: what a policy may lose when it is replaced by one with the same values."""
EXACT_GAP = 1e-11
"""Of the value's size: what is left between value and bound when a stage is solved exactly, up to rounding."""
KEPT_FLOOR = 1e-11
"""Of the value's size: how far below a maximum that was found its floor lies, so that it stays feasible."""
RELAXED_FLOOR = 1e-9
"""Of a floor's size: how far it is lowered if rounding makes it infeasible."""
SAME_MAXIMUM = 2e-12
"""Of the value's size: a threshold that is nearer to a maximum than this is met by nothing but the maximum."""
