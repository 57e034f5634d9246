"""Every kind of wrong log is told in one line: where it is, what is wrong."""

import gzip
import lzma
from pathlib import Path

import pytest

from cprsim.errors import LogError
from cprsim.failures.logs.intervals import read_intervals
from cprsim.failures.logs.readers import READERS, read_log
from tests.failures.malformed import CASES, Case

EVERY = [*READERS, "intervals"]
GOOD = b"time_s,node\n" + b"".join(b"%d,%d\n" % (i, i * i % 97) for i in range(50_000))

pytestmark = pytest.mark.usefixtures("folder")


def error_of(name: str, reader: str, system: int | None = None) -> str:
    read = (read_intervals, name) if reader == "intervals" else (read_log, name, reader, system)
    with pytest.raises(LogError) as caught:
        read[0](*read[1:])
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.reader}-{case.error[4:60]}")
def test_a_malformed_log_is_one_line(case: Case) -> None:
    case.place()

    assert error_of("log", case.reader, case.system) == case.error


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


@pytest.mark.parametrize("name", ["log.gz", "log.xz"])
def test_a_packed_log_that_is_cut_short_is_one_line(name: str) -> None:
    pack = gzip.compress if name == "log.gz" else lzma.compress
    Path(name).write_bytes(pack(GOOD)[:-4000])

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
