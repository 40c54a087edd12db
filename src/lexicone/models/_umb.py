"""Models in UMB files: an index and raw sparse arrays in a tar archive (https://github.com/pmc-tools/umb, version 1).

Storm 2, PRISM and Modest write them. Whatever is not needed is not unpacked.
"""

import json
import os
import tarfile
from fractions import Fraction
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from lexicone.models._explicit import Explicit, Rewards, check_size, only_initial
from lexicone.models._factors import Factors

__all__ = ["read_umb"]

_KINDS = {"discrete": True, "stochastic": False, "urgent-stochastic": False}
_INDEX_BYTES = 2**26


def read_umb(path: str | os.PathLike[str]) -> Explicit:
    """The model in a file; a ValueError says what is wrong with it, before memory is taken for it."""
    name = os.fspath(path)
    with open(path, "rb") as file:
        try:
            with tarfile.open(fileobj=file, mode="r:*") as archive:
                return _Archive(name, archive).model()
        except tarfile.ReadError:
            raise ValueError(
                f"path: {name!r} is no UMB file: it is no archive, or cut short"
            ) from None
        except (
            tarfile.TarError,
            EOFError,
            OSError,
            KeyError,
            TypeError,
            json.JSONDecodeError,
        ) as error:
            raise ValueError(f"path: {name!r} is no UMB file: {error}") from None


class _Archive:
    """An open archive and its index."""

    def __init__(self, name: str, archive: tarfile.TarFile) -> None:
        self.name, self.archive = name, archive
        self.members = {
            member.name.removeprefix("./"): member for member in archive if member.isfile()
        }
        self.index = json.loads(self.bytes("index.json", _INDEX_BYTES) or b"null")
        if not isinstance(self.index, dict) or "transition-system" not in self.index:
            self.fail("it has no index")
        if self.index.get("format-version") != 1:
            self.fail(f"version 1 can be read, it has {self.index.get('format-version')}")

    def fail(self, why: str) -> NoReturn:
        raise ValueError(f"path: {self.name!r} cannot be read: {why}")

    def model(self) -> Explicit:
        system = self.index["transition-system"]
        sizes = states, choices, branches = [
            int(system[key]) for key in ("#states", "#choices", "#branches")
        ]
        if not _KINDS.get(system["time"], False) or system["#players"] > 1:
            self.fail("it is no MDP in discrete time with one player")
        if system.get("#observations"):
            self.fail("its states are only partly observed (a POMDP)")
        check_size(*sizes)
        actions = int(system.get("#choice-actions", 0))
        return Explicit(
            offsets=self.offsets("state-to-choices.bin", states, choices),
            ends=self.offsets("choice-to-branches.bin", choices, branches),
            next_state=self.whole("branch-to-target.bin", branches, np.uint64),
            probability=self.numbers(
                "branch-to-probability.bin", branches, system.get("branch-probability-type"), 1.0
            ),
            initial=only_initial(self.bits("state-is-initial.bin", states)),
            labels=self.labels(states),
            rewards=self.rewards(states, choices, branches),
            choice_names=self.texts("actions/choices/", actions),
            choice_name=self.whole("actions/choices/values.bin", choices, np.uint32)
            if actions
            else None,
            factors=self.factors(states),
            booleans=self.booleans(),
        )

    def bytes(self, place: str, most: int) -> bytes | None:
        """A file of the archive, if it has it and that is as long as it has to be."""
        member = self.members.get(place)
        if member is None:
            return None
        if member.size > most:
            self.fail(f"{place} has {member.size} bytes where {most} were expected")
        file = self.archive.extractfile(member)
        return b"" if file is None else file.read()

    def array(self, place: str, count: int, dtype: Any) -> np.ndarray | None:
        data = self.bytes(place, count * np.dtype(dtype).itemsize)
        if data is None:
            return None
        if len(data) != count * np.dtype(dtype).itemsize:
            self.fail(f"{place} has {len(data)} bytes, not {count * np.dtype(dtype).itemsize}")
        return np.frombuffer(data, dtype=np.dtype(dtype).newbyteorder("<"))

    def whole(self, place: str, count: int, dtype: Any) -> np.ndarray:
        found = self.array(place, count, dtype)
        return np.zeros(count, dtype=np.int64) if found is None else found.astype(np.int64)

    def offsets(self, place: str, count: int, total: int) -> np.ndarray:
        found = self.array(place, count + 1, np.uint64)
        found = np.arange(count + 1) if found is None else found.astype(np.int64)
        if found[0] != 0 or found[-1] != total or (np.diff(found) < 0).any():
            self.fail(f"{place} does not count up to {total}")
        return found

    def bits(self, place: str, count: int) -> np.ndarray:
        data = self.array(place, -(-count // 64) * 8, np.uint8)
        if data is None:
            return np.zeros(count, dtype=bool)
        return np.unpackbits(data, count=count, bitorder="little").astype(bool)

    def numbers(self, place: str, count: int, kind: Any, missing: float) -> np.ndarray:
        """Doubles, or fractions of two whole numbers."""
        kind = kind or {"type": "double"}
        if place not in self.members:
            return np.full(count, missing)
        if kind["type"] == "double":
            found = self.array(place, count, np.float64)
            return np.array(found, dtype=float)
        if kind["type"] != "rational":
            self.fail(
                f"{place} has numbers of the type {kind['type']}; double and rational can be read"
            )
        half = int(kind.get("size", 128)) // 16
        data = self.array(place, count * 2 * half, np.uint8)
        assert data is not None
        raw = data.tobytes()
        parts = [
            int.from_bytes(raw[at : at + half], "little", signed=at % (2 * half) == 0)
            for at in range(0, len(raw), half)
        ]
        return np.array([float(Fraction(*parts[n : n + 2])) for n in range(0, len(parts), 2)])

    def annotations(self, group: str) -> dict[str, tuple[str, dict]]:
        """Where each is, by the name that properties use."""
        found = self.index.get("annotations", {}).get(group, {})
        return {
            entry.get("alias", key): (f"annotations/{group}/{key}/", entry)
            for key, entry in found.items()
        }

    def labels(self, states: int) -> dict[str, np.ndarray]:
        found = {
            name: self.bits(f"{place}states/values.bin", states)
            for name, (place, _) in self.annotations("aps").items()
        }
        return {"init": self.bits("state-is-initial.bin", states), **found}

    def rewards(self, states: int, choices: int, branches: int) -> dict[str, Rewards]:
        found = {}
        for name, (place, entry) in self.annotations("rewards").items():
            parts = {
                part: self.numbers(f"{place}{folder}/values.bin", count, entry["type"], 0.0)
                for part, folder, count in (
                    ("state", "states", states),
                    ("choice", "choices", choices),
                    ("branch", "branches", branches),
                )
                if folder in entry["applies-to"]
            }
            found[name] = Rewards(**parts)
        return found

    def texts(self, folder: str, count: int) -> tuple[str, ...] | None:
        if not count:
            return None
        joined = self.bytes(f"{folder}strings.bin", 2**30)
        if joined is None:
            return tuple(str(n) for n in range(count))
        ends = self.array(f"{folder}string-mapping.bin", count + 1, np.uint64)
        if ends is None:
            self.fail(f"{folder} has strings and no places of them")
        places = ends.astype(np.int64).tolist()
        return tuple(joined[a:b].decode() for a, b in pairwise(places))

    def booleans(self) -> frozenset[str]:
        classes = self.index.get("valuations", {}).get("states", {}).get("classes", [])
        parts = [part for one in classes for part in one["variables"] if "name" in part]
        return frozenset(part["name"] for part in parts if part["type"]["type"] == "bool")

    def factors(self, states: int) -> Factors | None:
        """The values of variables, where all are numbers of one class; None otherwise."""
        given = self.index.get("valuations", {}).get("states")
        if not given or len(given["classes"]) != 1:
            return None
        parts = given["classes"][0]["variables"]
        size = sum(_bits_of(part) for part in parts)
        data = self.array("valuations/states/valuations.bin", states * size // 8, np.uint8)
        readable = all(
            "padding" in p or p["type"]["type"] in ("bool", "int", "uint") for p in parts
        )
        if data is None or size % 8 or not readable:
            return None
        names, columns, at = [], [], 0
        for part in parts:
            optional = bool(part.get("is-optional"))
            if "name" in part:
                names.append(part["name"])
                columns.append(_column(data.reshape(states, -1), at + optional, part))
            at += _bits_of(part)
        if not names:
            return None
        return Factors(tuple(names), np.column_stack(columns))


def _bits_of(part: dict) -> int:
    if "padding" in part:
        return int(part["padding"])
    default = 1 if part["type"]["type"] == "bool" else 64
    return int(part["type"].get("size", default)) + bool(part.get("is-optional"))


def _column(data: np.ndarray, at: int, part: dict) -> np.ndarray:
    """A variable's values: some bits of each row of bytes."""
    kind = part["type"]
    width = int(kind.get("size", 1 if kind["type"] == "bool" else 64))
    value = np.zeros(len(data))
    for bit in range(width):
        place, shift = divmod(at + bit, 8)
        weight = 2.0**bit
        if kind["type"] == "int" and bit == width - 1:
            weight = -weight
        value += weight * ((data[:, place] >> shift) & 1)
    return (value != 0).astype(float) if kind["type"] == "bool" else value + part.get("offset", 0)
