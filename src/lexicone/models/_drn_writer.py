"""A model, or the Markov chain of a policy, in Storm's explicit text format (see `_drn`)."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lexicone._base.files import check_writable, write_atomically

if TYPE_CHECKING:
    from lexicone.models._mdp import MDP

__all__ = ["write_drn"]


def write_drn(path: str | os.PathLike[str], mdp: Any, policy: Any) -> None:
    """See `MDP.to_drn`."""
    table = None if policy is None else mdp.policy_table(getattr(policy, "policy", policy))
    check_writable("path", path)

    def write(file: Any) -> None:
        for line in _lines(mdp, table):
            file.write(f"{line}\n".encode())

    write_atomically(path, write)


def _lines(mdp: "MDP", policy: np.ndarray | None) -> Iterator[str]:
    rows, names = mdp.rows, plain_names(mdp.objective_labels)
    reward = rows.expected_reward
    reward = np.where((reward > 0).any(axis=0), reward, -reward) + 0.0
    starts = np.flatnonzero(mdp.initial)
    apart = len(starts) > 1
    ends = int(mdp.terminal.sum()) + apart
    choices = (rows.num_choices if policy is None else int((~mdp.terminal).sum())) + ends
    yield from (
        "// written by lexicone",
        f"@type: {'MDP' if policy is None else 'DTMC'}",
        "@parameters",
        "",
        "@reward_models",
        " ".join(names),
        "@nr_states",
        str(mdp.num_states + apart),
        "@nr_choices",
        str(choices),
        "@model",
    )
    actions = plain_names(mdp.action_names or [str(a) for a in range(mdp.num_actions)])
    nothing = ", ".join("0" for _ in names)
    for state in range(mdp.num_states):
        label = " init" if not apart and mdp.initial[state] else ""
        yield f"state {state} [{nothing}]{label}{' end' if mdp.terminal[state] else ''}"
        if mdp.terminal[state]:
            yield from (f"\taction end [{nothing}]", f"\t\t{state} : 1")
            continue
        own = range(rows.offsets[state], rows.offsets[state + 1])
        if policy is None:
            for choice in own:
                yield f"\taction {actions[rows.action[choice]]} [{_listed(reward[choice])}]"
                yield from _branches(mdp, [choice], [1.0])
        else:
            shares = policy[state, rows.action[own.start : own.stop]]
            yield f"\taction 0 [{_listed(shares @ reward[own.start : own.stop])}]"
            yield from _branches(mdp, list(own), shares.tolist())
    if apart:
        yield from (f"state {mdp.num_states} [{nothing}] init", f"\taction start [{nothing}]")
        yield from (f"\t\t{state} : {float(mdp.initial[state])!r}" for state in starts)


def _branches(mdp: "MDP", choices: list[int], shares: list[float]) -> Iterator[str]:
    """What may follow, each state once."""
    total: dict[int, float] = {}
    rows = mdp.rows
    for choice, share in zip(choices, shares, strict=True):
        span = slice(rows.ends[choice], rows.ends[choice + 1])
        for state, chance in zip(
            rows.next_state[span].tolist(), rows.probability[span].tolist(), strict=True
        ):
            if share * chance > 0:
                total[state] = total.get(state, 0.0) + share * chance
    return (f"\t\t{state} : {total[state]!r}" for state in sorted(total))


def _listed(numbers: np.ndarray) -> str:
    return ", ".join(f"{number!r}" for number in numbers.tolist())


def plain_names(names: Sequence[str]) -> list[str]:
    """Letters, digits and ``_`` alone; where two are then the same, numbered."""
    texts = [re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "x" for name in names]
    if len(set(texts)) < len(texts):
        texts = [f"{text}_{number + 1}" for number, text in enumerate(texts)]
    return texts
