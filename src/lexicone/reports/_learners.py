"""The reports of the study of learners and of studies of one's own, from their results alone."""

from typing import Any

from lexicone._base.html import bullets, paragraphs, table
from lexicone.reports._common import Origin, again, made
from lexicone.reports._page import Section, page
from lexicone.reports._pictures import Pictures
from lexicone.studies.learners.report import COLUMNS, explanation, figures, row
from lexicone.studies.sweeps.outcome import StudyResult

__all__ = ["is_own_study", "is_study", "learners_page", "study_page"]

_CAPTIONS = {
    "learners": "Learner by task: the share of seeds that succeed, and its 95 % interval.",
    "learners-training": "Over training: the paper's learner and ours, every seed.",
    "learners-training-all": "Over training: all learners, means of seeds with 95 % intervals.",
    "learners-delta": "The share of seeds that succeed for each Δ.",
}


_MOST = (
    "Most dependable for each task: the learner whose 95 % interval begins highest, so that many seeds count for more "
    "than few; of equals, the one with the fewest steps."
)


def is_study(results: Any) -> bool:
    """Whether a results file is that of the study."""
    return bool(results) and all(
        isinstance(cell, dict) and {"learner", "task", "interval", "goals"} <= set(cell)
        for cell in results.values()
    )


def learners_page(results: dict[str, Any], origin: Origin, title: str) -> str:
    """All cells, figures, and what counts as success."""
    pictures = Pictures()
    cells = list(results.values())
    tasks = list(dict.fromkeys(cell["title"] for cell in cells))
    learners = list(dict.fromkeys(cell["learner"] for cell in cells))
    asked_for = dict.fromkeys((cell["title"], cell["criterion"]) for cell in cells)
    winners = []
    for task, criterion in asked_for:
        rivals = [c for c in cells if (c["title"], c["criterion"]) == (task, criterion)]
        best = max(rivals, key=lambda c: (c["interval"][0], c["rate"], -c["steps"]))
        low, high = best["interval"]
        winners.append(
            f"{task} ({criterion}): {best['learner']}, {best['rate']:.0%} of {best['seeds']} seeds ({low:.0%} to "
            f"{high:.0%}), {best['steps']:,.0f} steps each"
        )
    drawn = [
        pictures.show(figure, _CAPTIONS.get(name, name))
        for name, figure in figures(results).items()
    ]
    asked = (
        f"Which of {len(learners)} learners solves which of {len(tasks)} tasks, and how dependably? All have the same "
        "episodes and one configuration for all tasks, but the paper's own, which has its settings."
    )
    several = [cell for cell in cells if len(cell["goals"]) > 1]
    goals = [
        f"{cell['title']}, {cell['learner']}, of {cell['seeds']} seeds: "
        + "; ".join(f"{goal['label']}: {goal['won']}" for goal in cell["goals"])
        for cell in several
    ]
    study = cells[0].get("settings", {}).get("study", {})
    sections = [
        Section(
            "The question", [paragraphs(asked), paragraphs(explanation(results, "mean (median)"))]
        ),
        Section(
            "The answer",
            [paragraphs(_MOST), bullets(winners)],
        ),
        Section("Every cell, and how sure", [table(COLUMNS, map(row, cells))]),
        Section("Pictures", drawn),
        Section("Goal by goal", [bullets(goals)] if goals else []),
        again(origin, study, ""),
    ]
    lead = f"{len(learners)} learners, {len(tasks)} tasks, {len(cells)} cells."
    return page(title, lead, sections, made())


def is_own_study(results: Any) -> bool:
    """Whether a results file is that of ``lexicone study``."""
    return (
        isinstance(results, dict)
        and isinstance(cells := results.get("cells"), list)
        and bool(cells)
        and all(
            isinstance(c, dict) and {"task", "learner", "values", "held"} <= set(c) for c in cells
        )
    )


def study_page(found: StudyResult, origin: Origin, title: str) -> str:
    """A verdict by the order itself, every cell with its intervals, and every pair of learners."""
    pictures = Pictures()
    tasks = {cell["task"]: cell for cell in found.cells}
    asked = [_asked(name, cell) for name, cell in tasks.items()]
    head, *rows = found.rows()
    columns, *pairs = found.comparison_rows()
    missing = f"{found.missing} cells are not done yet." if found.missing else ""
    caption = (
        "For each task: the share of seeds for which all thresholds hold, with its interval, and the last objective of "
        "every seed beside the optimum where it is known."
    )
    drawn = pictures.show(found.figure(), caption)
    sections = [
        Section(
            "The question", [paragraphs("Which learner is best, in this order?"), bullets(asked)]
        ),
        Section(
            "The answer", [paragraphs(found.verdict()), paragraphs(missing), table(head, rows)]
        ),
        Section("How sure", [paragraphs(_SURE), table(columns, pairs) if pairs else ""]),
        Section("Pictures", [drawn]),
        again(origin, {}, ""),
    ]
    learners = dict.fromkeys(cell["learner"] for cell in found.cells)
    lead = f"{len(learners)} learners, {len(tasks)} {'task' if len(tasks) == 1 else 'tasks'}."
    return page(title, lead, sections, made())


_SURE = (
    "Intervals are over seeds: what another seed would do; Wilson's of shares, else bootstraps. The last objective is "
    "its interquartile mean over seeds. Two learners are compared seed against seed by the order (how often one is "
    "better), and by how much their last objectives differ, seeds in pairs; p is Mann and Whitney's, corrected for all "
    "pairs on a task (Holm)."
)


def _asked(name: str, cell: dict[str, Any]) -> str:
    limits = [f"{float(t):g}" for t in cell["thresholds"]]
    labels = cell.get("objectives") or [f"objective {k + 1}" for k in range(len(limits) + 1)]
    wanted = [f"{label} at least {limit}" for label, limit in zip(labels, limits, strict=False)]
    return f"{name}: {', then '.join([*wanted, f'{labels[-1]} as high as possible'])}"
