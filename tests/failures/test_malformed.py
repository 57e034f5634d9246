"""Every kind of wrong log is told in one line: where it is, what is wrong.

Of wrong texts malformed.csv has one of each kind: `content` with the escapes of a string of Python,
and `error`, what stands behind `log:`.
"""

import csv
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from cprsim.cli import command
from cprsim.errors import LogError
from cprsim.failures.logs import cells, table
from cprsim.failures.logs.intervals import read_intervals
from cprsim.failures.logs.job_table import read_jobs
from cprsim.failures.logs.readers import READERS, read_log

OTHERS = {"intervals": read_intervals, "jobs": read_jobs}
EVERY = [*READERS, *OTHERS]
GOOD = b"time_s,node\n" + b"".join(b"%d,%d\n" % (i, i * i % 97) for i in range(50_000))

pytestmark = pytest.mark.usefixtures("folder")


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
    with Path(__file__).with_name("malformed.csv").open(encoding="ascii", newline="") as file:
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


def error_of(name: str, reader: str, system: int | None = None) -> str:
    read = (OTHERS[reader], name) if reader in OTHERS else (read_log, name, reader, system)
    with pytest.raises(LogError) as caught:
        read[0](*read[1:])
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_every_reader_has_malformed_logs() -> None:
    assert {case.reader for case in CASES} == {*EVERY}


@pytest.mark.parametrize("reader", EVERY)
def test_a_file_that_cannot_be_read_is_one_line(reader: str) -> None:
    Path("folder").mkdir()
    Path("file.gz").write_text("time_s,node\n1,0\n")
    Path("file.xz").write_text("time_s,node\n1,0\n")
    Path("all.zip").write_text("")
    Path("logs.tar.xz").write_text("")

    assert error_of("log", reader) == "log: no such file"
    assert error_of("folder", reader) == "folder: is a directory, not a log"
    assert error_of("file.gz/log", reader) == "file.gz/log: can't be read: Not a directory"
    assert error_of("file.gz", reader) == (
        "file.gz: is not a sound .gz file: Not a gzipped file (b'ti')"
    )
    assert error_of("file.xz", reader) == (
        "file.xz: is not a sound .xz file: Input format not supported by decoder"
    )
    for name in ("all.zip", "logs.tar.xz"):
        assert error_of(name, reader) == (
            f"{name}: is an archive; unpack it and name one of its files"
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log.gz", "log.xz"])
def test_a_packed_log_that_is_cut_short_is_one_line(name: str) -> None:
    Path(name).write_bytes(PACKED[name[3:]](GOOD)[:-4000])

    for reader in ("csv", "xid"):  # a line after the other
        assert error_of(name, reader).startswith(f"{name}: is cut short after line ")
        assert error_of(name, reader).endswith("; copy it again")
    for reader in ("spot", "stepfun", "prometheus"):
        assert error_of(name, reader) == f"{name}: is cut short; copy it again"


@pytest.mark.parametrize("reader", ["csv", "xid"])
def test_a_line_of_a_megabyte_is_refused(reader: str) -> None:
    Path("log").write_text("time_s,node\n" + "x" * (2**20 + 1))

    assert error_of("log", reader) == "log:2: is longer than 1048576 bytes"


def test_an_endless_text_of_json_is_refused() -> None:
    Path("log").write_text('{"' + "x" * 2**21)

    assert error_of("log", "spot") == (
        "log:1: is not JSON: Unterminated string starting at at column 2; copy it again"
    )


# Too many lines: refused before a row is read

LINES = 5_000
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
}
LOGS = {"csv": "time_s,node\n", "intervals": "duration_s\n"}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, int], str]:
    """Writes a log of so many lines, which is the most here or is not."""
    monkeypatch.setattr(cells, "_MOST_LINES", LINES)

    def write(reader: str, suffix: str, lines: int) -> str:
        row = "{0},{1}\n" if reader == "csv" else "{0}\n"
        rows = "".join(row.format(3600 * at + at * at % 97, at % 7) for at in range(1, lines))
        name = f"log.{reader}{suffix}"
        Path(name).write_bytes(PACKED[suffix](f"{LOGS[reader]}{rows}".encode()))
        return name

    return write


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("reader", LOGS)
def test_a_log_of_too_many_lines_is_refused_before_it_is_read(
    reader: str, suffix: str, written, capsys, monkeypatch
) -> None:
    name = written(reader, suffix, LINES + 1)
    monkeypatch.setattr(table, "_header", None)

    assert command._main(["fit", name, "--reader", reader]) == 2
    assert capsys.readouterr().err == (
        f"cprsim: {name}: has more than 5,000 lines; cut it into parts, e.g. of fewer years\n"
    )


@pytest.mark.parametrize("suffix", PACKED)
def test_one_of_just_as_many_is_read(suffix: str, written) -> None:
    cells.check_length(written("csv", suffix, LINES))


def test_one_that_is_cut_short_is_said_to_be(written, capsys) -> None:
    whole = Path(written("csv", ".gz", LINES)).read_bytes()
    Path("cut.csv.gz").write_bytes(whole[: len(whole) // 2])

    assert command._main(["fit", "cut.csv.gz", "--reader", "csv"]) == 2
    assert "cut short after line" in capsys.readouterr().err
