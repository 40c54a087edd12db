"""Models of the Quantitative Verification Benchmark Set: `lx.solve` beside Storm, without discounting.

    python benchmarks/qcomp.py --qcomp CHECKOUT [--only NAME …] [--limit 120] [--json benchmarks/results/qcomp.json]

CHECKOUT is a clone of github.com/ahartmanns/qcomp; Storm is asked through stormpy (extra ``storm``), at its precision
of 10⁻⁶. Each model is a process of its own, with one thread and a limit of processor time. Of one objective, both
optimise it. Of two, the first has a threshold five percent below its optimum, and the second is optimised above it:
Storm by ``multi(…)``, and it is asked for that optimum of the first beforehand, which is part of its time; `solve` does
both by itself. Storm's model becomes ours by `MDP.from_storm`, whose time is listed. All answers are compared: a
relative difference above 10⁻⁴ (of values below 10⁻³: 10⁻⁷) is an error. Seconds are of processor time, one run,
without imports.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MODELS: list[tuple[str, str, list[str]]] = [
    ("beb/beb.3-4", "N=3", ["LineSeized"]),
    ("beb/beb.3-4", "N=3", ["GaveUp"]),
    ("blocksworld/blocksworld.5", "", ["goal"]),
    ("cdrive/cdrive.10", "", ["goal"]),
    ("consensus/consensus.2", "K=16", ["disagree", "steps_min"]),
    ("consensus/consensus.4", "K=2", ["disagree"]),
    ("consensus/consensus.4", "K=2", ["disagree", "steps_min"]),
    ("consensus/consensus.4", "K=4", ["disagree"]),
    ("consensus/consensus.4", "K=4", ["disagree", "steps_min"]),
    ("consensus/consensus.4", "K=4", ["steps_max"]),
    ("csma/csma.2-2", "", ["all_before_max", "time_min"]),
    ("csma/csma.2-4", "", ["all_before_max", "time_min"]),
    ("csma/csma.2-6", "", ["all_before_max", "time_min"]),
    ("csma/csma.3-2", "", ["all_before_max", "time_min"]),
    ("csma/csma.4-2", "", ["all_before_max"]),
    ("eajs/eajs.2", "energy_capacity=100,B=5", ["ExpUtil"]),
    ("eajs/eajs.3", "energy_capacity=150,B=7", ["ExpUtil"]),
    ("eajs/eajs.4", "energy_capacity=200,B=9", ["ExpUtil"]),
    ("echoring/echoring", "ITERATIONS=2", ["MaxOffline1"]),
    ("elevators/elevators.a-11-9", "", ["goal"]),
    ("exploding-blocksworld/exploding-blocksworld.5", "", ["goal"]),
    ("firewire/firewire.false", "delay=3,deadline=200", ["time_min", "time_sending"]),
    ("firewire/firewire.false", "delay=36,deadline=200", ["time_min", "time_sending"]),
    ("firewire_abst/firewire_abst", "delay=36", ["rounds", "time_min"]),
    ("firewire_dl/firewire_dl", "delay=3,deadline=200", ["deadline"]),
    ("firewire_dl/firewire_dl", "delay=36,deadline=800", ["deadline"]),
    ("ij/ij.10", "", ["stable"]),
    ("pacman/pacman", "MAXSTEPS=5", ["crash"]),
    ("pnueli-zuck/pnueli-zuck.3", "", ["live"]),
    ("pnueli-zuck/pnueli-zuck.5", "", ["live"]),
    ("rabin/rabin.3", "", ["live"]),
    ("tireworld/tireworld.17", "", ["goal"]),
    ("tireworld/tireworld.25", "", ["goal"]),
    ("wlan/wlan.0", "COL=0", ["cost_min", "time_min"]),
    ("wlan/wlan.1", "COL=0", ["cost_min", "time_min"]),
    ("wlan/wlan.2", "COL=0", ["cost_min", "time_min"]),
    ("wlan/wlan.3", "COL=0", ["cost_min", "time_min"]),
    ("wlan/wlan.4", "COL=0", ["cost_min", "time_min"]),
    ("wlan_dl/wlan_dl.0", "deadline=80", ["deadline"]),
    ("zenotravel/zenotravel.4-2-2", "", ["goal"]),
    ("zeroconf/zeroconf", "N=1000,K=8,reset=true", ["correct_max"]),
    ("zeroconf/zeroconf", "N=20,K=2,reset=false", ["correct_max"]),
    ("zeroconf/zeroconf", "N=20,K=4,reset=false", ["correct_max"]),
    ("zeroconf_dl/zeroconf_dl", "N=1000,K=1,reset=false,deadline=50", ["deadline_max"]),
]
ROOM = 0.05  # of the first objective's optimum: how far below it the threshold is
ACCURACY = 1e-4  # relative: how far Storm's answers may be from ours


def work(qcomp: Path, number: int) -> dict[str, Any]:
    """One model, in this process."""
    import stormpy  # type: ignore[import-not-found]

    import lexicone as lx

    file, constants, names = MODELS[number]
    program, properties = stormpy.parse_jani_model(str(qcomp / f"benchmarks/mdp/{file}.jani"))
    program, properties = stormpy.instantiate_constants(program, constants, properties)
    found = {p.get_name(): p.get_raw_formula() for p in properties}
    formulas = [found[name] for name in names]
    model = stormpy.build_model(program, options=stormpy.BuilderOptions(formulas))
    row: dict[str, Any] = {"model": file.split("/")[1], "constants": constants, "objectives": names}
    row |= {"states": model.nr_states, "transitions": model.nr_transitions}
    start = model.initial_states[0]
    texts = [_with_labels(str(f), model.labeling) for f in formulas]

    clock = time.process_time()
    best = stormpy.model_checking(model, formulas[0], only_initial_states=True).get_value(start)
    asked, threshold, theirs = formulas[0], None, best
    if len(names) > 1:
        least = "max" in texts[0].split("=?")[0]
        threshold = best * (1 - ROOM if least else 1 + ROOM)
        bound = texts[0].replace(
            "max=?" if least else "min=?", f"{'>=' if least else '<='}{threshold!r}"
        )
        [both] = stormpy.parse_properties(f"multi({texts[1]}, {bound})")
        asked = both.get_raw_formula()
        theirs = stormpy.model_checking(model, asked, only_initial_states=True).get_value(start)
    row["storm"] = time.process_time() - clock

    lx.solve(lx.tasks.garnet(200), [1.0, 1.0], gamma=0.9)  # imports are not part of solving
    clock = time.process_time()
    mdp = lx.MDP.from_storm(model, objectives=texts)
    row["import"] = time.process_time() - clock
    clock = time.process_time()
    order = lx.order_of(texts, [] if threshold is None else [threshold])
    solution = lx.solve(mdp, order)
    row["ours"] = time.process_time() - clock
    ours = float(order.in_units(solution.values)[-1])
    row |= {"status": str(solution.status), "value": ours, "storm_value": float(theirs)}
    row["agree"] = abs(ours - theirs) <= ACCURACY * max(1e-3, abs(theirs))
    return row


def _with_labels(text: str, labeling: Any) -> str:
    """Storm names the states of an expression by the expression itself; they get a label that it can read, too."""
    for label in sorted(labeling.get_labels(), key=len, reverse=True):
        start, end = (r"\b" if side.isalnum() else "" for side in (label[0], label[-1]))
        found = re.compile(f'(?<!"){start}{re.escape(label)}{end}(?!")')
        if not found.search(text):
            continue
        short = label if label.isidentifier() else f"states_{len(labeling.get_labels())}"
        if short != label:
            labeling.add_label(short)
            labeling.set_states(short, labeling.get_states(label))
        text = found.sub(f'"{short}"', text)
    return text


def measure(qcomp: Path, number: int, limit: int) -> dict[str, Any]:
    file, constants, names = MODELS[number]
    command = [sys.executable, __file__, "--qcomp", str(qcomp), "--work", str(number)]
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, preexec_fn=limited, check=False
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1])
    why = (done.stderr.strip().splitlines() or [f"over {limit} s"])[-1][:200]
    model = file.split("/")[1]
    return {"model": model, "constants": constants, "objectives": names, "failed": why}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--qcomp", type=Path, required=True)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--limit", type=int, default=120)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        print(json.dumps(work(options.qcomp, options.work)))
        return
    rows = []
    for number, (file, constants, _) in enumerate(MODELS):
        if options.only and not any(name in file for name in options.only):
            continue
        row = measure(options.qcomp, number, options.limit)
        rows.append(row)
        shown = row.get("failed") or (
            f"{row['states']:8} Storm {row['storm']:8.3f}  ours {row['ours']:8.3f}  {row['status']}"
            f"  {row['value']:.7g}{'' if row['agree'] else '  DIFFERS from ' + str(row['storm_value'])}"
        )
        print(
            f"{row['model']:26} {constants:28} {'+'.join(row['objectives']):24} {shown}", flush=True
        )
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if any(not row.get("agree", True) for row in rows):
        raise SystemExit("answers differ")


if __name__ == "__main__":
    main()
