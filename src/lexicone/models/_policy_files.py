"""A policy as a file: CSV or JSON with this model's states, or as Storm writes schedulers, with those of its model."""

import csv
import io
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from lexicone._base.checks import check_kind, check_path
from lexicone._base.files import check_writable, write_text

if TYPE_CHECKING:
    from lexicone.models._mdp import MDP

__all__ = ["write_policy"]

_FORMS = ("csv", "json", "storm")


def write_policy(path: Any, mdp: Any, policy: Any, form: Any) -> None:
    """See `MDP.write_policy`."""
    check_path("path", path)
    if form is None:
        form = os.fspath(path).rpartition(".")[2].lower()
        if form not in ("csv", "json"):
            raise ValueError(
                f"path: {os.fspath(path)!r} ends with neither .csv nor .json; say which form it is to have"
            )
    check_kind("form", form, _FORMS)
    if form == "storm" and mdp.origin is None:
        raise ValueError(
            "form: a scheduler needs the model as it was read from a file or from Storm; this one was not"
        )
    table = mdp.policy_table(getattr(policy, "policy", policy))
    check_writable("path", path)
    text = {"csv": _as_csv, "json": _as_json, "storm": _as_scheduler}[form](mdp, table)
    write_text(path, text)


def _entries(mdp: "MDP", table: np.ndarray) -> list[tuple[int, int, float]]:
    """State, action and probability of what may be done, but for ends."""
    state, action = np.nonzero((table > 0) & ~mdp.terminal[:, None])
    return list(zip(state.tolist(), action.tolist(), table[state, action].tolist(), strict=True))


def _as_csv(mdp: "MDP", table: np.ndarray) -> str:
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["state", "state_name", "action", "action_name", "probability"])
    states, actions = mdp.state_names, mdp.action_names
    for s, a, p in _entries(mdp, table):
        rows.writerow([s, states[s] if states else "", a, actions[a] if actions else "", repr(p)])
    return file.getvalue()


def _as_json(mdp: "MDP", table: np.ndarray) -> str:
    states, actions = mdp.state_names, mdp.action_names
    listed: dict[int, dict[str, Any]] = {}
    for s, a, p in _entries(mdp, table):
        entry = listed.setdefault(s, {"state": s, "actions": []})
        if states:
            entry["name"] = states[s]
        done = {"action": a, "probability": p} | ({"name": actions[a]} if actions else {})
        entry["actions"].append(done)
    return json.dumps(list(listed.values()), indent=1, ensure_ascii=False)


def _as_scheduler(mdp: "MDP", table: np.ndarray) -> str:
    """One entry for each state that the policy may come to; ``m`` numbers what it remembers, where it has to.

    Choices are numbered through all states, as Storm does. Once all objectives are decided, anything may be done: such
    states are not listed.
    """
    origin, rows = mdp.origin, mdp.rows
    share = table[rows.state, rows.action]
    visited = _visited(mdp, share)
    memory = {bits: number for number, bits in enumerate(dict.fromkeys(origin.open.tolist()))}
    found: list[tuple[int, int, list[dict[str, Any]], dict[str, Any]]] = []
    for state in np.flatnonzero(visited).tolist():
        own = range(rows.offsets[state], rows.offsets[state + 1])
        done, follows = [], {}
        for choice in own:
            number = int(origin.choice[choice])
            if share[choice] <= 0 or number < 0:
                continue
            labels = origin.choice_labels and origin.choice_labels[number]
            done.append(
                {
                    "index": number,
                    "labels": [labels] if labels else [],
                    "prob": float(share[choice]),
                }
            )
            for target in rows.next_state[rows.ends[choice] : rows.ends[choice + 1]].tolist():
                if origin.state[target] >= 0:
                    follows[_name(origin, target)] = memory[int(origin.open[target])]
        if done:
            found.append((state, memory[int(origin.open[state])], done, follows))
    same: dict[int, list[dict[str, Any]]] = {}
    needed = any(
        same.setdefault(int(origin.state[state]), done) != done for state, _, done, _ in found
    )
    entries: dict[Any, dict[str, Any]] = {}
    for state, number, done, follows in found:
        entry: dict[str, Any] = {"s": _state(origin, state), "c": done}
        if needed:
            entry["m"] = number
            entry["memory-updates"] = [{"s": json.loads(s), "m": m} for s, m in follows.items()]
        entries.setdefault((int(origin.state[state]), number if needed else 0), entry)
    return json.dumps(list(entries.values()), indent=1, ensure_ascii=False)


def _visited(mdp: "MDP", share: np.ndarray) -> np.ndarray:
    """The states that the policy may come to, without ends."""
    rows = mdp.rows
    seen = mdp.initial > 0
    front = np.flatnonzero(seen).tolist()
    while front:
        state = front.pop()
        for choice in range(rows.offsets[state], rows.offsets[state + 1]):
            if share[choice] > 0:
                for target in rows.next_state[rows.ends[choice] : rows.ends[choice + 1]].tolist():
                    if not seen[target]:
                        seen[target] = True
                        front.append(target)
    return seen & ~mdp.terminal


def _state(origin: Any, state: int) -> Any:
    """As Storm writes it: the values of variables, or else the number."""
    number = int(origin.state[state])
    known = origin.variables
    if known is None:
        return number
    values = zip(known.names, known.values[number].tolist(), strict=True)
    return {name: bool(v) if name in origin.booleans else _whole(v) for name, v in values}


def _name(origin: Any, state: int) -> str:
    return json.dumps(_state(origin, state))


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value
