"""The Python lines that reproduce what the page shows."""

from typing import Any

from lexicone.web._questions import Question
from lexicone.web._sources import Opened, read_options

__all__ = ["script"]


def script(question: Question, opened: Opened) -> str:
    """A program; run, it prints the same values."""
    lines = ["import lexicone as lx", "", *_model_lines(question, opened)]
    names = question.mdp.objective_names
    if names is None and question.places != tuple(range(len(question.places))):
        lines.append(f"mdp = mdp.reorder({list(question.places)})")
    limits = question.order.thresholds
    if names is None:
        lines.append(f"order = lx.Order([{', '.join(map(_number, limits))}])")
    else:
        entries = [f"{name!r}: {_number(t)}" for name, t in zip(names[:-1], limits, strict=True)]
        lines.append(f"order = lx.Order({{{', '.join([*entries, f'{names[-1]!r}: None'])}}})")
    gamma = f"gamma={question.gamma!r}"
    if question.criterion == "episode":
        lines.append(f'found = lx.search(mdp, order, criterion="episode", {gamma})')
        lines.append("print(found.values, found.policy.chances.overall)")
    else:
        fixed = ', policies="deterministic"' if question.criterion == "deterministic" else ""
        lines.append(f"found = lx.solve(mdp, order, {gamma}{fixed})")
        lines.append("print(found)")
    if 2 <= len(question.order) <= 3:
        sequence = repr(list(names)) if names is not None else None
        whose = f"mdp.reorder({sequence})" if sequence else "mdp"
        lines.append(f"print(lx.pareto({whose}, {gamma}).values)  # the front")
    return "\n".join(lines) + "\n"


def _model_lines(question: Question, opened: Opened) -> list[str]:
    source: dict[str, Any] = question.source
    if "opened" in source:
        return list(opened.lines)
    if "file" in source:
        name = source.get("name")
        name = name if isinstance(name, str) and len(name) <= 200 else "model.npz"
        return [f"mdp = lx.MDP.load({name!r})"]
    if "task" in source:
        label, _, variant = source["task"].partition(":")
        label = label.replace("-", "_").lower()
        if label == "maze":
            return [f"mdp = lx.tasks.maze({variant or 'small'!r}{_options(source)})"]
        return [f"mdp = lx.tasks.make({source['task']!r})"]
    rows = source["drawing"]
    return ['drawing = """', *rows, '"""', f"mdp = lx.tasks.maze(drawing{_options(source)})"]


def _options(source: dict[str, Any]) -> str:
    options = read_options(source.get("options") or {})
    return "".join(f", {name}={value!r}" for name, value in options.items())


def _number(threshold: float) -> str:
    return f"float({str(threshold)!r})" if abs(threshold) == float("inf") else repr(threshold)
