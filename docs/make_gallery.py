"""Writes gallery.md and its pictures from the registry of tasks: ``python docs/make_gallery.py``.

Needs the extra ``gym``. The result is committed; a test says when it is out of date.
"""

from pathlib import Path

from lexicone import Order, solve
from lexicone.models import MDP
from lexicone.plots import draw_model
from lexicone.tasks import TASKS, Task, make

DOCS = Path(__file__).parent
PICTURES = DOCS / "figures" / "tasks"
SMALL = {
    "garnet": "8",
    "grid": "8",
}  # variants to draw of what is too large or too random to draw whole

HEAD = """# Tasks

The models that come with lexicone, each a function that returns an [`MDP`][lexicone.models.MDP]. `lexicone tasks`
lists them in the terminal, `lexicone tasks NAME` tells their options, `lexicone show NAME` draws one.

Blue is the exact optimum for the thresholds given. Its *key*, the values cut at their thresholds, is printed for the
first variant. This page is written from the registry by `docs/make_gallery.py`.

| task | objectives, most important first | states × actions | thresholds to try |
|---|---|---|---|
"""


def drawn(task: Task) -> list[str]:
    """The names of a task's models that are drawn: every variant of a maze, one of the others."""
    if task.name == "maze":
        return [f"{task.name}:{variant}" for variant in task.variants]
    variant = SMALL.get(task.name) or (task.variants[0] if task.variants else "")
    return [f"{task.name}:{variant}" if variant else task.name]


def thresholds(task: Task) -> str:
    """Its thresholds as text, with minus signs."""
    return ", ".join(f"{t:g}".replace("-", "−") for t in task.thresholds)


def picture(name: str) -> Path:
    """Where the picture of a model is kept."""
    return PICTURES / f"{name.replace(':', '-')}.png"


def discount(mdp: MDP) -> float:
    """1 where episodes end."""
    return 1.0 if mdp.terminal.any() else 0.99


def draw(task: Task, name: str) -> None:
    """The model with its optimal policy, as a picture."""
    mdp = make(name)
    found = solve(mdp, Order(task.thresholds), gamma=discount(mdp))
    figure = draw_model(mdp, found.policy, found.occupancy)
    picture(name).parent.mkdir(parents=True, exist_ok=True)
    dots = min(100.0, 1100 / figure.get_figwidth())
    figure.savefig(picture(name), dpi=dots, metadata={"Software": None})


def row(task: Task) -> str:
    """A line of the table at the top."""
    mdp = task.build()
    link = f"[`{task.name}`](#{task.name})"
    size = f"{mdp.num_states} × {mdp.num_actions}"
    return f"| {link} | {task.objectives} | {size} | {thresholds(task)} |\n"


def section(task: Task) -> str:
    """A task by itself: what it is, how to build it, its pictures."""
    mdp = task.build()
    names = mdp.objective_names or task.objectives.split(", ")
    plain = ", ".join(f"{t:g}" for t in task.thresholds)
    gamma = "" if discount(mdp) == 1 else f", gamma={discount(mdp):g}"
    best = solve(mdp, Order(task.thresholds), gamma=discount(mdp)).key
    key = ", ".join(f"{v + 0.0:.4g}" for v in best)
    lines = [
        f"## {task.name}",
        "",
        f"{task.description[0].upper()}{task.description[1:]}.",
        "",
        f"- **Objectives:** {', '.join(names)}.",
        f"- **Size:** {mdp.num_states} states, {mdp.num_actions} actions.",
    ]
    if task.variants:
        lines.append(f"- **Variants:** {', '.join(f'`{v}`' for v in task.variants)}.")
    if task.options:
        lines.append(f"- **Options:** {', '.join(f'`{name}`' for name in task.options)}.")
    if task.needs:
        lines.append(f"- **Needs** `pip install 'lexicone[{task.needs}]'`.")
    lines += [
        f"- **Reference:** [`tasks.{task.name}`][lexicone.tasks.{task.name}].",
        "",
        "```python",
        f"mdp = {task.example}".replace("'", '"'),
        f"print(lx.solve(mdp, lx.Order([{plain}]){gamma}).key)   # {key}",
        "```",
        "",
    ]
    names = drawn(task)
    shown = [f"![{name}](figures/tasks/{picture(name).name})" for name in names]
    lines += [
        " | ".join(cells).join(("| ", " |")) for cells in (names, ["---"] * len(names), shown)
    ]
    return "\n".join([*lines, ""])


def page() -> str:
    """The whole page."""
    top = HEAD + "".join(map(row, TASKS.values()))
    start = "\n```python\nimport lexicone as lx\n```\n\n"
    return top + start + "\n".join(map(section, TASKS.values()))


if __name__ == "__main__":
    for task in TASKS.values():
        for name in drawn(task):
            draw(task, name)
    (DOCS / "gallery.md").write_text(page())
