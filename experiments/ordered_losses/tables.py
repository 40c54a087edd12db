"""Writes the tables of results.md from the results beside it.

python experiments/ordered_losses/tables.py
"""

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
MARK = "<!-- {} -->\n"  # before a table in results.md, the name of its results

COLUMNS = {
    "screening": {
        "bound holds on validation": ("holds on validation", "{:.0%}"),
        "on test": ("holds on test", "{:.0%}"),
        "missed on test": ("missed", "{:.1%}"),
        "false alarms": ("false alarms", "{:.1%}"),
        "log loss": ("log loss", "{:.3f}"),
        "size": ("size", "{:.1f}"),
    },
    "digits": {
        "cross-entropy": ("class", "{:.4f}"),
        "drawing": ("drawing", "{:.4f}"),
        "size of weights": ("size", "{:.4f}"),
        "held-out accuracy": ("held-out accuracy", "{:.1%}"),
    },
    "truss": {
        "limits hold": ("limits hold", "{:.0%}"),
        "median weight": ("median weight", "{:.3f}"),
        "best weight": ("best weight", "{:.3f}"),
        "within 1 % of the best": ("within 1 % of the best of all", "{:.0%}"),
        "seconds": ("seconds", "{:.0f}"),
    },
}


def table(name: str) -> str:
    """The results of one example as Markdown."""
    columns = COLUMNS[name]
    lines = [["method", *columns], ["---"] * (len(columns) + 1)]
    for method, row in json.loads((HERE / f"{name}.json").read_text()).items():
        lines.append([method, *(text.format(row[key]) for key, text in columns.values())])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def with_tables(text: str) -> str:
    """The text with its tables as the results have them."""
    for name in COLUMNS:
        mark = re.escape(MARK.format(name))
        text = re.sub(
            rf"({mark})(\|[^\n]*\n)*", lambda found, name=name: found[1] + table(name), text
        )
    return text


def main() -> None:
    """The command."""
    path = HERE / "results.md"
    path.write_text(with_tables(path.read_text()))


if __name__ == "__main__":
    main()
