"""The paper's figures, one by one: what each shows, which command draws ours, and from which results."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from lexicone import plots
from lexicone.studies import fruit_tree, lpa, policy_gradient
from lexicone.studies.tlq.figures import FIGURES
from lexicone.tasks import maze

__all__ = ["EXPERIMENTS", "PAPER_FIGURES", "PaperFigure"]

EXPERIMENTS = ("lpa", "tlq", "exp1", "exp2", "ftn")
"""The parts of ``lexicone reproduce all``, each with a folder of its own."""


class PaperFigure(NamedTuple):
    """One figure of the paper."""

    where: str
    """Section or appendix."""
    shows: str
    """What it shows and reports there."""
    ours: str
    """What ours shows, and where it differs."""
    command: str
    experiment: str | None
    """Whose results it is drawn from; None if it needs none."""
    draw: Callable[[Any], Figure | None]
    """From these results; None where they have no such part."""


def _maze(variant: str) -> Callable[[Any], Figure]:
    return lambda _: plots.draw_model(maze(variant))


def _lpa(name: str) -> Callable[[Any], Figure]:
    return lambda _: lpa.figure(name)


def _one_of(name: str) -> Callable[[Mapping[str, Any]], Figure | None]:
    return lambda results: policy_gradient.figures(dict(results)).get(name)


def _claim(name: str) -> Callable[[Mapping[str, Any]], Figure | None]:
    claim, make = FIGURES[name]
    return lambda results: make(results[claim]["data"]) if claim in results else None


PAPER_FIGURES: dict[str, PaperFigure] = {
    "small maze": PaperFigure(
        "section TLQ, MAZE Benchmark",
        "The 3 × 3 maze on which TLQ does not reach the goal.",
        "The same maze. Whether TLQ reaches the goal depends on γ, slacks and ties: the map below.",
        "lexicone show maze:small",
        None,
        _maze("small"),
    ),
    "where absolute slack works": PaperFigure(
        "appendix Failing to Reach the Goal (in words)",
        "Absolute slacks can work only for γ below about 0.62.",
        "Every γ and slack of a grid, computed: the limit is 0.618, the golden ratio.",
        "lexicone reproduce tlq --claims 1",
        "tlq",
        _claim("tlq-region"),
    ),
    "values over steps": PaperFigure(
        "section Lexicographic Projection Algorithm, Experiment",
        "F₁ and F₂ along the ascent; it ends at (−0.450, −0.580).",
        "The same. The printed F₁ has +xy; the reported numbers belong to −xy and α = 0.02.",
        "lexicone figure values",
        None,
        _lpa("values"),
    ),
    "extended maze": PaperFigure(
        "section Experiments, experiment 1",
        "The 4 × 5 maze of experiment 1.",
        "The same.",
        "lexicone show maze:extended --set objectives=path",
        None,
        _maze("extended"),
    ),
    "experiment 1, one seed": PaperFigure(
        "section Experiments, experiment 1",
        "Satisfaction of both objectives for one successful seed; 7 of 10 seeds succeed.",
        "The paper's algorithm, with the settings that it does not give filled in.",
        "lexicone reproduce exp1",
        "exp1",
        _one_of("literal-one-seed"),
    ),
    "experiment 2, one seed": PaperFigure(
        "section Experiments, experiment 2",
        "Satisfaction of both objectives for one successful seed; 4 of 10 seeds succeed.",
        "The paper's algorithm, with the settings that it does not give filled in.",
        "lexicone reproduce exp2",
        "exp2",
        _one_of("literal-one-seed"),
    ),
    "fruit tree": PaperFigure(
        "section Experiments, experiment 3",
        "The probability of the desired leaf for Δ = 20°, 10°, 5°, for the hyperplane and TLQ, mean of three seeds.",
        "Left the algorithm as printed, for which Δ has no effect at all; right with batches.",
        "lexicone reproduce ftn",
        "ftn",
        lambda results: fruit_tree.figure(results),
    ),
    "early and late maze": PaperFigure(
        "appendix Failure to Sacrifice Early and Late",
        "The 3 × 11 maze on which every thresholding method is said to fail.",
        "What each preset does on it: two of them do reach the natural policy.",
        "lexicone reproduce tlq --claims 4",
        "tlq",
        _claim("tlq-early-late"),
    ),
    "geometry of the projection": PaperFigure(
        "appendix Lexicographic Projection Algorithm",
        "How a vector lies to the hypercone and its projection.",
        "The same, with the apex, where the printed formula fails.",
        "lexicone figure geometry",
        None,
        _lpa("geometry"),
    ),
    "the half-space fails": PaperFigure(
        "appendix Lexicographic Projection Algorithm",
        "Projecting onto the half-space lowers F₁ from 0.5 to 0.4.",
        "The same with numbers that are computed.",
        "lexicone figure halfspace",
        None,
        _lpa("halfspace"),
    ),
    "the cone keeps": PaperFigure(
        "appendix Lexicographic Projection Algorithm",
        "Projecting onto the hypercone keeps F₁ at 0.5 or above.",
        "The same with numbers that are computed.",
        "lexicone figure cone",
        None,
        _lpa("cone"),
    ),
    "trajectory": PaperFigure(
        "appendix Lexicographic Projection Algorithm",
        "The path without active constraints, α = 0.2.",
        "The same with α = 0.02, which the reported numbers belong to.",
        "lexicone figure trajectory",
        None,
        _lpa("trajectory"),
    ),
    "trajectory, active constraints": PaperFigure(
        "appendix Lexicographic Projection Algorithm",
        "The path with active constraints and b = 0.01.",
        "The same with α = 0.02; α = 0.2 ends in a cycle.",
        "lexicone figure trajectory-active",
        None,
        _lpa("trajectory-active"),
    ),
    "values, active constraints": PaperFigure(
        "appendix Lexicographic Projection Algorithm",
        "F₁ and F₂ along that path; it ends at (−0.496, −0.554).",
        "The same.",
        "lexicone figure values-active",
        None,
        _lpa("values-active"),
    ),
    "maze of experiment 2": PaperFigure(
        "appendix Reachability Experiment",
        "The 3 × 5 maze of experiment 2.",
        "The same.",
        "lexicone show maze:concave",
        None,
        _maze("concave"),
    ),
    "experiment 2, all seeds": PaperFigure(
        "appendix Reachability Experiment",
        "The mean of ten seeds and two standard deviations around it.",
        "The same, with every seed drawn, and beside it the learner with batches.",
        "lexicone reproduce exp2",
        "exp2",
        _one_of("all-seeds"),
    ),
}
"""By a short name, in the paper's order."""
