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
