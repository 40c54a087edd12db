"""The report of a training, or of several learners on one task: how well each seed does, and how sure the rates are.

A seed succeeds if its thresholds hold as its learner meant them: on average, or in a share of the episodes.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

from lexicone import plots
from lexicone._base.html import paragraphs, table
from lexicone._base.text import vector_text
from lexicone.exact._solution import Solution
from lexicone.exact._solve import solve
from lexicone.learning._diagnosis import diagnose
from lexicone.learning._result_model import Trained
from lexicone.models._reachability import reachable
from lexicone.order import Order
from lexicone.plots._curves import interval_of_mean
from lexicone.reports._common import Origin, again, in_python, made, question
from lexicone.reports._page import Section, badge, page, side_by_side
from lexicone.reports._pictures import Pictures
from lexicone.reports._solution import cost_section

__all__ = ["comparison_page", "training_page"]

EPISODES = 200
"""Evaluation episodes of each seed."""
_ON_AVERAGE = "on average"
_LEAST_DRAWN = 0.01  # actions less likely than that are not drawn


@dataclasses.dataclass(frozen=True)
class _Judged:
    """What sampled episodes of one training say, and for a model its exact values."""

    trained: Any
    held: np.ndarray
    """Whether all thresholds hold, for each seed."""
    meant: str
    """How they are meant to hold."""
    success: np.ndarray
    returns: np.ndarray
    exact: Solution | None
    gap: np.ndarray | None

    @property
    def won(self) -> int:
        return int(self.held.sum())

    @property
    def by_mean(self) -> bool:
        return self.meant == _ON_AVERAGE


def training_page(trained: Any, origin: Origin, title: str) -> str:
    """All of it; where it was learned on a model, with the exact optimum beside it."""
    pictures = Pictures()
    found = _judge(trained)
    learner = type(trained.learner).__name__
    criterion = getattr(trained.learner, "criterion", "expected")
    sections = [
        question(trained.order, trained.labels, criterion, None, _about(trained, learner)),
        _answer(found, pictures),
        _cost(found, pictures),
        _certainty({learner: found}),
        _curves({learner: found}, pictures),
        again(origin, _settings(trained), _python(trained)),
    ]
    rate = f"all thresholds hold {found.meant} on {found.won} of {trained.seeds} seeds"
    unfinished = (
        "" if int(trained.run.update) >= trained.updates else " The training is not finished."
    )
    return page(title, f"{learner}: {rate}.{unfinished}", sections, made())


def comparison_page(trainings: Mapping[str, Any], origin: Origin, title: str) -> str:
    """Several trainings for one order, each judged by sampled episodes."""
    pictures = Pictures()
    found = {name: _judge(trained) for name, trained in trainings.items()}
    first = next(iter(trainings.values()))
    criteria = {getattr(t.learner, "criterion", "expected") for t in trainings.values()}
    best = max(found, key=lambda name: found[name].won / len(found[name].success))
    settings = {name: repr(trained.learner) for name, trained in trainings.items()}
    sections = [
        question(first.order, first.labels, criteria.pop() if len(criteria) == 1 else "", None),
        Section("The answer", [_comparison_table(found)]),
        _cost(found[best], pictures),
        _certainty(found),
        _curves(found, pictures),
        again(origin, settings, ""),
    ]
    most = found[best].won / len(found[best].success)
    equal = [name for name, one in found.items() if one.won / len(one.success) == most]
    lead = f"{len(found)} learners. Most dependable here: {', '.join(equal)}, with {most:.0%} of seeds."
    if not most:
        lead = f"{len(found)} learners. None of them has a seed on which all thresholds hold."
    return page(title, lead, sections, made())


def _judge(trained: Any) -> _Judged:
    """By sampled episodes; means of a model's policies by their exact values."""
    sampled = trained.evaluate(EPISODES, seed=1)
    told = diagnose(trained.order, trained.learner, trained.history, sampled, trained.status)
    held, exact, gap = told.held, None, None
    if isinstance(trained, Trained) and told.criterion != "chance":
        exact = solve(trained.mdp, trained.order)
        gap = trained.gap(exact)
        if told.criterion == "expected":
            held = trained.order.satisfied(trained.values())
    shares = set(told.asked[np.isfinite(told.asked)].tolist())
    meant = (
        f"in {100 * min(shares):g} % of episodes"
        if len(shares) == 1
        else "in the shares of episodes asked for"
    )
    return _Judged(
        trained,
        np.asarray(held).all(axis=1) & ~trained.diverged,
        meant if shares else _ON_AVERAGE,
        sampled.success,
        sampled.returns.mean(axis=1),
        exact,
        gap,
    )


def _answer(found: _Judged, pictures: Pictures) -> Section:
    trained, order = found.trained, found.trained.order
    parts = [
        f"<p>{badge(f'thresholds hold on {found.won} of {trained.seeds} seeds', found.won == trained.seeds)}</p>",
        _seeds_table(found),
    ]
    if found.exact is not None:
        optimum = vector_text(order.in_units(found.exact.values))
        parts.append(
            paragraphs(
                f"The exact optimum, in expectation, is {optimum} ({found.exact.status}). A gap is how far the exact "
                f"expected values of a seed's policy stay behind it within {trained.learner.max_steps} steps, both cut "
                "at the thresholds."
            )
        )
    return Section("The answer", [*parts, _policies(found, pictures)])


def _seeds_table(found: _Judged) -> str:
    order, labels = found.trained.order, found.trained.labels
    head = [
        "seed",
        f"thresholds, {found.meant}",
        "episodes that meet all",
        *(f"mean {label}" for label in labels),
    ]
    head += [f"gap in {label}" for label in labels] if found.gap is not None else []
    rows = []
    for i, share in enumerate(found.success):
        row = [str(i), "hold" if found.held[i] else "missed", f"{share:.0%}"]
        row += [f"{value:.4g}" for value in order.in_units(found.returns[i])]
        if found.gap is not None:
            row += [f"{abs(value):.3g}" for value in order.in_units(found.gap[i])]
        rows.append(row)
    return table(head, rows)


def _policies(found: _Judged, pictures: Pictures) -> str:
    """The best seed's policy beside the exact one, on the map."""
    trained, exact = found.trained, found.exact
    if exact is None or trained.mdp.layout is None or trained.diverged.all():
        return ""
    best = _best_seed(found)
    learned = trained.policy(best)
    learned = np.where(learned < _LEAST_DRAWN, 0.0, learned)
    learned /= learned.sum(axis=1, keepdims=True)
    visited = reachable(trained.mdp.chain(learned), trained.mdp.initial > 0)
    visited = np.broadcast_to(visited[:, None], learned.shape)
    return side_by_side(
        pictures.show(
            plots.draw_model(trained.mdp, learned, visited),
            f"The policy of seed {best}, the best; actions below {_LEAST_DRAWN:.0%} are left out.",
        ),
        pictures.show(
            plots.draw_model(trained.mdp, exact.policy, exact.occupancy),
            "The exact optimum, in expectation.",
        ),
    )


def _best_seed(found: _Judged) -> int:
    """The one that is least behind the optimum, or with the most episodes that succeed."""
    if found.by_mean and found.gap is not None:
        lost = np.where(found.trained.diverged[:, None], np.inf, np.round(found.gap, 3))
        return int(np.lexsort(lost.T[::-1])[0])
    return int(np.argmax(np.where(found.trained.diverged, -1.0, found.success)))


def _comparison_table(found: Mapping[str, _Judged]) -> str:
    labels = next(iter(found.values())).trained.labels
    head = ["learner", "successful seeds", "episodes that meet all, mean of seeds"]
    head += [f"mean {label}" for label in labels]
    rows = []
    for name, one in found.items():
        means = one.trained.order.in_units(one.returns.mean(axis=0))
        row = [name, f"{one.won} of {len(one.success)}", f"{one.success.mean():.1%}"]
        rows.append([*row, *(f"{value:.4g}" for value in means)])
    return table(head, rows)


def _cost(found: _Judged, pictures: Pictures) -> Section:
    """What thresholds cost at the exact optimum; unknown for an environment."""
    if found.exact is None:
        note = "What a threshold costs is not known: there is no model of the environment to compute it from."
        if isinstance(found.trained, Trained):
            note = "What a threshold costs is computed for thresholds on average only."
        return Section("What each threshold costs", [paragraphs(note)])
    section = cost_section(found.exact, found.trained.mdp, pictures)
    return Section(section.title, [paragraphs("At the exact optimum:"), *section.parts])


def _certainty(found: Mapping[str, _Judged]) -> Section:
    """Intervals over seeds, since seeds are what differs."""
    rows = []
    for name, one in found.items():
        count, order = len(one.held), one.trained.order
        rate = stats.binomtest(one.won, count).proportion_ci(method="wilson")
        ends = [order.in_units(end) for end in interval_of_mean(one.returns)]
        means = [_interval(min(pair), max(pair), "{:.4g}") for pair in zip(*ends, strict=True)]
        (low,), (high,) = interval_of_mean(one.success[:, None])
        share = _interval(max(low, 0.0), min(high, 1.0), "{:.1%}")
        won = f"{one.won / count:.0%}"
        rows.append(
            [name, one.meant, str(count), won, f"{rate.low:.0%} to {rate.high:.0%}", share, *means]
        )
    labels = next(iter(found.values())).trained.labels
    head = (
        "learner",
        "thresholds hold",
        "seeds",
        "succeed",
        "95 % interval (Wilson)",
        "share of episodes that meet all",
    )
    exact = any(one.by_mean and one.exact is not None for one in found.values())
    note = (
        f"A learned policy has no proof. Each seed was judged by {EPISODES} sampled episodes, and succeeds if all "
        f"thresholds hold as its learner meant them{_EXACTLY if exact else ''}. Intervals are of 95 %, over seeds: "
        "what another seed would do."
    )
    return Section(
        "How sure", [paragraphs(note), table((*head, *(f"mean {label}" for label in labels)), rows)]
    )


_EXACTLY = " (on average: by the exact values of its policy)"


def _interval(low: float, high: float, form: str) -> str:
    if np.isnan(low) or np.isnan(high):
        return "none: one seed"
    return "all seeds alike" if low == high else f"{form.format(low)} to {form.format(high)}"


def _curves(found: Mapping[str, _Judged], pictures: Pictures) -> Section:
    first = next(iter(found.values()))
    histories = {name: one.trained.history for name, one in found.items()}
    exact = None if first.exact is None else first.exact.values
    order = Order(first.trained.order.levels, names=first.trained.labels)
    figure = plots.learning_curves(histories, order, optimum=exact)
    caption = (
        "Training: means over seeds with 95 % intervals, of the episodes that were learned from. Dashed: the "
        "threshold. Below: the share of episodes that meet it."
    )
    return Section("How it was learned", [pictures.show(figure, caption)])


def _about(trained: Any, learner: str) -> str:
    place = getattr(getattr(trained, "facts", None), "environment", None)
    where = f"in {place}" if place else "from samples of the model"
    episodes = np.asarray(trained.history["episodes"])[..., -1:].max(initial=0)
    steps = np.asarray(trained.history["steps"])[..., -1:].mean()
    return (
        f"Learned {where} by {learner}: {trained.seeds} independent runs (seeds), {int(episodes):,} episodes and "
        f"{steps:,.0f} steps each."
    )


def _settings(trained: Any) -> dict[str, Any]:
    shown = {field.name: getattr(trained.learner, field.name) for field in _fields(trained)}
    return {"learner": type(trained.learner).__name__, "seeds": trained.seeds, **shown} | {
        "updates": trained.updates
    }


def _fields(trained: Any) -> tuple[Any, ...]:
    return dataclasses.fields(trained.learner) if dataclasses.is_dataclass(trained.learner) else ()


def _python(trained: Any) -> str:
    changed = {}
    for field in _fields(trained):
        value = getattr(trained.learner, field.name)
        if field.default is dataclasses.MISSING or value != field.default:
            changed[field.name] = value
    given = ", ".join(f"{name}={value!r}" for name, value in changed.items())
    kind = type(trained.learner).__name__
    arguments = ("task", in_python(trained.order), f"lx.{kind}({given})", f"seeds={trained.seeds}")
    lines = "".join(f"    {line},\n" for line in (*arguments, f"updates={trained.updates}"))
    return f"import lexicone as lx\n\ntrained = lx.train(\n{lines})"
