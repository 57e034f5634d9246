"""Logs of too many lines are refused before a row is read."""

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from cprsim.basics import tabular
from cprsim.cli import command
from cprsim.failures.logs import table

LINES = 5_000
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
}
LOGS = {"csv": "time_s,node\n", "intervals": "duration_s\n"}


@pytest.fixture
def written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, int], str]:
    """Writes a log of so many lines, which is the most here or is not."""
    monkeypatch.setattr(tabular, "_MOST_LINES", LINES)

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
    tabular.check_length(written("csv", suffix, LINES))


def test_one_that_is_cut_short_is_said_to_be(written, capsys) -> None:
    whole = Path(written("csv", ".gz", LINES)).read_bytes()
    Path("cut.csv.gz").write_bytes(whole[: len(whole) // 2])

    assert command._main(["fit", "cut.csv.gz", "--reader", "csv"]) == 2
    assert "cut short after line" in capsys.readouterr().err
