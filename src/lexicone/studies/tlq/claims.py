"""Where thresholded lexicographic Q-learning works and where it fails: the paper's claims, computed (section TLQ).

Each claim is a function in one of the files beside this one. A claim that is finished is kept in the results file and
read from there as long as the settings are the same.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from lexicone import __version__
from lexicone._base.files import write_text
from lexicone._base.progress import progress_bars
from lexicone._base.text import plain_numbers, vector_text
from lexicone.studies.results import OneFile
from lexicone.studies.sweeps.cells import Computed
from lexicone.studies.sweeps.running import run_here
from lexicone.studies.tlq.cells import Finding, Watch
from lexicone.studies.tlq.early_late import claim_early_late
from lexicone.studies.tlq.goal import claim_goal, claim_other_reward, claim_undiscounted
from lexicone.studies.tlq.settings import Tlq
from lexicone.studies.tlq.tasks import claim_fruit_tree, claim_space_traders, claim_treasure
from lexicone.studies.tlq.variants import claim_variants
from lexicone.tasks._registry import make

__all__ = ["CLAIMS", "Claim", "Tlq", "as_markdown", "check_claims", "report", "row_of", "run"]


class Claim(NamedTuple):
    """What the paper says, where, and how it is tried here."""

    title: str
    statement: str
    reference: str
    compute: Callable[[Tlq, Watch], Finding]
    drawn: tuple[str, ...] = ()
    """The data that its figures draw. Results without them, of an earlier version, are computed again."""
    task: str | None = None
    """The task that it needs an extra for."""


CLAIMS = {
    1: Claim(
        "small maze, uniform thresholds",
        "No thresholds or slacks lead along (1,0) → (2,0) → (2,1) → (2,2) → (1,2), except absolute slack for γ < 0.62.",
        "Proposition TLQ-Fails; appendix Failing to Reach the Goal",
        claim_goal,
        ("gammas", "slacks", "reached", "boundary", "values"),
    ),
    2: Claim(
        "small maze, undiscounted threshold",
        "Without discounting all actions have the value τ₁, and the agent need not reach the goal.",
        "section TLQ, Problems with Endpoint Constraint",
        claim_undiscounted,
    ),
    3: Claim(
        "small maze, other reward",
        "Paying 0 at G and −1 elsewhere does not solve this, with or without discounting.",
        "appendix Failing to Reach the Goal",
        claim_other_reward,
    ),
    4: Claim(
        "early and late",
        "Avoiding HH and ignoring hh is out of reach of every thresholding method.",
        "appendix Failure to Sacrifice Early and Late",
        claim_early_late,
        ("optimum", "policies"),
    ),
    5: Claim(
        "variations",
        "TL-SARSA oscillates; cyclic selection needs lucky slacks; informed targets solve the small maze, oscillate "
        "without a buffer, and depend on the initial values.",
        "appendix Variations to TLQ",
        claim_variants,
        ("slacks", "maps", "runs"),
    ),
    6: Claim(
        "deep sea treasure",
        "TLQ works with an endpoint constraint and a terminating last objective.",
        "Vamplew et al. 2011; case I of section TLQ",
        claim_treasure,
        ("front", "tlq", "linear", "mixed"),
        task="deep_sea_treasure",
    ),
    7: Claim(
        "Space Traders",
        "With chance involved greedy TLQ settles on a policy that another one beats.",
        "Vamplew et al. 2022; not in the paper",
        claim_space_traders,
    ),
    8: Claim(
        "fruit tree, six objectives",
        "TLQ fails to find the desired leaf.",
        "section Experiments, experiment 3",
        claim_fruit_tree,
        task="fruit_tree",
    ),
}


def check_claims(numbers: Sequence[int]) -> tuple[int, ...]:
    """The numbers in order, each once; a ValueError if one does not exist."""
    for number in numbers:
        if number not in CLAIMS:
            raise ValueError(f"claims: there are {min(CLAIMS)} to {max(CLAIMS)}, got {number}")
    return tuple(sorted(set(numbers))) or tuple(CLAIMS)


def run(
    config: Tlq, out: Path, claims: Sequence[int] = (), *, console: Console | None = None
) -> dict[str, Any]:
    """Compute the claims that ``out/results.json`` does not have yet with these settings; all claims by default.

    The file is written after each, and ``out/table.md`` at the end. Returns what the file holds of these claims.
    """
    config.check()
    numbers = check_claims(claims)
    settings = {**asdict(config), "version": __version__}
    with progress_bars(console) as progress:
        whole = progress.add_task("claims", total=len(numbers))

        def watch(sequence: Sequence[Any], title: str) -> Iterator[Any]:
            part = progress.add_task(title, total=len(sequence))
            for item in sequence:
                yield item
                progress.advance(part)
            progress.remove_task(part)

        cells = [
            Computed(
                task_name=str(number),
                settings={**settings, "claim": number},
                compute=partial(_compute, number, config, watch),
            )
            for number in numbers
        ]
        kept = OneFile(out / "results.json", cells)
        for number, cell in zip(numbers, cells, strict=True):
            claim = CLAIMS[number]
            if not set(claim.drawn) <= set(kept.parts.get(cell.name, {}).get("data", ())):
                kept.parts.pop(cell.name, None)
            if claim.task is not None and cell.found(kept) is None:
                make(claim.task)  # so that an extra that is not installed is missed now
        for cell in cells:
            run_here([[cell]], kept)
            progress.advance(whole)
    results = {cell.name: kept.parts[cell.name] for cell in cells}
    write_text(out / "table.md", as_markdown(results))
    return results


def _compute(number: int, config: Tlq, watch: Watch) -> dict[str, Any]:
    claim, start = CLAIMS[number], time.perf_counter()
    found = claim.compute(config, watch)
    holds = [each.holds for each in found.cells]
    return _plain(
        {
            "title": claim.title,
            "statement": claim.statement,
            "reference": claim.reference,
            "holds": "yes" if all(holds) else "in part" if any(holds) else "no",
            "summary": found.summary,
            "cells": [asdict(each) for each in found.cells],
            "data": found.data,
            "seconds": round(time.perf_counter() - start, 2),
        }
    )


def report(results: dict[str, Any], console: Console) -> None:
    """A table for each claim on the terminal, and what was found about it."""
    for number, result in results.items():
        table = Table(title=f"{number}. {result['title']}: holds {result['holds']}", expand=True)
        for column, share in (("run", 5), ("what happened", 5), ("value, and the best", 4)):
            table.add_column(column, ratio=share)
        table.add_column("settings around it that do what was wanted; why", ratio=6)
        table.add_column("holds", no_wrap=True)
        for each in result["cells"]:
            preset, setting, happened, values, optimum, swept, holds = row_of(each)
            around = "; ".join(part for part in (swept, each["reason"]) if part)
            table.add_row(f"{preset}: {setting}", happened, f"{values}\n{optimum}", around, holds)
        console.print(table, highlight=False)
        console.print(
            f"The paper: {result['statement']} ({result['reference']})\n"
            f"Found: {result['summary']}\n",
            highlight=False,
        )


def as_markdown(results: dict[str, Any]) -> str:
    """The table and the findings as a page."""
    lines = ["# Thresholded lexicographic Q-learning: claims and what happens", ""]
    for number, result in results.items():
        lines += [
            f"## {number}. {result['title']}",
            "",
            f"*{result['statement']}* ({result['reference']})",
            "",
            f"Holds: **{result['holds']}**. {result['summary']}",
            "",
            "| preset | setting | what happened | way | value | optimum | tried around it | holds | why |",
            "|" + "---|" * 9,
        ]
        for each in result["cells"]:
            row = row_of(each)
            row.insert(3, " → ".join(each["trajectory"]))
            lines.append("| " + " | ".join([*row, each["reason"]]) + " |")
        lines.append("")
    return "\n".join(lines)


def row_of(each: dict[str, Any]) -> list[str]:
    """A cell's preset, setting, what happened, value, optimum, what was tried around it, whether the claim holds."""
    digits = 4 if len(each["values"]) < 4 else 2
    return [
        each["preset"],
        each["setting"],
        each["happened"],
        vector_text(each["values"], digits),
        vector_text(each["optimum"], digits),
        each["swept"],
        "yes" if each["holds"] else "no",
    ]


def _plain(found: Any) -> Any:
    """For JSON: tuples as lists, infinities as text."""
    if isinstance(found, dict):
        return {str(key): _plain(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [_plain(value) for value in found]
    if isinstance(found, float):
        return plain_numbers([found])[0]
    return found
