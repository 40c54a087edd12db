"""Models as files of model checkers: text in Storm's format, and UMB archives made by hand."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

ROBOT = Path(__file__).parents[2] / "docs" / "assets" / "robot.drn"
ROBOT_PROGRAM = ROBOT.with_suffix(".prism")
HOME = 'Pmax=? [F "home"]'
TIME = 'R{"time"}min=? [F "home" | "broken"]'


def drn(*states, rewards=("cost",)):
    """A file's text. A state is ``(labels, state reward, [(name, reward, {target: probability}), …])``."""
    choices = sum(len(state[2]) for state in states)
    lines = ["@type: MDP", "@parameters", "", "@reward_models", " ".join(rewards)]
    lines += ["@nr_states", str(len(states)), "@nr_choices", str(choices), "@model"]
    for number, (labels, reward, actions) in enumerate(states):
        lines.append(f"state {number} [{_listed(reward)}] {labels}")
        for name, paid, targets in actions:
            lines.append(f"\taction {name} [{_listed(paid)}]")
            lines += [f"\t\t{target} : {chance}" for target, chance in targets.items()]
    return "\n".join(lines) + "\n"


def write_drn(path, *states, **options):
    path.write_text(drn(*states, **options))
    return path


def write_umb(path, index, arrays, compression=""):
    """An archive with this index and these files, which are arrays or bytes."""
    mode: Any = f"w:{compression}"
    with tarfile.open(path, mode) as archive:
        for name, data in {"index.json": json.dumps(index).encode(), **arrays}.items():
            raw = data if isinstance(data, bytes) else np.asarray(data).tobytes()
            member = tarfile.TarInfo(name)
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))
    return path


def bits(marks):
    """As UMB packs them, in words of 64."""
    packed = np.packbits(np.asarray(marks, dtype=bool), bitorder="little")
    return np.pad(packed, (0, -len(packed) % 8))


def _listed(rewards):
    return ", ".join(map(str, rewards if isinstance(rewards, list | tuple) else [rewards]))


UMB_INDEX: dict[str, Any] = {
    "format-version": 1,
    "format-revision": 0,
    "transition-system": {
        "time": "discrete",
        "#players": 1,
        "#states": 2,
        "#initial-states": 1,
        "#choices": 3,
        "#choice-actions": 2,
        "#branches": 4,
        "#branch-actions": 0,
        "#observations": 0,
        "branch-probability-type": {"type": "double", "size": 64},
    },
    "annotations": {
        "aps": {"x1": {"alias": "goal", "applies-to": ["states"], "type": {"type": "bool"}}},
        "rewards": {
            "cost": {
                "applies-to": ["states", "choices", "branches"],
                "type": {"type": "double"},
            }
        },
    },
    "valuations": {
        "states": {
            "unique": True,
            "classes": [
                {
                    "variables": [
                        {"name": "x", "type": {"type": "uint", "size": 3}, "offset": -2},
                        {"name": "b", "type": {"type": "bool", "size": 1}},
                        {"name": "y", "type": {"type": "int", "size": 3}},
                        {"padding": 1},
                    ]
                }
            ],
        }
    },
}
UMB_ARRAYS: dict[str, Any] = {
    "state-to-choices.bin": np.array([0, 2, 3], dtype="<u8"),
    "state-is-initial.bin": bits([1, 0]),
    "choice-to-branches.bin": np.array([0, 2, 3, 4], dtype="<u8"),
    "branch-to-target.bin": np.array([0, 1, 1, 1], dtype="<u8"),
    "branch-to-probability.bin": np.array([0.5, 0.5, 1.0, 1.0]),
    "actions/choices/values.bin": np.array([0, 1, 0], dtype="<u4"),
    "actions/choices/string-mapping.bin": np.array([0, 4, 7], dtype="<u8"),
    "actions/choices/strings.bin": b"walkrun",
    "annotations/aps/x1/states/values.bin": bits([0, 1]),
    "annotations/rewards/cost/states/values.bin": np.array([1.0, 7.0]),
    "annotations/rewards/cost/choices/values.bin": np.array([2.0, 4.0, 0.0]),
    "annotations/rewards/cost/branches/values.bin": np.array([0.0, 6.0, 5.0, 0.0]),
    # x=-1, b=1, y=-2 as 001 1 110 0 from the lowest bit: 1 + 8 + 16·6; x=0, b=0, y=3: 2 + 16·3
    "valuations/states/valuations.bin": bytes([1 + 8 + 16 * 6, 2 + 16 * 3]),
}
