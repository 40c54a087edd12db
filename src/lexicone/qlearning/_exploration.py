"""Schedules and exploration of the value-based learners: small frozen objects whose numbers may be traced."""

from dataclasses import dataclass
from typing import Any

__all__ = ["EpsilonGreedy", "Schedule", "Softmax", "Visits", "as_schedule"]


@dataclass(frozen=True)
class Schedule:
    """From ``start`` to ``end``, reached after the share ``over`` of the run; then constant.

    ``shape`` is ``"linear"`` or ``"geometric"`` (both ends above 0). Without ``end`` it is constant.
    """

    start: float
    end: float | None = None
    over: float = 1.0
    shape: str = "linear"

    def __post_init__(self) -> None:
        if self.shape not in ("linear", "geometric"):
            raise ValueError(f"shape: expected linear or geometric, got {self.shape!r}")
        if not 0 < self.over <= 1:
            raise ValueError(f"over: must be above 0 and at most 1, got {self.over}")
        if self.shape == "geometric" and not min(self.ends) > 0:
            raise ValueError(f"end: a geometric schedule stays above 0, got {self.ends}")

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last value."""
        return self.start, self.start if self.end is None else self.end


def as_schedule(given: Any) -> Schedule:
    """A number is a constant schedule."""
    return given if isinstance(given, Schedule) else Schedule(float(given))


@dataclass(frozen=True)
class Visits:
    """A learning rate that falls with the visits n so far of a state and action: ``start·half/(half+n)``.

    ``Visits()`` is 1/(n+1): the table is then the mean of its targets.
    """

    start: float = 1.0
    half: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.start <= 1:
            raise ValueError(f"start: must be above 0 and at most 1, got {self.start}")
        if not self.half > 0:
            raise ValueError(f"half: must be above 0, got {self.half}")


@dataclass(frozen=True)
class EpsilonGreedy:
    """With probability ``rate`` any action, else the rule's choice."""

    rate: Schedule | float = Schedule(1.0, 0.05, over=0.5)

    def __post_init__(self) -> None:
        if not all(0 <= end <= 1 for end in as_schedule(self.rate).ends):
            raise ValueError(f"rate: must stay between 0 and 1, got {self.rate}")


@dataclass(frozen=True)
class Softmax:
    """Actions with probability ∝ ``exp(score/temperature)``; the score is the share of others it is chosen over.

    The tournament of Vamplew et al. 2017: thresholded values have no common scale, pairwise choices do not need one.
    """

    temperature: Schedule | float = Schedule(1.0, 0.05, over=0.5, shape="geometric")

    def __post_init__(self) -> None:
        if not all(end > 0 for end in as_schedule(self.temperature).ends):
            raise ValueError(f"temperature: must stay above 0, got {self.temperature}")
