"""How long the page waits for an optimum when a threshold moves, from the request to the whole answer.

    python benchmarks/explore.py [--moves 20] [--json benchmarks/results/explore.json]

Beside it stands the processor's time, which other work on the machine hardly disturbs.

The server of `lexicone explore` with its worker processes, asked over HTTP as the page asks: first the model as it is
opened, then a slider that goes from one threshold to the next. The goal is 0.2 seconds for 1,000 states.
"""

import argparse
import http.client
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

from lexicone.web._server import Settings, in_background
from lexicone.web._sources import Opened

CASES: dict[str, dict[str, Any]] = {
    "maze:extended, 20 states": {
        "source": {"task": "maze:extended", "options": {"objectives": "path"}},
        "thresholds": [-3.0],
        "step": [0.1],
    },
    "grid:32, 1,024 states, γ=.99": {
        "source": {"task": "grid:32"},
        "thresholds": [-3.0, -2.0],
        "gamma": 0.99,
        "step": [0.1, 0.0],
    },
    "grid:32, 1,024 states, γ=1": {
        "source": {"task": "grid:32"},
        "thresholds": [-8.0, -8.0],
        "gamma": 1.0,
        "step": [0.1, 0.0],
    },
    "garnet:1000, γ=.99": {
        "source": {"task": "garnet:1000"},
        "thresholds": [50.0, 50.0],
        "gamma": 0.99,
        "step": [0.5, 0.0],
    },
    "grid:100, 10,000 states, γ=.99": {
        "source": {"task": "grid:100"},
        "thresholds": [-6.0, -6.0],
        "gamma": 0.99,
        "step": [0.1, 0.0],
    },
}


def ask(connection: http.client.HTTPConnection, question: dict[str, Any]) -> tuple[float, Any]:
    """Seconds, and what came."""
    begin = time.perf_counter()
    body = json.dumps({k: v for k, v in question.items() if k != "step"})
    connection.request("POST", "/api/solve", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    found = json.loads(response.read())
    if response.status != 200:
        raise RuntimeError(found["error"])
    return time.perf_counter() - begin, found


def measure(connection: http.client.HTTPConnection, case: dict[str, Any], moves: int) -> Any:
    """The first answer, and those to a slider that moves."""
    question = {**case, "thresholds": list(case["thresholds"])}
    first, found = ask(connection, question)
    seconds, processor, statuses = [], [], {found["status"]}
    for _ in range(moves):
        question["thresholds"] = [
            round(t + d, 9) for t, d in zip(question["thresholds"], case["step"], strict=True)
        ]
        took, found = ask(connection, question)
        seconds.append(took)
        processor.append(found["processor"])
        statuses.add(found["status"])
    return {
        "first": first,
        "median": statistics.median(seconds),
        "slowest": max(seconds),
        "processor": statistics.median(processor),
        "processor_slowest": max(processor),
        "statuses": sorted(statuses),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--moves", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, Any] = {}
    table = Table("model", "first", "moved: median", "slowest", "processor: median", "slowest")
    with in_background(Opened(), Settings(port=0)) as address:
        place = urlsplit(address)
        connection = http.client.HTTPConnection(str(place.hostname), place.port)
        for name, case in CASES.items():
            found = results[name] = measure(connection, case, options.moves)
            numbers = [f"{1000 * found[key]:.0f} ms" for key in found if key != "statuses"]
            table.add_row(name, *numbers)
        connection.close()
    results["load"] = os.getloadavg()[0]
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
