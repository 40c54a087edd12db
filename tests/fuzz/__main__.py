"""Wild calls of everything public: ``python -m tests.fuzz --cases 100000 --out tests/fuzz/results.json``.

The file has the number of outcomes for each callable. What breaks the rule is printed, and the exit code is then 1.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

from rich.progress import Progress

from tests.fuzz.outcomes import FINE, Outcome
from tests.fuzz.runs import run_cases


def main() -> int:
    """Run the cases, write the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--out", type=Path, help="a JSON file for the counts")
    given = parser.parse_args()
    numbers = range(given.first, given.first + given.cases)
    with Progress() as progress:
        task = progress.add_task("wild calls", total=given.cases)

        def show(number: int, outcome: Outcome) -> None:
            progress.advance(task)
            if outcome.kind not in FINE:
                progress.console.print(number, *outcome, sep=" | ", markup=False, soft_wrap=True)

        outcomes = run_cases(given.seed, numbers, show)
    findings = [outcome for outcome in outcomes if outcome.kind not in FINE]
    counts = count(outcomes)
    print(json.dumps(counts["outcomes"]))
    if given.out:
        given.out.write_text(json.dumps({"seed": given.seed, **counts}, indent=1) + "\n")
    return 1 if findings else 0


def count(outcomes: list[Outcome]) -> dict[str, object]:
    """In all, and for each callable."""
    by_name: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        by_name.setdefault(outcome.name, Counter())[outcome.kind] += 1
    return {
        "cases": len(outcomes),
        "outcomes": dict(sorted(Counter(o.kind for o in outcomes).items())),
        "callables": {name: dict(sorted(by_name[name].items())) for name in sorted(by_name)},
    }


if __name__ == "__main__":
    raise SystemExit(main())
