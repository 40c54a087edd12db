"""Valid calls: studies of one's own."""

from typing import Any

import lexicone as lx
from lexicone.studies import StudyResult, read_study
from tests.fuzz import material as m
from tests.fuzz.calls import Call, call
from tests.fuzz.calls_models import OF_ORDERS

WORDS = ("learner", "learners", "tasks", "vary", "task", *OF_ORDERS)


def study_calls() -> list[Call]:
    """Of ``lexicone.studies``."""
    of, rare = "lexicone.studies", {"words": WORDS, "weight": 0.06}
    rest: dict[str, Any] = {"seeds": 1, "episodes": 2, "evaluation": 2, "seed": 3}
    long = {"long": ("seeds", "episodes", "evaluation", "samples", "at_once")}
    tasks, learners = {"small": (m.small(), [-0.5])}, {"ours": m.learner()}
    drawn = {
        "vary": {"ours": {"learning_rate": [0.1]}},
        "search": "grid",
        "samples": 1,
        "at_once": 1,
        "prune": (),
    }
    file = m.folder() / "study.toml"
    file.write_text('[tasks.a]\ntask = "maze:small"\nthresholds = [1]\n')
    cell = {
        "task": "t",
        "learner": "l",
        "thresholds": [0.0],
        "seeds": 1,
        "values": [[1.0, 2.0]],
        "held": [[True]],
    }
    given = {"tasks": tasks, "learners": learners, **rest}
    return [
        call(
            f"{of}.compare",
            lx.compare,
            {"task": m.small(), "order": [-0.5], "learners": learners, **rest},
            **long,
            **rare,
        ),
        call(f"{of}.study", lx.study, {**given, **drawn}, **long, **rare),
        call(f"{of}.Study", lx.Study, {**given, **drawn}, words=WORDS),
        call(f"{of}.read_study", read_study, {"path": file}, words=("file", *WORDS)),
        call(f"{of}.StudyResult.best", StudyResult([cell]).best, {"task": "t"}),
    ]
