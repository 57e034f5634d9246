"""Copies of a sweep's file, damaged at random, each in one of the ways that there are."""

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

from cprsim.sweeps.store import NAME

#: What SQLite calls the journal of a file.
JOURNAL = f"{NAME}-journal"
PAGE = 4096


def flipped(content: bytes, random: random.Random) -> bytes:
    """Some bytes are others, a few of them in the header or in one page."""
    found = bytearray(content)
    first = random.choice([0, 0, random.randrange(len(content) // PAGE) * PAGE])
    last = random.choice([100, PAGE, len(content)])
    for _ in range(random.choice([1, 1, 2, 5, 50])):
        place = random.randrange(first, min(first + last, len(content)))
        found[place] ^= 1 << random.randrange(8)
    return bytes(found)


def zeroed(content: bytes, random: random.Random) -> bytes:
    start = random.randrange(len(content))
    length = random.choice([1, 16, 512, PAGE, 3 * PAGE])
    return (content[:start] + bytes(length) + content[start + length :])[: len(content)]


def truncated(content: bytes, random: random.Random) -> bytes:
    return content[: random.choice([random.randrange(len(content)), len(content) - PAGE])]


def swapped(content: bytes, random: random.Random) -> bytes:
    """Two pages have changed places, or one stands twice."""
    pages = [content[i : i + PAGE] for i in range(0, len(content), PAGE)]
    one, other = random.randrange(len(pages)), random.randrange(len(pages))
    both = pages[one], pages[other]
    pages[other] = both[0]
    if random.random() < 0.5:
        pages[one] = both[1]
    return b"".join(pages)


def appended(content: bytes, random: random.Random) -> bytes:
    return content + random.randbytes(random.choice([1, PAGE, 3 * PAGE + 7]))


OF_BYTES: list[Callable[[bytes, random.Random], bytes]] = [
    flipped, flipped, flipped, zeroed, truncated, swapped, appended,
]  # fmt: skip


def in_bytes(path: Path, random: random.Random) -> str:
    """Damage a file in one of those ways; which it was."""
    harm = random.choice(OF_BYTES)
    path.write_bytes(harm(path.read_bytes(), random))
    return harm.__name__


def in_rows(path: Path, random: random.Random) -> str:
    """Delete rows, change a value, or put one row's values into another's; hashes stay."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        tables = ("definition", "points", "results")
        table = random.choice(tables)
        columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        rows = [row for (row,) in connection.execute(f"SELECT rowid FROM {table}")]
        column, row = random.choice(columns), random.choice(rows)
        where = f"WHERE rowid = {row}"
        kind = random.choice(["deleted", "emptied", "changed", "copied", "without a value"])
        (value,) = connection.execute(f"SELECT {column} FROM {table} {where}").fetchone()
        if kind == "deleted":
            connection.execute(f"DELETE FROM {table} {where}")
        elif kind == "emptied":
            connection.execute(f"DELETE FROM {table}")
        elif kind == "copied":
            connection.execute(
                f"UPDATE OR REPLACE {table} SET {column} = "
                f"(SELECT {column} FROM {table} WHERE rowid = ?) {where}",
                [random.choice(rows)],
            )
        else:
            other = None if kind == "without a value" else _another(value, random)
            connection.execute(
                f"UPDATE OR IGNORE {table} SET {column} = ? {where}", [other]
            )  # fmt: skip
    except sqlite3.IntegrityError:
        pass  # that is not to be had: the file stays as it is
    finally:
        connection.close()
    return f"{table} {kind}"


def _another(value: object, random: random.Random) -> object:
    if value == b"":
        return b"some"
    if isinstance(value, bytes):
        place = random.randrange(len(value))
        return value[:place] + bytes([value[place] ^ 1]) + value[place + 1 :]
    if isinstance(value, str):
        return random.choice([value[:-1], value + "0", "", value.encode() + b"\xff"])
    if isinstance(value, int | float):
        return random.choice([value + 1, -value, 2**62, 1e300, "1"])
    return random.choice(["", "0", 0])


def in_journal(folder: Path, random: random.Random) -> str:
    """Damage the journal that a killed writer has left, the file, or both."""
    harmed = random.choice([[JOURNAL], [JOURNAL], [JOURNAL, NAME]])
    return "journal " + " and file ".join(in_bytes(folder / name, random) for name in harmed)
