"""The paper's car: drive to a final city, pay tolls within a budget, end where it is pleasant."""

import csv
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np

from lexicone._base.checks import as_texts, check_path, check_text
from lexicone.models._mdp import MDP

__all__ = ["road_trip"]


def road_trip(
    roads: str | os.PathLike[str] | None = None,
    *,
    start: str | None = None,
    destinations: str | Sequence[str] | None = None,
    costs: str | Sequence[str] = ("toll",),
) -> MDP:
    """A state is a city, action i its i-th road: ``R₁ = −toll(s,s′)``, ``R₂ = pleasure(s′)``.

    ``roads`` is a CSV file with one road per line (a bundled map of nine cities if left out):

    - ``from``, ``to``: names of cities; a road goes one way;
    - ``toll``, and any further column listed in ``costs``: numbers, each an objective with its
      sign turned;
    - ``pleasure`` (optional): what arriving in ``to`` is worth.

    The trip begins in ``start`` (default: the first line's ``from``) and ends in one of
    ``destinations`` (one or several; default: the cities with positive pleasure). A budget B is the threshold −B.
    A city with fewer roads than others offers the same ones again for the remaining actions.
    """
    costs = (costs,) if isinstance(costs, str) else as_texts("costs", costs)
    if destinations is not None:
        own = (destinations,) if isinstance(destinations, str) else destinations
        destinations = as_texts("destinations", own)
    check_text("start", start, optional=True)
    if "pleasure" in costs:
        raise ValueError("costs: pleasure is no cost")
    if not costs or len(set(costs)) != len(costs):
        raise ValueError(f"costs: expected different names of columns, got {list(costs)}")
    lines = _read_roads(roads, costs)
    cities = list(dict.fromkeys(city for line in lines for city in (line["from"], line["to"])))
    number = {city: i for i, city in enumerate(cities)}
    pleasure = _pleasure_by_city(lines, cities)
    if start is None:
        start = str(lines[0]["from"])
    ends = [c for c in cities if pleasure[c] > 0] if destinations is None else list(destinations)
    for name, listed in (("start", [start]), ("destinations", ends)):
        for city in listed:
            if city not in number:
                raise ValueError(
                    f"{name}: there is no city {city!r}; there are {', '.join(cities)}"
                )
    if not ends:
        raise ValueError("destinations: no city has positive pleasure; name at least one")

    roads_out: list[list[int]] = [[] for _ in cities]
    for i, line in enumerate(lines):
        roads_out[number[line["from"]]].append(i)
    terminal = np.array([city in ends for city in cities])
    for s, city in enumerate(cities):
        if not roads_out[s] and not terminal[s]:
            raise ValueError(f"roads: no road leads out of {city!r}, which is not a destination")
    width = max((len(own) for s, own in enumerate(roads_out) if not terminal[s]), default=1)
    next_state = np.tile(np.arange(len(cities))[:, None, None], (1, width, 1))
    reward = np.zeros((len(cities), width, 1, len(costs) + 1))
    for s in np.flatnonzero(~terminal):
        for a in range(width):
            line = lines[roads_out[s][a % len(roads_out[s])]]
            next_state[s, a, 0] = number[line["to"]]
            reward[s, a, 0] = [*(-line[name] for name in costs), pleasure[line["to"]]]
    result = MDP(
        next_state=next_state,
        probability=np.ones(next_state.shape),
        reward=reward,
        initial=(np.arange(len(cities)) == number[start]).astype(float),
        terminal=terminal,
        state_names=tuple(cities),
        action_names=tuple(f"road {a + 1}" for a in range(width)),
        objective_names=(*costs, "pleasure"),
    )
    if not result.can_terminate()[number[start]]:
        raise ValueError(f"destinations: none can be reached from {start!r}")
    return result


def _read_roads(roads: str | os.PathLike[str] | None, costs: tuple[str, ...]) -> list[dict]:
    if roads is None:
        text, where = resources.files("lexicone.tasks").joinpath("roads.csv").read_text(), "roads"
    else:
        check_path("roads", roads)
        path = Path(roads)
        if not path.is_file():
            raise ValueError(f"roads: there is no file {os.fspath(roads)!r}")
        where = f"roads: {path.name}"
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"{where}: is not a text file in UTF-8") from None
    if "\0" in text:
        raise ValueError(f"{where}: is not a text file in UTF-8")
    try:
        return _read_lines(csv.DictReader(text.splitlines(), skipinitialspace=True), where, costs)
    except csv.Error as error:
        raise ValueError(f"{where}: is no table of comma-separated values ({error})") from None


def _read_lines(reader: csv.DictReader, where: str, costs: tuple[str, ...]) -> list[dict]:
    missing = [c for c in ("from", "to", *costs) if c not in (reader.fieldnames or [])]
    if missing:
        raise ValueError(
            f"{where}: line 1: has no column {', '.join(missing)}; found {reader.fieldnames}"
        )
    lines = []
    for row in reader:
        line: dict = {"from": (row["from"] or "").strip(), "to": (row["to"] or "").strip()}
        if not line["from"] or not line["to"]:
            raise ValueError(f"{where}: line {reader.line_num}: from or to is empty")
        for name in (*costs, "pleasure"):
            given = row.get(name) or ("0" if name == "pleasure" else "")
            try:
                line[name] = float(given)
            except ValueError:
                line[name] = np.nan
            if not np.isfinite(line[name]):
                raise ValueError(
                    f"{where}: line {reader.line_num}: {name} {given!r} is not a finite number"
                )
        lines.append(line)
    if not lines:
        raise ValueError(f"{where}: lists no road")
    return lines


def _pleasure_by_city(lines: list[dict], cities: list[str]) -> dict[str, float]:
    """One number per city; a city that is listed with two different ones is an error."""
    found: dict[str, float] = {}
    for line in lines:
        before = found.setdefault(line["to"], line["pleasure"])
        if before != line["pleasure"]:
            raise ValueError(
                f"roads: {line['to']!r} has pleasure {before:g} in one line "
                f"and {line['pleasure']:g} in another"
            )
    return {city: found.get(city, 0.0) for city in cities}
