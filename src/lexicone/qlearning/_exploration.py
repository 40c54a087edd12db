"""Schedules and exploration of the value-based learners: small frozen objects whose numbers may be traced."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from lexicone._base.checks import check_kind, check_range

__all__ = [
    "EpsilonGreedy",
    "ExplorationKind",
    "RateKind",
    "Schedule",
    "ScheduleShape",
    "Softmax",
    "Visits",
    "as_schedule",
]

ScheduleShape = Literal["linear", "geometric"]
RateKind = Literal["linear", "geometric", "visits"]
ExplorationKind = Literal["epsilon_greedy", "softmax"]


@dataclass(frozen=True)
class Schedule:
    """From ``start`` to ``end``, reached after the share ``over`` of the run; then constant.

    ``shape`` is ``"linear"`` or ``"geometric"`` (both ends above 0). Without ``end`` it is constant.
    """

    start: float
    end: float | None = None
    over: float = 1.0
    shape: ScheduleShape = "linear"

    def __post_init__(self) -> None:
        check_kind("shape", self.shape, get_args(ScheduleShape))
        check_range("over", self.over, 0, 1, above=True)
        check_range("start", self.start, -math.inf, math.inf, above=True, below=True)
        if self.end is not None:
            check_range("end", self.end, -math.inf, math.inf, above=True, below=True)
        if self.shape == "geometric" and not min(self.ends) > 0:
            raise ValueError(f"end: a geometric schedule stays above 0, got {self.ends}")

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last value."""
        return self.start, self.start if self.end is None else self.end


def as_schedule(given: Schedule | float, name: str = "rate") -> Schedule:
    """A number is a constant schedule."""
    if isinstance(given, Schedule):
        return given
    check_range(name, given, -math.inf, math.inf, above=True, below=True)
    return Schedule(float(given))


@dataclass(frozen=True)
class Visits:
    """A learning rate that falls with the visits n so far of a state and action: ``start·half/(half+n)``.

    ``Visits()`` is 1/(n+1): the table is then the mean of its targets.
    """

    start: float = 1.0
    half: float = 1.0

    def __post_init__(self) -> None:
        check_range("start", self.start, 0, 1, above=True)
        check_range("half", self.half, 0, math.inf, above=True, below=True)


@dataclass(frozen=True)
class EpsilonGreedy:
    """With probability ``rate`` any action, else the rule's choice."""

    rate: Schedule | float = Schedule(1.0, 0.05, over=0.5)
    kind: ClassVar[ExplorationKind] = "epsilon_greedy"

    def __post_init__(self) -> None:
        if not all(0 <= end <= 1 for end in self.schedule.ends):
            raise ValueError(f"rate: must stay between 0 and 1, got {self.rate}")

    @property
    def schedule(self) -> Schedule:
        """The rate over the run."""
        return as_schedule(self.rate)


@dataclass(frozen=True)
class Softmax:
    """Actions with probability ∝ ``exp(score/temperature)``; the score is the share of others it is chosen over.

    The tournament of Vamplew et al. 2017: thresholded values have no common scale, pairwise choices do not need one.
    """

    temperature: Schedule | float = Schedule(1.0, 0.05, over=0.5, shape="geometric")
    kind: ClassVar[ExplorationKind] = "softmax"

    def __post_init__(self) -> None:
        if not all(end > 0 for end in self.schedule.ends):
            raise ValueError(f"temperature: must stay above 0, got {self.temperature}")

    @property
    def schedule(self) -> Schedule:
        """The temperature over the run."""
        return as_schedule(self.temperature, "temperature")
