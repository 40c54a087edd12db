"""The report of a reproduction: the paper's figures and numbers beside ours, of one experiment or of all."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lexicone._base.html import paragraphs, table, words
from lexicone._base.text import vector_text
from lexicone.reports._common import Origin, again, made
from lexicone.reports._page import Section, badge, code, page
from lexicone.reports._pictures import Pictures
from lexicone.studies.paper import PAPER_FIGURES
from lexicone.studies.tlq.claims import row_of

__all__ = ["experiment_of", "paper_page"]

_TITLES = {
    "lpa": "The optimisation benchmark",
    "tlq": "Claims about thresholded Q-learning",
    "exp1": "Experiment 1: path objective",
    "exp2": "Experiment 2: endpoint objective",
    "ftn": "Experiment 3: fruit tree",
}


def experiment_of(results: Any) -> str | None:
    """Which experiment a results file is of; None if of none."""
    if not isinstance(results, dict) or not results:
        return None
    keys = set(results)
    if {"runs", "paper", "starts", "optimum"} <= keys:
        return "lpa"
    if {"leaf", "tlq", "parts"} <= keys:
        return "ftn"
    if {"experiment", "parts", "paper"} <= keys:
        return str(results["experiment"]) if results["experiment"] in _TITLES else None
    claims = all(isinstance(v, dict) and {"statement", "cells"} <= set(v) for v in results.values())
    return "tlq" if claims else None


def paper_page(found: Mapping[str, Any], origin: Origin, title: str) -> str:
    """Experiments by name with their results: tables first, then every figure of the paper that belongs to them."""
    pictures = Pictures()
    whole = len(found) > 1
    sections = [Section("The question", [paragraphs(_QUESTION)])]
    sections += [
        Section(_TITLES[name], _TABLES[name](found[name])) for name in _TITLES if name in found
    ]
    sections += _figures(found, pictures, whole)
    command = origin.command or f"lexicone reproduce {'all' if whole else next(iter(found))}"
    sections.append(again(origin._replace(command=command), {}, ""))
    count = sum(1 for entry in PAPER_FIGURES.values() if _belongs(entry, found, whole))
    lead = f"{count} figures and {len(found)} experiments: what the paper reports, and what came out here."
    return page(title, lead, sections, made())


_QUESTION = (
    "Do the results of Tercan & Prabhu, Thresholded Lexicographic Ordered Multiobjective Reinforcement Learning (ECAI "
    "2024), come out again? Where the paper leaves settings open, they were filled in; where its formulas fail, they "
    "were corrected, and it is said so. The paper's own pictures are not copied here: their content is told in words."
)


def _lpa(results: dict[str, Any]) -> list[str]:
    best = results["optimum"]
    named = {
        "plain": "as in the paper",
        "active": "with active constraints, b = 0.01",
        "safe": "ours: exact directions, safe steps",
    }
    rows = []
    for name, words_ in named.items():
        paper, ours = results["paper"].get(name), results["runs"][name]
        reported = "" if paper is None else f"{paper[0]:.3f}, {paper[1]:.3f}"
        values = ours["values"]
        rows.append(
            (
                words_,
                reported,
                f"{values[0]:.5f}, {values[1]:.5f}",
                f"{max(best[1] - values[1], 0.0):.0e}",
                str(ours["steps"]),
            )
        )
    rows.append(("true optimum (SLSQP)", "", f"{best[0]:.5f}, {best[1]:.5f}", "", ""))
    many = results["starts"]
    note = (
        f"From {many['count']} random start points the safe ascent ends at most {many['worst_distance']:.1e} from the "
        f"optimum, after at most {many['most_steps']} steps."
    )
    head = ("ascent", "paper: F₁, F₂", "here: F₁, F₂", "short of the optimum", "steps")
    agrees = all(
        np.allclose(results["runs"][name]["values"], reported, atol=6e-4)
        for name, reported in results["paper"].items()
    )
    verdict = badge("the paper's numbers come out" if agrees else "other numbers come out", agrees)
    return [f"<p>{verdict}</p>", table(head, rows), paragraphs(note)]


def _maze(results: dict[str, Any]) -> list[str]:
    parts = results["parts"]
    head = ("", "paper", *(f"here, {part['title']}" for part in parts.values()), "exact optimum")
    lines: dict[str, tuple[str, Callable[[dict[str, Any]], str], str]] = {
        "successful seeds": (
            results["paper"],
            lambda p: f"{p['successful_seeds']} of {p['seeds']}",
            "",
        ),
        "95 % interval (Wilson)": (
            "",
            lambda p: f"{p['interval'][0]:.0%} to {p['interval'][1]:.0%}",
            "",
        ),
        "success, mean of seeds": ("", lambda p: f"{np.mean(p['success']):.1%}", "100%"),
        "returns, median seed": (
            "",
            lambda p: vector_text(np.round(np.median(p["returns"], axis=0), 9), 3),
            " or ".join(dict.fromkeys(vector_text(p["exact"], 3) for p in parts.values())),
        ),
        "threshold": ("not given", lambda p: vector_text(p["thresholds"], 3, brackets=False), ""),
        "episodes": ("", lambda p: f"{p['episodes']:,}", ""),
        "steps, mean of seeds": ("", lambda p: f"{p['steps']:,.0f}", ""),
    }
    rows = [
        (name, paper, *(show(part) for part in parts.values()), exact)
        for name, (paper, show, exact) in lines.items()
    ]
    notes = [
        f"A seed is successful: {results['success']}, with sampled actions.",
        *results["notes"],
    ]
    return [_within(results), table(head, rows), paragraphs("\n".join(map(str, notes)))]


def _within(results: dict[str, Any]) -> str:
    """Whether the paper's rate lies in the interval of the literal part."""
    part = results["parts"].get("literal")
    won, _, count = str(results["paper"]).partition(" of ")
    if part is None or not (won.isdigit() and count.isdigit()):
        return ""
    if part["episodes"] < part.get("usual_episodes", 0):
        said = f"{part['episodes']:,} episodes in place of {part['usual_episodes']:,}: too few to compare"
        return f"<p>{badge(said, False)}</p>"
    low, high = part["interval"]
    inside = low <= int(won) / int(count) <= high
    where = "within" if inside else "outside"
    said = f"the paper's {won} of {count} lies {where} the interval found here"
    return f"<p>{badge(said, inside)}</p>"


def _tree(results: dict[str, Any]) -> list[str]:
    claims = {"20": "below 1", "10": "below 1", "5": "below 1", "0": "fails"}
    rows = []
    for degrees, literal in results["parts"]["literal"].items():
        batched = results["parts"]["batched"][degrees]
        name = f"Δ = {degrees}°" + (" (hyperplane)" if degrees == "0" else "")
        ends = (_ends(part["probability"]) for part in (literal, batched))
        rows.append((name, claims.get(degrees, ""), *ends))
    for i, (tolerance, shares) in enumerate(results["tlq"].items()):
        mean = f"{np.mean(shares):.2f}"
        rows.append((f"TLQ, ties within {tolerance}", "fails" if i == 0 else "", mean, ""))
    note = (
        f"The probability of leaf {results['leaf']} at the end of training, mean of seeds (lowest to highest). The "
        "gradients of one episode are multiples of each other here, so the algorithm as printed never projects and its "
        "rows differ by nothing."
    )
    head = ("", "paper", "here, as printed", "here, with batches")
    return [table(head, rows), paragraphs(note)]


def _ends(probability: Any) -> str:
    last = np.asarray(probability)[:, -1]
    return f"{last.mean():.2f} ({last.min():.2f} to {last.max():.2f})"


def _claims(results: dict[str, Any]) -> list[str]:
    parts = []
    head = ("preset", "setting", "what happened", "value", "optimum", "tried around it", "holds")
    for number, claim in results.items():
        title = words(f"{number}. {claim['title']}")
        mark = badge(f"holds: {claim['holds']}", claim["holds"] == "yes")
        parts += [
            f"<h3>{title} {mark}</h3>",
            paragraphs(f"The paper: {claim['statement']} ({claim['reference']})"),
            paragraphs(f"Found: {claim['summary']}"),
            table(head, map(row_of, claim["cells"])),
        ]
    return parts


_TABLES: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "lpa": _lpa,
    "tlq": _claims,
    "exp1": _maze,
    "exp2": _maze,
    "ftn": _tree,
}


def _figures(found: Mapping[str, Any], pictures: Pictures, whole: bool) -> list[Section]:
    """The paper's figures in its order: what it shows, and ours."""
    parts = []
    for name, entry in PAPER_FIGURES.items():
        if not _belongs(entry, found, whole):
            continue
        drawn = entry.draw(found.get(entry.experiment or "", {}))
        if drawn is None:
            continue
        parts += [
            f"<h3>{words(name[0].upper() + name[1:])}</h3>",
            table(
                ("", ""),
                [("in the paper", entry.where), ("there", entry.shows), ("here", entry.ours)],
            ),
            pictures.show(drawn, f"ours: {name}."),
            code(entry.command),
        ]
    title = "Every figure of the paper, and ours" if whole else "The paper's figures, and ours"
    return [Section(title, parts)] if parts else []


def _belongs(entry: Any, found: Mapping[str, Any], whole: bool) -> bool:
    if entry.experiment is not None:
        return entry.experiment in found
    return whole or ("lpa" in found and entry.command.startswith("lexicone figure"))
