"""Columns of numbers and words as a data frame of pandas, or as CSV, which needs nothing."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from typing import Any

from lexicone._base.files import check_writable, write_text

__all__ = ["as_csv", "as_frame", "write_csv"]


def as_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A ``pandas.DataFrame``; an ImportError says how to have one."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            'to_frame needs pandas: pip install "lexicone[frames]"; to_csv works without'
        ) from None
    return pandas.DataFrame(dict(columns))


def as_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """Text with a heading; numbers with all their digits, None as nothing."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(columns)
    rows.writerows(zip(*columns.values(), strict=True))
    return file.getvalue()


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, Sequence[Any]]) -> None:
    """The same in a file, which appears whole or not at all."""
    check_writable("path", path)
    write_text(path, as_csv(columns))
