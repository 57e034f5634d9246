"""docs/failures.md has a section for each reader, with an example that it reads."""

import re
import shlex
from pathlib import Path

import pytest

from cprsim.cli import command as cli
from cprsim.failures.logs.intervals import read_intervals
from cprsim.failures.logs.readers import READERS, read_log
from cprsim.failures.logs.source import LogSource, recognised
from cprsim.failures.logs.words import WORDS
from tests.failures.generated_logs import EVERY, drawn

PAGE = (Path(__file__).parents[2] / "docs/failures.md").read_text(encoding="utf-8")
NAMES = [*READERS, "intervals"]
#: What each example is read to: failures, or durations.
HOLDS = {
    "csv": 2,
    "lanl": 2,
    "fta": 1,
    "spot": 4,
    "stepfun": 1,
    "slurm": 2,
    "prometheus": 1,
    "xid": 1,
    "intervals": 3,
}

pytestmark = pytest.mark.usefixtures("folder")


def section(reader: str) -> str:
    """What the page has on a reader."""
    start = PAGE.index(f"\n**`{reader}`**: ")
    return PAGE[start : min(PAGE.find(mark, start + 1) % len(PAGE) for mark in ("\n**`", "\n##"))]


def example(reader: str) -> tuple[str, str]:
    """The file that the section shows, its name and what is in it."""
    shown = re.search(
        r"^\$ (?:cat|head -\d+) (\S+)\n((?:[^$`].*\n)+)", section(reader), re.MULTILINE
    )
    return shown[1], shown[2]


def command(reader: str) -> list[str]:
    """The fit that the section shows."""
    return shlex.split(re.search(r"cprsim (fit \S+.*)$", section(reader), re.MULTILINE)[1])


def test_every_reader_has_a_section_and_a_row():
    assert set(NAMES) == HOLDS.keys()
    for reader in NAMES:
        assert f"\n| `{reader}` | " in PAGE
        assert section(reader).count("```console") == 1
        assert re.search(r"\n(- |A CSV log)", section(reader))


@pytest.mark.parametrize("reader", NAMES)
def test_the_example_is_read_as_the_page_says(reader):
    name, text = example(reader)
    Path(name).write_text(text)

    if reader == "csv":
        columns = dict(re.findall(r'--(time|node|end)-column ("[^"]+"|\S+)', section(reader)))
        named = {key: value.strip('"') for key, value in columns.items()}
        log = LogSource.from_options(name, columns=named).failures()
        assert len(log) == HOLDS[reader]
        return
    assert recognised(name) == reader
    if reader == "intervals":
        assert len(read_intervals(name).durations_s) == HOLDS[reader]
    else:
        assert len(read_log(name, reader)) == HOLDS[reader]


@pytest.mark.slow
@pytest.mark.parametrize("reader", NAMES)
def test_the_command_of_the_page_runs_on_a_log_of_that_kind(reader, capsys):
    arguments = command(reader)
    truth, path = drawn(60, 5), Path(arguments[1])
    if reader == "csv":
        rows = [f"{o.start_s};{o.node};r1;{o.end_s}\n" for o in truth.outages]
        path.write_text("fell;box;rack;back up\n" + "".join(rows))
    else:
        _, write = next(each for each in EVERY.values() if each[0] == reader)
        write(truth, path, 2)
        if reader == "lanl":
            path.write_text(path.read_text().replace("\n8,", "\n20,"))

    assert cli._main(arguments) == 0
    assert "intervals are 95 %" in capsys.readouterr().out


def test_every_page_has_the_lists_that_readers_go_by():
    assert ", ".join(WORDS["xid"]) in PAGE
    for words in (*WORDS["slurm"].values(), *WORDS["reasons"].values()):
        assert ", ".join(f"`{word}`" for word in words) in " ".join(PAGE.split())


def test_the_page_has_every_known_name():
    for column, names in WORDS["columns"].items():
        assert f"| {column} | {', '.join(f'`{name}`' for name in names)} |" in PAGE
