"""Which format a log is in is seen by its first lines."""

import gzip
import lzma
import os
import tomllib
from pathlib import Path

import pytest

from cprsim.errors import LogError
from cprsim.failures.logs.readers import READERS
from cprsim.failures.logs.source import LogSource, recognised
from tests.failures.generated_logs import WRITERS
from tests.failures.test_malformed import CASES
from tests.survival.cases import SHARED

SSD = SHARED / "alibaba_ssd/ssd_failures_trimmed.csv.gz"
needs_ssd = pytest.mark.skipif(not SSD.exists(), reason=f"needs {SSD}")

FILES = tomllib.loads(Path(__file__).with_name("recognised.toml").read_text(encoding="utf-8"))

pytestmark = pytest.mark.usefixtures("folder")


def error_of(name: str) -> str:
    with pytest.raises(LogError) as caught:
        recognised(name)
    return str(caught.value)


@pytest.mark.parametrize(
    ("reader", "name"), [(reader, name) for reader, texts in FILES.items() for name in texts]
)
@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_a_format_is_recognised(reader, name, suffix):
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[suffix]
    Path(f"log{suffix}").write_bytes(pack(FILES[reader][name].encode()))

    assert recognised(f"log{suffix}") == reader


def test_a_new_reader_is_recognised_by_its_looks(monkeypatch):
    Path("log").write_text("beep beep\n")
    assert "looks like none of the logs that are known" in error_of("log")

    monkeypatch.setitem(READERS, "beeps", READERS["spot"]._replace(looks=r"\bbeep\b"))

    assert recognised("log") == "beeps"


def test_every_reader_can_be_recognised():
    assert {name for name, reader in READERS.items() if not reader.looks} == {"csv"}
    assert {*READERS, "intervals"} == FILES.keys() | WRITERS.keys()


def test_a_trace_of_one_endless_line_is_recognised():
    data = ", ".join(["1"] * 200_000)
    Path("log").write_text(f'{{"note": "{"x" * 200_000}", "metadata": {{"gap_seconds": 9}}, {data}')

    assert recognised("log") == "spot"


@pytest.mark.parametrize(
    "text", ["# nothing\n", "a,b\n1,2\n", '{"a": 1}', "[1, 2]", "no log\n", "3,7\n", "5\nx"]
)
def test_what_is_like_no_log_is_refused_with_the_way_out(text):
    Path("log").write_text(text)

    assert error_of("log") == (
        f"log: looks like none of the logs that are known: {', '.join(READERS)}, intervals; say "
        "which with --reader, or name the columns of a table with --time-column and --node-column"
    )


def told(name: str) -> str:
    """The reader of a log, or what is wrong with it."""
    try:
        return recognised(name)
    except LogError as error:
        return str(error)


def test_a_malformed_log_is_recognised_or_refused_in_one_line():
    for case in CASES:
        case.place()

        said = told("log")

        assert said in {*READERS, "intervals", "jobs"} or said.startswith("log: ")
        assert len(said.splitlines()) == 1


def test_files_that_cannot_be_looked_at():
    Path("folder").mkdir()
    Path("empty").write_text(" \n")

    assert error_of("log") == "log: no such file"
    assert error_of("folder") == "folder: is a directory, not a log"
    assert error_of("empty") == "empty: holds no failure"


def test_a_long_file_of_numbers_is_looked_at_in_no_time():
    """Nothing is tried in ever more ways: this takes far less than the limit of a test."""
    Path("log").write_text("\n \n" * 10_000 + "123 456\n" * 30_000 + "x")

    error_of("log")


def test_a_pipe_is_taken_for_a_table_as_it_can_be_read_but_once():
    os.mkfifo("pipe")

    assert recognised("pipe") == "csv"


def test_a_reader_that_is_named_is_taken_at_its_word():
    Path("log").write_text("5\n7\n")

    assert LogSource.from_options("log", "spot", None, None, None, None).reader == "spot"
    assert LogSource.from_options("log", None, None, None, None, None).notes == (
        "Read as intervals, which it looks like; else give --reader.",
    )


def test_named_columns_make_a_table_of_it():
    Path("log").write_text("a,b\n1,2\n")

    source = LogSource.from_options("log", None, None, None, None, None, {"time": "a", "node": "b"})

    assert (source.reader, source.notes) == ("csv", ())
    assert len(source.failures()) == 1


@needs_ssd
def test_a_table_that_was_made_for_no_tool():
    log = LogSource.from_options(SSD, None, None, None, None, None).failures()

    assert log.notes == (
        "Columns: time 'failure_time' (ISO 8601, taken for UTC), node 'node_id', rack 'rack_id'.",
        "Columns not used: 'model', 'failure', 'app', 'disk_id', 'machine_room_id', 'r_9'.",
    )
    assert len(log) > 10_000
