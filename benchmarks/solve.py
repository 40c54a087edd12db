"""How long the exact optimum takes: column generation, HiGHS on the whole linear program, and Storm.

    python benchmarks/solve.py [--kinds garnet grid] [--sizes 1000 10000 100000] [--limit 120]
                               [--json benchmarks/results/solve.json]

Garnets (4 actions, 3 random successors) and slippery grids with three objectives, γ=.99. Thresholds are the
values of an even mixture of the three policies that are best for one objective each, so they can be met and they
bind. Every measurement is a process of its own; seconds are of processor time and of solving alone, megabytes the
peak of the whole process, model included. All solvers have one thread, and column generation a second time as many as
it likes, as users run it. Storm (if stormpy is installed) answers the query that is left when one knows that the
thresholds can be met: one constrained problem instead of three stages. A contestant that passes the time limit is not
tried on larger models. All answers for a model are compared with that of column generation: a relative difference
above 10⁻⁵, for Storm 10⁻³, ends the run with an error. The file of results keeps what it has of other models.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

KINDS = ("garnet", "grid")
GAMMA = 0.99
CONTESTANTS = {
    "columns": "columns",
    "default": "columns, default threads",
    "lp": "HiGHS",
    "storm": "Storm",
}
ACCURACY = {
    "default": 1e-5,
    "lp": 1e-5,
    "storm": 1e-3,
}  # relative: how far an answer may be from column generation's
BUILT_IN_A_SECOND = 8000  # states, at least, for the model and Storm's file of it
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def build(kind: str, size: int) -> Any:
    from lexicone.tasks import garnet, grid

    return garnet(size) if kind == "garnet" else grid(round(math.sqrt(size)))


def find_thresholds(mdp: Any) -> list[float]:
    import numpy as np

    from lexicone.exact._policy_iteration import best_policy
    from lexicone.exact._state_actions import all_state_actions
    from lexicone.models._chain import Chain

    pairs = all_state_actions(mdp, GAMMA)
    values = []
    for reward in pairs.reward.T:
        policy = best_policy(pairs, reward, pairs.first).policy
        often = Chain(pairs.next[policy]).visits(pairs.initial)
        values.append(often @ pairs.reward[policy])
    return np.mean(values, axis=0)[:-1].tolist()


def ours(mdp: Any, thresholds: list[float], method: Any) -> dict[str, Any]:
    from lexicone.exact._solve import solve
    from lexicone.order import Order

    start = time.process_time()
    found = solve(mdp, Order(thresholds), gamma=GAMMA, method=method)
    return {
        "seconds": time.process_time() - start,
        "status": str(found.status),
        "values": found.values.tolist(),
        "gap": float(found.gap.max()),
        "randomises": len(found.randomises),
    }


def storm(mdp: Any, thresholds: list[float]) -> dict[str, Any]:
    """Discounting becomes an end with probability 1−γ at each step; costs are minimised, gains maximised."""
    from lexicone.exact._state_actions import all_state_actions

    stormpy = import_module("stormpy")
    pairs = all_state_actions(mdp, GAMMA)
    sign = -1 if (pairs.reward <= 0).all() else 1
    with tempfile.NamedTemporaryFile("w", suffix=".drn") as file:
        write_drn(pairs, sign, file)
        file.flush()
        model = stormpy.build_model_from_drn(file.name)
    best, reach = ("max", ">=") if sign > 0 else ("min", "<=")
    last = pairs.num_objectives - 1
    parts = [f'R{{"r{last}"}}{best}=? [C]']
    parts += [f'R{{"r{k}"}}{reach}{sign * t!r} [C]' for k, t in enumerate(thresholds)]
    formula = stormpy.parse_properties(f"multi({', '.join(parts)})")[0].get_raw_formula()
    start = time.process_time()
    result = stormpy.model_checking(model, formula)
    return {
        "seconds": time.process_time() - start,
        "status": "optimal",
        "values": [None] * last + [sign * float(result.get_value(0))],
    }


def write_drn(pairs: Any, sign: int, file: Any) -> None:
    """Storm's explicit format; state 0 draws the start, the last state is the end."""
    count, objectives = pairs.num_states, pairs.num_objectives
    nothing = ", ".join("0" for _ in range(objectives))
    names = " ".join(f"r{k}" for k in range(objectives))
    file.write(f"@type: MDP\n@parameters\n\n@reward_models\n{names}\n@nr_states\n{count + 2}\n")
    file.write(f"@nr_choices\n{pairs.num_pairs + 2}\n@model\nstate 0 [{nothing}] init\n")
    file.write(f"\taction 0 [{nothing}]\n")
    for s in pairs.initial.nonzero()[0].tolist():
        file.write(f"\t\t{s + 1} : {float(pairs.initial[s])!r}\n")
    table = pairs.next.copy()
    table.sort_indices()
    ends = (1 - table.sum(axis=1)).tolist()
    first, target, weight = table.indptr.tolist(), table.indices.tolist(), table.data.tolist()
    paid = (sign * pairs.reward).tolist()
    start = pairs.offsets.tolist()
    for s in range(count):
        file.write(f"state {s + 1} [{nothing}]\n")
        for n in range(start[s], start[s + 1]):
            file.write(f"\taction {n - start[s]} [{', '.join(map(repr, paid[n]))}]\n")
            for e in range(first[n], first[n + 1]):
                file.write(f"\t\t{target[e] + 1} : {weight[e]!r}\n")
            if ends[n] > 1e-15:
                file.write(f"\t\t{count + 1} : {ends[n]!r}\n")
    file.write(f"state {count + 1} [{nothing}]\n\taction 0 [{nothing}]\n\t\t{count + 1} : 1\n")


def work(task: dict[str, Any]) -> dict[str, Any]:
    mdp = build(task["kind"], task["size"])
    if task["do"] == "thresholds":
        return {"states": mdp.num_states, "thresholds": find_thresholds(mdp)}
    if task["do"] == "storm":
        return storm(mdp, task["thresholds"])
    return ours(mdp, task["thresholds"], "lp" if task["do"] == "lp" else "columns")


def measure(task: dict[str, Any], limit: float) -> dict[str, Any]:
    """Run one task in a process of its own; ended some time after the limit, to allow for building the model."""
    environment = {name: value for name, value in os.environ.items() if name not in THREADS}
    if task["do"] != "default":
        environment |= dict.fromkeys(THREADS, "1")
    most = math.ceil(limit + 20 + task["size"] / BUILT_IN_A_SECOND) if limit < math.inf else None

    def limited() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (most, most))

    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, __file__, "--work", json.dumps(task)]
        process = subprocess.Popen(
            command, stdout=output, stderr=errors, env=environment, preexec_fn=limited
        )
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = code
        megabytes = usage.ru_maxrss / 1024
        if most is not None and usage.ru_utime + usage.ru_stime >= most - 1:
            return {"status": "time limit", "seconds": limit, "megabytes": megabytes}
        if code:
            errors.seek(0)
            last = (errors.read().strip().splitlines() or [f"exit code {code}"])[-1]
            return {"status": f"failed: {last}", "seconds": None, "megabytes": megabytes}
        output.seek(0)
        result = json.loads(output.read().strip().splitlines()[-1])
    return {**result, "megabytes": megabytes}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for one measurement")
    parser.add_argument("--skip", nargs="*", default=[], choices=list(CONTESTANTS))
    default = Path(__file__).parent / "results" / "solve.json"
    parser.add_argument("--json", type=Path, default=default)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(work(json.loads(options.work))))
        return

    from rich.console import Console

    contestants = [name for name in CONTESTANTS if name not in options.skip]
    if find_spec("stormpy") is None:
        contestants = [name for name in contestants if name != "storm"]
    console, rows, growth = Console(), [], {}
    for kind in options.kinds:
        too_slow: set[str] = set()
        for size in sorted(options.sizes):
            setup = measure({"do": "thresholds", "kind": kind, "size": size}, math.inf)
            for name in contestants:
                row = {"kind": kind, "states": setup["states"], "contestant": name}
                if name in too_slow:
                    row |= {"status": "not tried", "seconds": None, "megabytes": None}
                else:
                    task = {"do": name, "kind": kind, "size": size}
                    row |= measure({**task, "thresholds": setup["thresholds"]}, options.limit)
                if row["status"] != "optimal" or row["seconds"] > options.limit:
                    too_slow.add(name)
                console.print(
                    f"{kind} {setup['states']} {name}: {row['status']}, {number(row['seconds'])} s",
                    highlight=False,
                )
                rows.append({**row, "thresholds": setup["thresholds"]})
                growth = keep(rows, options.json, options.limit)
    console.print(draw(rows))
    for kind, exponent in growth.items():
        if exponent is not None:
            console.print(f"{kind}: column generation grows as states^{exponent:.2f}")
    compared, wrong = compare_answers(rows)
    for line in compared:
        console.print(line, highlight=False)
    if wrong:
        sys.exit("the answers differ: " + "; ".join(wrong))


def keep(rows: list[dict[str, Any]], path: Path, limit: float) -> dict[str, float | None]:
    """Write these rows beside those of other models; how column generation grows over all of them."""
    found = json.loads(path.read_text()) if path.exists() else {"rows": []}
    mine = {(row["kind"], row["states"]) for row in rows}
    others = [row for row in found["rows"] if (row["kind"], row["states"]) not in mine]
    every = sorted(others + rows, key=lambda row: (row["kind"], row["states"]))
    growth = {kind: find_growth(every, kind) for kind in KINDS}
    path.parent.mkdir(parents=True, exist_ok=True)
    written = {"gamma": GAMMA, "limit": limit, "growth": growth, "rows": every}
    path.write_text(json.dumps(written, indent=1) + "\n")
    return growth


def compare_answers(rows: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """A line for each answer beside column generation's, and the lines of those that are too far from it."""
    ours = {
        (r["kind"], r["states"]): r["values"][-1]
        for r in rows
        if r["contestant"] == "columns" and r["status"] == "optimal"
    }
    lines, wrong = [], []
    for row in rows:
        place = (row["kind"], row["states"])
        if row["contestant"] == "columns" or row["status"] != "optimal" or place not in ours:
            continue
        theirs, mine = row["values"][-1], ours[place]
        difference = abs(theirs - mine) / max(1.0, abs(mine))
        line = (
            f"{row['kind']} {row['states']}: {CONTESTANTS[row['contestant']]} {theirs:.9g}, "
            f"columns {mine:.9g}, difference {difference:.1e}"
        )
        lines.append(line)
        if not difference <= ACCURACY[row["contestant"]]:
            wrong.append(line)
    return lines, wrong


def find_growth(rows: list[dict[str, Any]], kind: str) -> float | None:
    """The exponent between the smallest and the largest model that column generation solved."""
    mine = [
        (r["states"], r["seconds"])
        for r in rows
        if r["kind"] == kind and r["contestant"] == "columns" and r["status"] == "optimal"
    ]
    if len(mine) < 2:
        return None
    (small, quick), (large, slow) = mine[0], mine[-1]
    return math.log(slow / quick) / math.log(large / small)


def draw(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table(title="exact optimum, three objectives, γ=.99")
    for heading in ("model", "states", "solver", "seconds", "ratio", "MB", "third objective"):
        table.add_column(heading, justify="left" if heading in ("model", "solver") else "right")
    base: dict[tuple[str, int], float] = {}
    for row in rows:
        place = (row["kind"], row["states"])
        if row["contestant"] == "columns" and row["seconds"]:
            base[place] = row["seconds"]
        limited = row["status"] == "time limit"
        ratio = row["seconds"] / base[place] if row["seconds"] and place in base else None
        value = row.get("values", [None])[-1]
        table.add_row(
            row["kind"],
            str(row["states"]),
            CONTESTANTS[row["contestant"]],
            (">" if limited else "") + number(row["seconds"]) if row["seconds"] else row["status"],
            (">" if limited else "") + number(ratio),
            number(row["megabytes"]),
            "" if value is None else f"{value:.6f}",
        )
    return table


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


if __name__ == "__main__":
    main()
