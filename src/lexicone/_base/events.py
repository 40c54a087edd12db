"""TensorBoard's files of events, written without TensorBoard: numbers over steps need four of its messages.

A file is a row of records: the length of the data as 8 bytes, a checksum of these, the data, a checksum of the data.
The data are protocol buffers: ``Event {1: time, 2: step, 3: version, 5: Summary {1: Value {1: tag, 2: number}},
7: SessionLog {1: status}}``. The checksum is CRC-32C, turned and shifted so that one of a checksum differs.
"""

import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path

__all__ = ["EventFile", "crc32c"]

_START = 1  # of a session: what was logged from its step on, before, counts no more


class EventFile:
    """A new file in a folder, to which events are added at the end."""

    def __init__(self, folder: Path, step: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time():.6f}.{os.getpid()}"  # later ones sort after it
        self._file = open(folder / name, "xb")  # noqa: SIM115
        self._add(_bytes(3, b"brain.Event:2"), 0)
        self._add(_bytes(7, _varint(1, _START)), step)

    def add(self, numbers: Mapping[str, float], step: int) -> None:
        """Numbers by their tags, all of one step; they are in the file when this returns."""
        values = (
            _bytes(1, tag.encode()) + b"\x15" + struct.pack("<f", number)  # field 2, 32 bits
            for tag, number in numbers.items()
        )
        self._add(_bytes(5, b"".join(_bytes(1, value) for value in values)), step)

    def close(self) -> None:
        """Nothing more comes."""
        self._file.close()

    def _add(self, what: bytes, step: int) -> None:
        data = b"\x09" + struct.pack("<d", time.time()) + _varint(2, step) + what
        length = struct.pack("<Q", len(data))
        self._file.write(length + _checksum(length) + data + _checksum(data))
        self._file.flush()


def _varint(field: int, number: int) -> bytes:
    """A whole number from 0 on, seven bits in each byte, the lowest first."""
    found = bytearray([field << 3])
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(found) + bytes([number])


def _bytes(field: int, data: bytes) -> bytes:
    """A text or a message."""
    return bytes([field << 3 | 2]) + _varint(0, len(data))[1:] + data


def _checksum(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [crc >> 1 ^ 0x82F63B78 * (crc & 1) for crc in table]
    return table


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """Castagnoli's checksum of 32 bits.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
