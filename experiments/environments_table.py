"""Writes docs/environments.md's tables from the results of `environments.py` and of benchmarks/environments.py.

python experiments/environments_table.py
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "environments.md"
MARK = "<!-- {} -->\n"  # before a table, its name
SIDES = ("lexicone", "stable-baselines3")


def number(value: float) -> str:
    """Three digits, a minus as print has it."""
    return f"{value:.3g}".replace("-", "−")


def thresholds() -> list[list[str]]:
    """A row for each task that was run, in the order of the study."""
    rows = [
        [
            "task",
            "objectives",
            "thresholds",
            "steps",
            "seeds that meet all",
            "mean returns",
            "worst of each",
        ]
    ]
    for path in sorted(ROOT.glob("experiments/environments/*.json"), key=_place):
        found = json.loads(path.read_text())
        rows.append(
            [
                found["task"],
                found["objectives"],
                _list(found["thresholds"]),
                f"{found['steps']:,}",
                f"{found['met']} of {found['seeds']}",
                _list(found["mean"]),
                _list(found["worst"]),
            ]
        )
    return rows


def speed() -> list[list[str]]:
    """Steps per second, and how many times as fast, by the wall and by the processor."""
    rows = [["task", *(f"{side}, steps/s" for side in SIDES), "times as fast", "by processor time"]]
    for found in json.loads((ROOT / "benchmarks/results/environments.json").read_text())["rows"]:
        each = [f"{found['steps_per_second'][side]:,}" for side in SIDES]
        times = [found[f"times_as_fast{by}"][SIDES[0]] for by in ("", "_by_processor")]
        rows.append([found["task"], *each, *(f"{t:.1f}" for t in times)])
    return rows


TABLES: dict[str, Any] = {"thresholds": thresholds, "speed": speed}
ORDER = (
    "pure-functions",
    "point-mass",
    "own-cart",
    "own-heater",
    "mountain-car",
    "minecart",
    "water-reservoir",
    "lunar-lander",
    "hopper",
    "gymnax-cart-pole",
)


def _place(path: Path) -> int:
    return ORDER.index(path.stem)


def _list(values: list[float]) -> str:
    return ", ".join(map(number, values))


def with_tables(text: str) -> str:
    """The text with its tables as the results have them."""
    for name, table in TABLES.items():
        head, *rows = table()
        lines = [head, ["---"] * len(head), *rows]
        written = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        text = re.sub(
            rf"({re.escape(MARK.format(name))})(\|[^\n]*\n)*",
            lambda found, written=written: found[1] + written,
            text,
        )
    return text


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
