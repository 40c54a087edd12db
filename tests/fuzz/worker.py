"""A process that runs cases and writes a line for each outcome: ``python -m tests.fuzz.worker SEED START STOP``."""

import json
import os
import sys

from tests.fuzz import material
from tests.fuzz.guard import stay_inside
from tests.fuzz.outcomes import run_case
from tests.fuzz.registry import registry
from tests.fuzz.runs import limit_memory


def main() -> None:
    """Lines go to the output that the process began with, whatever calls print."""
    seed, start, stop = map(int, sys.argv[1:])
    limit_memory()
    registry()  # imports and makes all that calls need, outside of the folder too
    material.files()
    stay_inside(material.folder())
    lines = os.fdopen(os.dup(1), "w")
    for number in range(start, stop):
        print(json.dumps(run_case(seed, number)), file=lines, flush=True)


if __name__ == "__main__":
    main()
