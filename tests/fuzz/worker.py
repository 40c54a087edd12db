"""A process that runs cases and writes a line for each outcome: ``python -m tests.fuzz.worker SEED START STOP``."""

import json
import os
import sys

from tests.fuzz.outcomes import run_case
from tests.fuzz.runs import limit_memory


def main() -> None:
    """Lines go to the output that the process began with, whatever calls print."""
    seed, start, stop = map(int, sys.argv[1:])
    limit_memory()
    lines = os.fdopen(os.dup(1), "w")
    for number in range(start, stop):
        print(json.dumps(run_case(seed, number)), file=lines, flush=True)


if __name__ == "__main__":
    main()
