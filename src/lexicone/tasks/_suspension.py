"""A quarter of a car on a rough road: grip, comfort, then little force."""

import numpy as np
from scipy.linalg import expm

from lexicone.models._linear_quadratic import LinearQuadratic
from lexicone.tasks._world import LinearWorld

__all__ = ["suspension"]


def suspension() -> LinearWorld:
    """A motor between wheel and body pushes. Objectives: −tyre deflection² (cm²), −body acceleration², −force² (kN²).

    Masses of 300 and 40 kg, springs of 16 and 160 kN/m, a damper of 1 kNs/m, steps of 20 ms at 20 m/s on a
    road of roughness 5·10⁻⁶; after each step the episode ends with probability 0.01. The states are the travel of the
    suspension, the body's speed, the tyre's deflection and the wheel's speed.
    """
    return LinearWorld(
        name="suspension",
        description="a quarter of a car on a rough road: the force between wheel and body",
        reward_names=("grip", "comfort", "force"),
        thresholds=(-12.0, -70.0),
        actions=((-0.5,), (0.5,)),  # nine deviations of what the optimum pushes
        gamma=0.99,
        max_steps=2000,
        model=_quarter_car(),
    )


def _quarter_car() -> LinearQuadratic:
    body, wheel, spring, damper, tyre, dt = 300.0, 40.0, 16e3, 1e3, 160e3, 0.02
    a = np.array(
        [
            [0, 1, 0, -1],
            [-spring / body, -damper / body, 0, damper / body],
            [0, 0, 0, 1],
            [spring / wheel, damper / wheel, -tyre / wheel, -damper / wheel],
        ]
    )
    b = np.array([[0], [1e3 / body], [0], [-1e3 / wheel]])  # force in kN
    step = expm(dt * np.block([[a, b], [np.zeros((1, 5))]]))  # exact over one step
    road = np.diag([0, 0, 2 * np.pi * 5e-6 * 20, 0])
    pair = expm(dt * np.block([[-a, road], [np.zeros((4, 4)), a.T]]))
    noise = pair[4:, 4:].T @ pair[:4, 4:]
    acceleration = np.append(a[1], b[1])
    return LinearQuadratic(
        step[:4, :4],
        step[:4, 4:],
        (noise + noise.T) / 2,
        costs=[
            np.diag([0, 0, 1e4, 0, 0]),
            np.outer(acceleration, acceleration),
            np.diag([0, 0, 0, 0, 1.0]),
        ],
        gamma=0.99,
        objective_names=("grip", "comfort", "force"),
    )
