"""A quarter of a car on a rough road: grip, comfort, force. The continuous model with a known optimum."""

import numpy as np
from scipy.linalg import expm

from lexicone import LinearQuadratic


def quarter_car(gamma: float = 0.99) -> LinearQuadratic:
    """States: suspension travel, body speed, tyre deflection, wheel speed (m, m/s); input: force in kN.

    Costs per step: tyre deflection in cm², body acceleration in (m/s²)², force in kN².
    """
    body, wheel, spring, damper, tyre, dt = 300.0, 40.0, 16e3, 1e3, 160e3, 0.02
    road = 2 * np.pi * 5e-6 * 20
    a = np.array(
        [
            [0, 1, 0, -1],
            [-spring / body, -damper / body, 0, damper / body],
            [0, 0, 0, 1],
            [spring / wheel, damper / wheel, -tyre / wheel, -damper / wheel],
        ]
    )
    b = np.array([[0], [1e3 / body], [0], [-1e3 / wheel]])
    step = expm(dt * np.block([[a, b], [np.zeros((1, 5))]]))
    shock = np.zeros((4, 4))
    shock[2, 2] = road
    pair = expm(dt * np.block([[-a, shock], [np.zeros((4, 4)), a.T]]))  # Van Loan
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
        gamma=gamma,
        objective_names=("grip", "comfort", "force"),
    )
