"""The subcommands for the value-based family: ``lexicone reproduce tlq`` and ``lexicone inspect``."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional

from lexicone._base.text import plain_numbers, vector_text
from lexicone.cli._options import Drawn, Threshold, build, check_folder, make_order
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.studies.tlq.settings import Tlq

__all__ = ["Inspect", "ReproduceTlq"]

_MAX_STATES_WITHOUT_CHANCE = 50  # up to which the best deterministic policy is found in no time


@dataclass(frozen=True)
class ReproduceTlq(Drawn, Tlq):
    """Where thresholded lexicographic Q-learning works and where it fails: eight claims, each computed.

    Claims that were finished with the same settings are read from results.json, so an interrupted run goes on.

    Examples:
      lexicone reproduce tlq
      lexicone reproduce tlq --claims 1 5 --out results
      lexicone reproduce tlq --points 61 --seeds 50
    """

    out: Path = Path("runs/tlq")
    """The folder to write to: results.json, table.md and figures."""
    claims: tuple[int, ...] = ()
    """Which claims, 1 to 8; all by default."""

    def run(self, console: Console) -> None:
        """Computes, prints and draws."""
        check_folder(self.out)
        from lexicone.studies.tlq import claims, figures

        config = Tlq(**{field.name: getattr(self, field.name) for field in fields(Tlq)})
        results = claims.run(config, self.out, self.claims, console=console)
        figures.show(results, console)
        claims.report(results, console)
        with console.status("drawing …"):
            figures.draw(results, self.out)
        console.print(f"results.json, table.md and figures are in {self.out}/", highlight=False)


@dataclass(frozen=True)
class Inspect:
    """What kinds of objectives a task has, and what the paper says of thresholded Q-learning on them.

    With --presets every preset is run on the model and its result compared with the exact optimum.

    Examples:
      lexicone inspect maze:small
      lexicone inspect space-traders --thresholds 0.88 --presets
      lexicone inspect maze:extended --set objectives=path --thresholds -3 --gamma 0.9 --json
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt (a drawing), road_trip:FILE.csv, or a model saved as FILE.npz."""
    thresholds: tuple[Threshold, ...] = ()
    """K−1 thresholds, most important first; -inf: never matters. By default the task's own, or inf: maximise."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE."""
    objectives: tuple[str, ...] = ()
    """The task's objectives in this sequence, by name or number from 1; those not listed are left out."""
    gamma: float = 1.0
    """Discount factor, above 0 and at most 1."""
    horizon: int | None = None
    """Steps after which an episode counts as endless; by default one more than there are states."""
    presets: bool = False
    """Also run every preset and compare it with the exact optimum."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self, console: Console) -> None:
        """Classifies, predicts and prints."""
        from lexicone.qlearning._taxonomy import predict

        mdp = build(self.task, self.set, self.objectives)
        limits = self.thresholds or _default_thresholds(self.task, mdp)
        order = make_order(mdp, limits, self.task).at_gamma(self.gamma)
        found = predict(mdp, order, gamma=self.gamma, horizon=self.horizon)
        tried = _try_presets(mdp, order, self.gamma) if self.presets else []
        if self.json:
            report = {
                "objectives": [
                    {
                        "name": kind.label,
                        "constrained": kind.constrained,
                        "terminating": kind.terminating,
                        "endpoint": kind.endpoint,
                    }
                    for kind in found.kinds
                ],
                "thresholds": plain_numbers(order.thresholds),
                "gamma": self.gamma,
                "case": found.case,
                "works": found.works,
                "message": found.message,
                "reference": found.reference,
                "presets": tried,
            }
            print(json.dumps(report, indent=2))
            return
        table = Table()
        for column in ("objective", "threshold", "kind", "best endless", "worst ending"):
            table.add_column(column, justify="right" if "st " in column else "left")
        best = order.in_units([kind.best_endless for kind in found.kinds])
        worst = order.in_units([kind.worst_ending for kind in found.kinds])
        for k, (kind, level) in enumerate(zip(found.kinds, order.levels, strict=True)):
            table.add_row(
                kind.label,
                "none" if level.plain and level.amount is None else str(level),
                str(kind).partition(", ")[2],
                "" if kind.best_endless == -np.inf else f"{best[k]:.4g}",
                "" if kind.worst_ending == np.inf else f"{worst[k]:.4g}",
            )
        console.print(table)
        verdict = {True: "works, by the paper", False: "fails, by the paper", None: "no claim"}
        console.print(
            f"TLQ: {verdict[found.works]} ({found.case}). {found.message} [{found.reference}]",
            highlight=False,
            markup=False,
        )
        if tried:
            console.print(_presets_table(tried))


def _default_thresholds(task: str, mdp: MDP) -> tuple[float, ...]:
    """The thresholds of the registry where they fit, else +∞."""
    from lexicone.tasks import TASKS

    entry = TASKS.get(task.partition(":")[0].replace("-", "_"))
    wanted = mdp.num_objectives - 1
    if entry is not None and len(entry.thresholds) == wanted:
        return entry.thresholds
    return (np.inf,) * wanted


def _try_presets(mdp: MDP, order: Order, gamma: float) -> list[dict[str, Any]]:
    """The exact optimum, of small models also without chance, and what each preset ends with."""
    from lexicone.exact._solve import solve
    from lexicone.qlearning._iterate import tlq_iterate
    from lexicone.qlearning._rules import PRESETS

    optima = [solve(mdp, order, gamma=gamma)]
    if mdp.num_states <= _MAX_STATES_WITHOUT_CHANCE:
        optima.append(solve(mdp, order, gamma=gamma, policies="deterministic"))
    best, rows = optima[-1].values, []
    for each in optima:
        rows.append(
            {
                "rule": f"exact optimum, {each.policies} policies",
                "status": each.status,
                "values": plain_numbers(each.values),
                "gap": plain_numbers(order.gap(each.values, best)),
            }
        )
    for name, rule in PRESETS.items():
        if rule.update.clips and -np.inf in order.thresholds:
            continue  # it would clip every value to −∞
        found = tlq_iterate(mdp, order, name, gamma=gamma)
        rows.append(
            {
                "rule": name,
                "status": found.status,
                "values": plain_numbers(found.values),
                "gap": plain_numbers(order.gap(found.values, best)),
            }
        )
    return rows


def _presets_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="gap: how far behind the last optimum, counted up to the thresholds")
    for column in ("rule", "status", "values", "gap"):
        table.add_column(column)
    for row in rows:
        vectors = (vector_text(row[name], brackets=False) for name in ("values", "gap"))
        table.add_row(row["rule"], row["status"], *vectors)
    return table
