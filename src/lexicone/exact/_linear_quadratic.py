"""The exact lexicographic optimum of a linear–quadratic model, stage by stage.

Stage j finds the least total of cost j under the limits of those before (`_riccati_dual`, or as a semidefinite program,
`_linear_quadratic_program`). Where its threshold lies above that, the threshold becomes a limit. Where it does not,
cost j is to be kept at its least: only inputs that neither cost nor help are left to decide, and later stages do.
"""

import importlib.util
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import check_type
from lexicone.exact._explanation import explain_linear_quadratic
from lexicone.exact._linear_quadratic_program import solve_program
from lexicone.exact._riccati import starting_gain
from lexicone.exact._riccati_dual import best_under_limits
from lexicone.exact._solution import Status, unproven
from lexicone.exact._solution_views import solution_html, solution_line
from lexicone.models._linear_quadratic import LinearQuadratic
from lexicone.order import Order

__all__ = ["LinearQuadraticMethod", "LinearQuadraticSolution", "solve_linear_quadratic"]

LinearQuadraticMethod = Literal["riccati", "sdp"]

_STRICT = 1e-9  # in the cost's scale: how far above the least a limit leaves any choice
_ROOM = 1e-11  # of a limit: what stays unused, so that rounding leaves it kept
_DIGITS = 1e-11  # of the totals of a plain policy: what rounding may hide
_ROUNDING = 1e-13  # of the largest eigenvalue


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LinearQuadraticSolution:
    """The best policy ``u = gain·x + η``, ``E[ηηᵀ] = noise``, of a linear–quadratic model, as `solve` found it."""

    status: Status
    message: str
    """The status in a sentence."""
    values: Float[np.ndarray, " K"]
    """The expected returns of the policy: minus the totals of an episode's costs."""
    key: Float[np.ndarray, " keys"]
    """``order.key(values)``."""
    gain: Float[np.ndarray, "m n"]
    noise: Float[np.ndarray, "m m"]
    moments: Float[np.ndarray, "nm nm"]
    """S, the second moments of ``(x, u)``."""
    satisfied: Bool[np.ndarray, " K-1"]
    """Which thresholds are met, up to the tolerance."""
    prices: Float[np.ndarray, "K-1 K"]
    """``prices[j,i]``: what one more unit of threshold j costs of objective i > j (0 where j is not met)."""
    bound: Float[np.ndarray, " K"]
    """From the duals: no policy whose key equals this one's up to i−1 has more than ``bound[i]`` there."""
    order: Order
    gamma: float
    method: str
    """"riccati" or "sdp"."""
    criterion: str = "expected"
    objective_names: tuple[str, ...] | None = None
    """As the model calls them, if it does."""

    def __repr__(self) -> str:
        return solution_line(self)

    def _repr_html_(self) -> str:
        """In notebooks: the table, and what `explain` says."""
        return solution_html(self)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the objectives are called: by the order, or else by the model."""
        return self.order.names or self.objective_names or self.order.labels

    @property
    def gap(self) -> Float[np.ndarray, " K"]:
        """``bound − key``, objective by objective: what is left unproven."""
        return unproven(self.bound, self.key)

    def act(self, state: Any, rng: np.random.Generator | None = None) -> Float[np.ndarray, " m"]:
        """The input for a state; with ``rng``, noise included."""
        mean = self.gain @ as_numbers("state", state, (self.gain.shape[1],), finite=True)
        if rng is not None:
            check_type("rng", rng, np.random.Generator, "a numpy.random.Generator")
        if rng is None:
            return mean
        return rng.multivariate_normal(mean, self.noise)

    def explain(self) -> str:
        """In a few sentences: what it has, whether it adds noise and why, what thresholds cost, what cannot be met."""
        return explain_linear_quadratic(self)


def solve_linear_quadratic(
    model: LinearQuadratic, order: Order, method: LinearQuadraticMethod, tolerance: float
) -> LinearQuadraticSolution:
    """See `solve`. A ValueError if no policy has finite second moments, or clarabel is asked for and missing."""
    if method == "sdp" and importlib.util.find_spec("clarabel") is None:
        raise ValueError('method: "sdp" needs clarabel: pip install "lexicone[continuous]"')
    stages = _Stages(model, order)
    stages.run(method)
    return stages.report(method, tolerance)


class _Stages:
    """What the stages have found so far; costs in units of their size under a reference policy."""

    def __init__(self, model: LinearQuadratic, order: Order) -> None:
        self.model, self.order = model, order
        self.gain = starting_gain(model)
        self.noise = np.zeros((model.num_inputs, model.num_inputs))
        size = np.einsum("kij,ij->k", model.costs, self._reference(model, self.gain))
        self.size = np.where(size > 0, size, 1.0)
        self.costs = model.costs / self.size[:, None, None]
        totals = -np.array(order.thresholds) * (1 - model.gamma)
        self.limits = np.append(totals / self.size[:-1], -np.inf)
        """What costs may be; the last is to be as small as can be."""
        self.bound = np.full(len(order), np.inf)
        self.prices = np.zeros((len(order) - 1, len(order)))
        self.missed: list[int] = []
        self.failed: int | None = None

    def run(self, method: LinearQuadraticMethod) -> None:
        """One stage after the other. What is free once a cost is at its least is decided in a smaller model."""
        model, costs, start = self.model, self.costs, self.gain
        n, m = model.B.shape
        gain, inputs = np.zeros((m, n)), np.eye(m)  # u = gain·x + inputs·v, v the smaller model's
        held: list[int] = []
        for j, limit in enumerate(self.limits):
            if limit == np.inf:  # a threshold of −∞ never matters
                continue
            limited = costs[held].reshape(-1, *costs.shape[1:])
            room = _ROOM * self.limits[held]
            if method == "riccati":
                best = best_under_limits(model, costs[j], limited, self.limits[held] - room, start)
            else:
                reference = self._reference(model, start)
                best = solve_program(model, costs[j], limited, self.limits[held] - room, reference)
            if best is None:
                self.failed = j
                return
            self.gain, self.noise = gain + inputs @ best.gain, inputs @ best.noise @ inputs.T
            self.prices[held, j] = best.prices
            bound = best.bound - float(best.prices @ room)
            self.bound[j] = max(bound, limit)
            if bound < limit - _STRICT * max(1.0, limit):
                held.append(j)
                continue
            if j == len(self.limits) - 1:
                return
            if bound > limit + _STRICT:
                self.missed.append(j)
            gain, inputs = gain + inputs @ best.gain, inputs @ best.free
            if inputs.shape[1] == 0:
                self._nothing_left(j)
                return
            inner = np.block([[np.eye(n), np.zeros((n, inputs.shape[1]))], [best.gain, best.free]])
            costs = _without_rounding(np.einsum("ai,kab,bj->kij", inner, costs, inner))
            model = LinearQuadratic(
                model.A + model.B @ best.gain,
                model.B @ best.free,
                model.noise,
                costs=costs,
                gamma=model.gamma,
                initial=model.initial,
            )
            start = np.zeros((inputs.shape[1], n))

    @staticmethod
    def _reference(model: LinearQuadratic, gain: np.ndarray) -> np.ndarray:
        """Second moments with noise on all inputs, which show how large everything is."""
        return model.moments(gain, np.eye(model.num_inputs))

    def _nothing_left(self, j: int) -> None:
        """The policy is the only one that has the least of cost j: later costs are what they are."""
        found = np.einsum("kij,ij->k", self.costs, self.model.moments(self.gain, self.noise))
        later = np.arange(j + 1, len(found))
        self.bound[later] = np.maximum(found[later], self.limits[later])
        self.missed += later[:-1][found[later[:-1]] > self.limits[later[:-1]] + _STRICT].tolist()

    def report(self, method: str, tolerance: float) -> LinearQuadraticSolution:
        """In totals of an episode, as returns."""
        moments = self.model.moments(self.gain, self.noise)
        values = self.model.evaluate(self.gain, self.noise) + 0.0
        unit = self.size / (1 - self.model.gamma)
        bound = -self.bound * unit + 0.0
        thresholds = np.array(self.order.thresholds)
        never = thresholds == -np.inf
        bound[:-1][never] = -np.inf
        prices = self.prices * self.size[None, :] / self.size[:-1, None]
        prices[self.missed] = 0.0
        slack = np.where(never, 0.0, tolerance * np.maximum(1.0, np.abs(thresholds)))
        slack = np.where(np.isfinite(thresholds), slack, 0.0)
        key = np.asarray(Order(self.order.thresholds).key(values))
        size = np.maximum(1.0, np.where(np.isfinite(key), np.abs(key), 1.0))
        short = ~((key >= bound - tolerance * size - _DIGITS * unit) | (bound == -np.inf))
        names = self.order.names or self.model.objective_names
        status, message = Status.OPTIMAL, "optimal"
        if self.failed is not None or short.any():
            j = int(np.argmax(short)) if self.failed is None else self.failed
            label = f"objective {j + 1}" + (f" ({names[j]})" if names else "")
            status = Status.FAILED
            message = f"the value of {label} could not be proven to the tolerance"
        return LinearQuadraticSolution(
            status=status,
            message=message,
            values=values,
            key=np.asarray(self.order.key(values)),
            gain=self.gain,
            noise=self.noise,
            moments=moments,
            satisfied=values[:-1] >= thresholds - slack,
            prices=prices,
            bound=bound,
            order=self.order,
            gamma=self.model.gamma,
            method=method,
            objective_names=self.model.objective_names,
        )


def _without_rounding(costs: Float[np.ndarray, "K nm nm"]) -> Float[np.ndarray, "K nm nm"]:
    """Costs of size 1 in other coordinates: what rounding has left of an eigenvalue that is 0 goes."""
    values, vectors = np.linalg.eigh((costs + np.swapaxes(costs, 1, 2)) / 2)
    values = np.where(values > _ROUNDING * values.max(), values, 0.0)
    return (vectors * values[:, None, :]) @ np.swapaxes(vectors, 1, 2)
