"""A question as a browser asks it: which model, objectives in which order, thresholds, discount, criterion."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lexicone._base.checks import check_kind, check_range
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.web._sources import SourceReader

__all__ = ["Known", "Loaded", "Question"]

CRITERIA = ("expected", "episode", "deterministic")
_MODELS = 6  # that a worker keeps
_LARGEST = 1e15  # threshold


@dataclass
class Loaded:
    """A model with its objectives in one sequence, and what was already found out about it."""

    mdp: MDP
    labels: tuple[str, ...]
    found: dict[Any, Any] = field(default_factory=dict)

    def remember(self, key: Any, find: Callable[[], Any]) -> Any:
        """What was found under that key, or is found now."""
        if key not in self.found:
            self.found[key] = find()
        return self.found[key]


@dataclass(frozen=True)
class Question:
    """What is asked."""

    loaded: Loaded
    order: Order
    gamma: float
    criterion: str
    source: Any
    places: tuple[int, ...]

    @property
    def mdp(self) -> MDP:
        """The model, its objectives in the sequence asked for."""
        return self.loaded.mdp


class Known:
    """The latest models of a worker."""

    def __init__(self, reader: SourceReader) -> None:
        self.reader = reader
        self.models: OrderedDict[str, Loaded] = OrderedDict()

    def model(self, source: Any, places: tuple[int, ...] | None = None) -> Loaded:
        """That model; its objectives in another sequence if ``places`` says so."""
        base = self._keep(repr(source), lambda: _load(self.reader.build(source)))
        if places is None or places == tuple(range(base.mdp.num_objectives)):
            return base
        if sorted(places) != list(range(base.mdp.num_objectives)):
            raise ValueError("order: expected each objective once, by its number")

        def reordered() -> Loaded:
            labels = tuple(base.labels[k] for k in places)
            return Loaded(base.mdp.reorder(list(places)), labels)

        return self._keep(repr((source, places)), reordered)

    def _keep(self, key: str, make: Callable[[], Loaded]) -> Loaded:
        if key not in self.models:
            self.models[key] = make()
            while len(self.models) > _MODELS:
                self.models.popitem(last=False)
        self.models.move_to_end(key)
        return self.models[key]

    def question(self, data: Any) -> Question:
        """What a browser asks; a ValueError names what is wrong."""
        if not isinstance(data, dict):
            raise ValueError("question: expected names and values")
        places = data.get("order")
        if places is not None and not (
            isinstance(places, list) and all(type(k) is int for k in places)
        ):
            raise ValueError("order: expected numbers of objectives")
        loaded = self.model(data.get("source"), None if places is None else tuple(places))
        count = loaded.mdp.num_objectives
        limits = data.get("thresholds", [])
        if not isinstance(limits, list) or len(limits) != count - 1:
            raise ValueError(f"thresholds: expected {count - 1} numbers")
        gamma, criterion = data.get("gamma", 1.0), data.get("criterion", "expected")
        check_range("gamma", gamma, 0, 1, above=True)
        check_kind("criterion", criterion, CRITERIA)
        order = Order([_threshold(limit) for limit in limits], names=loaded.labels)
        return Question(
            loaded,
            order,
            float(gamma),
            criterion,
            data.get("source"),
            tuple(range(count)) if places is None else tuple(places),
        )


def _load(mdp: MDP) -> Loaded:
    return Loaded(mdp, mdp.objective_labels)


def _threshold(limit: Any) -> float:
    if limit in ("inf", "-inf"):
        return float(limit)
    check_range("thresholds", limit, -_LARGEST, _LARGEST)
    return float(limit)
