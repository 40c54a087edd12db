"""What became of a training, in words: which thresholds hold on fresh episodes, what was improved when, what collapsed.

All of it is computed from the history (`_course`) and from fresh episodes of the finished policies.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from lexicone._base.intervals import mean_intervals, share_intervals
from lexicone._base.text import vector_text
from lexicone.learning._course import BEYOND_CHANCE, LIKELY, Course
from lexicone.learning._result import Evaluation
from lexicone.order import Order

__all__ = ["Diagnosis", "Finding", "diagnose"]

_HALF, _FEW = 0.5, 0.05


class Finding(NamedTuple):
    """Something that went wrong, or may have."""

    kind: str
    """Of a threshold ``"collapsed"``, ``"fell below"``, ``"rising"``, ``"never met"`` or ``"missed"``; of the training
    ``"no ends"``, ``"long steps"``, ``"no direction"`` or ``"unfinished"``."""
    objective: int | None
    """Which, from 0; None where it is about all."""
    seeds: tuple[int, ...]
    text: str
    advice: tuple[str, ...]
    """What to try next."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What became of a training; as text, ``str(diagnosis)``."""

    order: Order
    criterion: str
    asked: Float[np.ndarray, " thresholds"]
    """The share of episodes that shall meet each threshold; NaN where the mean shall."""
    fresh: Evaluation
    held: Bool[np.ndarray, "N thresholds"]
    """Which thresholds the policies meet on fresh episodes, by the learner's criterion."""
    improved: Float[np.ndarray, "3 K"] | None
    """How often each objective was the one to improve, in the first, second and last third of the updates."""
    findings: tuple[Finding, ...]

    @property
    def all_held(self) -> bool:
        """Whether all thresholds hold on all seeds."""
        return bool(self.held.all())

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def standing(self) -> list[str]:
        """Which thresholds hold on fresh episodes."""
        seeds, episodes = self.fresh.lengths.shape
        lines = [f"On {episodes} fresh episodes of each seed:"]
        for k, (name, level) in enumerate(
            zip(self.order.labels, self.order.levels[:-1], strict=False)
        ):
            lines.append(
                f"  {name} {level.bound} {self._meaning(k)} holds on {self.held[:, k].sum()} of {seeds} seeds "
                f"({self._standing(k)})"
            )
        return [*lines, f"  {self.order.labels[-1]}: {self._mean(len(self.order) - 1)}"]

    def lines(self) -> list[str]:
        """What a person reads."""
        lines, seeds = self.standing(), len(self.held)
        if self.improved is not None and len(self.order) > 1:
            parts = [
                f"{name} {' → '.join(f'{share:.0%}' for share in self.improved[:, k])}"
                for k, name in enumerate(self.order.labels)
            ]
            lines.append(
                "Which objective was improved, in each third of the updates: "
                + "; ".join(parts)
                + "."
            )
        for finding in self.findings:
            lines.append(f"{finding.text}{_of_seeds(finding.seeds, seeds)}.")
            lines += [f"  Try: {advice}." for advice in finding.advice]
        if not self.findings:
            lines.append("Nothing collapsed, and nothing is missing.")
        return lines

    def _meaning(self, k: int) -> str:
        share = self.asked[k]
        return "on average" if np.isnan(share) else f"in {100 * share:g} % of episodes"

    def _standing(self, k: int) -> str:
        if np.isnan(self.asked[k]):
            return self._mean(k)
        shares = self.fresh.satisfied[:, k]
        episodes = self.fresh.lengths.size
        low, high = share_intervals(np.array(shares.mean()), episodes)
        return f"met in {shares.mean():.1%} of all episodes, {low:.1%} to {high:.1%}"

    def _mean(self, k: int) -> str:
        """Over seeds, or over the episodes of one, with an interval."""
        returns = self.fresh.returns[..., k]
        rows = returns.mean(axis=1) if len(returns) > 1 else returns[0]
        ends = mean_intervals(rows)
        shown = [self._in_units(k, number) for number in (rows.mean(), *ends)]
        low, high = sorted(shown[1:])
        if not np.isfinite([low, high]).all():
            return f"mean {_short(shown[0])}"
        over = "seeds" if len(returns) > 1 else "episodes"
        return f"mean {_short(shown[0])}; over {over} {_short(low)} to {_short(high)}"

    def _in_units(self, k: int, number: float) -> float:
        values = np.zeros(len(self.order))
        values[k] = number
        return float(np.asarray(self.order.in_units(values))[k])


def diagnose(
    order: Order, learner: Any, history: dict[str, np.ndarray], fresh: Evaluation, status: str
) -> Diagnosis:
    """What the history and fresh episodes say.

    Args:
        order: with the thresholds.
        learner: its settings, as far as it has the usual ones.
        history: as in `TrainingResult`; whatever a learner does not report is left out.
        fresh: episodes of the finished policies.
        status: how the training ended.
    """
    criterion = getattr(learner, "criterion", "expected")
    limits = np.asarray(order.thresholds)
    asked = np.full(len(limits), np.nan)
    if criterion == "episode":
        asked[:] = float(getattr(learner, "confidence", 0.9))
    elif criterion == "chance":
        asked = np.array([np.nan if p is None else p for p in order.chances], float)
    room = 1e-5 * np.where(np.isfinite(limits), np.maximum(1.0, np.abs(limits)), 0.0)
    by_mean = fresh.returns.mean(axis=1)[:, :-1] >= limits - room
    held = np.where(np.isnan(asked), by_mean, fresh.satisfied >= asked)
    course = Course.of(history, len(order))
    findings = [] if status == "finished" else [_unfinished(status)]
    if course is not None:
        for k in range(len(order) - 1):
            findings += _of_objective(k, order, learner, course, held[:, k])
        findings += _of_ends(course, held)
    findings += _of_steps(history)
    return Diagnosis(
        order, criterion, asked, fresh, held, _thirds(history, len(order)), tuple(findings)
    )


def _of_objective(
    k: int, order: Order, learner: Any, course: Course, held: np.ndarray
) -> list[Finding]:
    """Why a threshold does not hold, in the seeds in which that is so; each seed has one reason."""
    name, limit = order.labels[k], order.thresholds[k]
    left = [int(seed) for seed in np.flatnonzero(~held)]
    if not left or not np.isfinite(limit):  # infinite ones are maximised, never met
        return []
    found: list[Finding] = []

    def tell(kind: str, seeds: list[int], text: str, *advice: str) -> None:
        if seeds:
            found.append(Finding(kind, k, tuple(seeds), text, advice))
            left[:] = [seed for seed in left if seed not in seeds]

    falls = {seed: fall for seed in left if (fall := course.fall(seed, k)) is not None}
    if falls:
        high, low = (float(np.mean([fall[i] for fall in falls.values()])) for i in (0, 1))
        rose = _improved_meanwhile(order, course, falls, k)
        text = f"{name} fell from {high:.0%} to {low:.0%} of episodes"
        text += f" while {rose} improved" if rose else ""
        tell("collapsed", list(falls), text, *_against_collapse(learner, course))
    tell(
        "fell below",
        [seed for seed in left if _fell_below(course, seed, k, limit)],
        f"{name} was met on average, and is not any more",
        "a larger margin (buffer on models), so that noise does not carry it below",
    )
    half = course.returns.shape[1] // 2
    tell(
        "rising",
        [seed for seed in left if course.change(seed, k, half) > LIKELY],
        f"{name} is missed, but still rising",
        "train longer: resume=True with a larger budget (--resume with more --steps)",
    )
    tell(
        "never met",
        [seed for seed in left if course.met[seed, :, k].max() == 0],
        f"No episode of the whole training has met {name} {order.levels[k].bound}",
        "a threshold that can be reached (lx.solve tells for a model), or inf to have it maximised",
        f"more exploration: a larger entropy ({_setting(learner, 'entropy')})",
    )
    other = ("other seeds hold it: take one of those, or explore more",) if held.any() else ()
    more = f"more episodes per update ({_size(learner, course)}), or train longer"
    tell("missed", list(left), f"{name} is missed", more, *other)
    return found


def _improved_meanwhile(
    order: Order, course: Course, falls: dict[int, tuple[float, float, int]], k: int
) -> str:
    """The objectives that rose in most of these seeds while this one fell."""
    rose = []
    for j, name in enumerate(order.labels):
        if j == k:
            continue
        changes = [course.change(seed, j, since) > LIKELY for seed, (_, _, since) in falls.items()]
        if np.mean(changes) > _HALF:
            rose.append(name)
    return " and ".join(rose)


def _against_collapse(learner: Any, course: Course) -> tuple[str, ...]:
    advice = [f"a larger entropy ({_setting(learner, 'entropy')})"]
    if getattr(learner, "criterion", "") == "expected":
        advice.append('criterion="episode", which counts episodes instead of averaging returns')
    return (*advice, f"more episodes per update ({_size(learner, course)})")


def _fell_below(course: Course, seed: int, k: int, limit: float) -> bool:
    """Whether a window was above the threshold on average, and the last one is not, beyond chance."""
    best = int(np.argmax(course.returns[seed, :, k]))
    above = course.returns[seed, best, k] >= limit
    return bool(above and course.change(seed, k, best) < -BEYOND_CHANCE)


def _of_ends(course: Course, held: np.ndarray) -> list[Finding]:
    """Episodes that ended, and are now cut off. Good where it is a fall that ends them; told if something is amiss."""
    now, most = course.ended[:, -1], course.ended.max(axis=1)
    late = (now < _FEW) & (most > _HALF) & ~held.all(axis=1)
    seeds = tuple(np.flatnonzero(late).tolist())
    if not seeds:
        return []
    text = "Episodes used to end by themselves, and are now cut off"
    advice = ("a larger max_steps, if that is too short", "a reward for ending, or a cost of time")
    return [Finding("no ends", None, seeds, text, advice)]


def _of_steps(history: dict[str, np.ndarray]) -> list[Finding]:
    found = []
    for name, kind, text, advice in (
        (
            "stepped",
            "long steps",
            "The KL watch has stopped more than half of the policy's steps",
            "a smaller learning_rate, fewer epochs, or a larger target_kl",
        ),
        (
            "found",
            "no direction",
            "In more than half of the updates no direction improved what was missing without harm",
            "larger batches, or a smaller delta",
        ),
    ):
        share = np.asarray(history.get(name, np.ones((1, 1))))
        if share.ndim == 2 and share.size:
            seeds = tuple(np.flatnonzero(share.mean(axis=1) < _HALF).tolist())
            if seeds:
                found.append(Finding(kind, None, seeds, text, (advice,)))
    return found


def _unfinished(status: str) -> Finding:
    words = {"stopped": "was stopped by its callback", "interrupted": "was interrupted"}
    text = f"The training {words.get(status, 'is not finished')}: learning rate and entropy are not at their end yet"
    return Finding("unfinished", None, (), text, ("resume=True (--resume)",))


def _thirds(history: dict[str, np.ndarray], objectives: int) -> Float[np.ndarray, "3 K"] | None:
    share = np.asarray(history.get("improved", np.empty(0)))
    if share.ndim != 3 or share.shape[2] != objectives or share.shape[1] < 3:
        return None
    return np.stack([part.mean(axis=(0, 1)) for part in np.array_split(share, 3, axis=1)])


def _setting(learner: Any, name: str) -> str:
    value = getattr(learner, name, None)
    return "it has no such setting" if value is None else f"it was {value:g}"


def _size(learner: Any, course: Course) -> str:
    if not course.segments:
        return f"batch was {learner.batch}"
    return f"copies × length was {learner.copies} × {learner.length}"


def _of_seeds(seeds: tuple[int, ...], count: int) -> str:
    if not seeds or len(seeds) == count:
        return "" if not seeds or count == 1 else ", on all seeds"
    return f", on seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def _short(number: float) -> str:
    return vector_text([number], 3, brackets=False)
