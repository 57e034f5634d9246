"""Logs that are wrong, one of each kind, with what a user is told: the rows of malformed.csv.

`content` has the escapes of a string of Python, `error` is what stands behind `log:`.
"""

import csv
from pathlib import Path
from typing import NamedTuple


class Case(NamedTuple):
    """A wrong log, and the error."""

    reader: str
    system: int | None
    content: bytes
    error: str

    def place(self) -> None:
        """Write the log into the working folder."""
        Path("log").write_bytes(self.content)


def _cases() -> list[Case]:
    with Path(__file__).with_suffix(".csv").open(encoding="ascii", newline="") as file:
        return [
            Case(
                row["reader"],
                int(row["system"]) if row["system"] else None,
                row["content"].encode().decode("unicode_escape").encode("latin-1"),
                f"log:{row['error']}",
            )
            for row in csv.DictReader(file)
        ]


CASES = _cases()
