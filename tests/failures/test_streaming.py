"""Logs are streamed: memory grows with what is kept, not with the file."""

import tracemalloc
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cprsim.failures.logs.intervals import read_intervals
from cprsim.failures.logs.readers import read_log

# A failure keeps three to five numbers of 8 bytes, in arrays that grow by an eighth at a time; then
# come the log's own copies of them and, where they need it, those in order. A Python float and its
# place in a list take 32 bytes, so five of them would be seen.
PER_FAILURE = 140  # bytes
PER_DURATION = 20  # bytes; a number, a flag, and what the arrays hold ready
START = datetime(2004, 3, 1)
FEW, MANY = 2_000, 8_000
# What else may come and go: the buffers of a file.
STEADY = 64 * 1024  # bytes


def write(path: Path, header: str, rows: Iterable[str]) -> Path:
    with path.open("w") as file:
        file.write(header)
        file.writelines(rows)
    return path


def csv(path: Path, failures: int) -> Path:
    rows = (f"{60 * i},{i % 97},trainer,{60 * i + 30},{i % 7}\n" for i in range(failures))
    return write(path, "time_s,node,kind,end_s,rack\n", rows)


def hosts(path: Path, failures: int) -> Path:
    """Somebody else's table, the last failure first."""
    rows = (
        f"{1_777_816_800_000 + 60_000 * i},web-{i % 97},2026-05-03,r{i % 7}\n"
        for i in reversed(range(failures))
    )
    return write(path, "Timestamp,Host,Note,Rack\n", rows)


def lanl(path: Path, failures: int, others: int = 0) -> Path:
    def row(system: int, i: int) -> str:
        # 28 days, 24 hours and 60 minutes: times may come again.
        date = f"{1 + i % 12}/{1 + i // 12 % 28}/2004 {i % 24}:{i % 60:02d}"
        text = f"operators' note number {i}, of no use to anybody"
        return f'{system},97,{i % 97},{date},{date},current,"{text}"\n'

    rows = [row(8, i) for i in range(failures)]
    header = "System,nodes,nodenumz,Prob Started,Prob Fixed,node decom,note\n"
    return write(path, header, [*rows, *(row(9, i) for i in range(others))])


def fta(path: Path, failures: int, ups: int | None = None) -> Path:
    """As many nodes whatever the size; every other interval of a node is down."""

    def row(i: int, event: int, node: int) -> str:
        return f"{i}\t0\t{node}\t5\tnode number {node} of a site\t{event}\t{i}\t{i + 1}\tNULL\n"

    rows = [row(i, 1 - i // 97 % 2, i % 97) for i in range(2 * failures)]
    more = range(2 * failures, 2 * failures + (ups or 0))
    return write(path, "", [*rows, *(row(i, 1, i % 97) for i in more)])


def slurm(path: Path, failures: int, others: int = 0) -> Path:
    def row(i: int, node: str) -> str:
        start = START + timedelta(hours=i)
        end = start + timedelta(minutes=5)
        return f"c|{node}|{start.isoformat()}|{end.isoformat()}|DOWN*|Not responding|slurm\n"

    rows = [row(i, f"n{i % 97}") for i in range(failures)]
    header = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    return write(path, header, [*rows, *(row(i, "") for i in range(others))])


def xid(path: Path, failures: int, others: int = 0) -> Path:
    def line(i: int, code: int) -> str:
        stamp = (START + timedelta(hours=i)).isoformat()
        return f"{stamp}Z n{i % 97} kernel: NVRM: Xid (PCI:0000:3b:00): {code}, pid=12, lost\n"

    rows = [line(i, 79) for i in range(failures)]
    return write(path, "", [*rows, *(line(i, 13) for i in range(others))])


def intervals(path: Path, failures: int, comments: int = 0) -> Path:
    rows = (f"{i}.5 min, {i % 2}\n" for i in range(failures))
    return write(path, "# nothing to see here, move along please\n" * comments, rows)


#: How a log is made, how it is read, and which system of it.
FORMATS: dict[str, tuple[Callable[..., Path], str, int | None]] = {
    "csv": (csv, "csv", None),
    "hosts": (hosts, "csv", None),
    "lanl": (lanl, "lanl", 8),
    "fta": (fta, "fta", None),
    "intervals": (intervals, "intervals", None),
    "slurm": (slurm, "slurm", None),
    "xid": (xid, "xid", None),
}


def peak(path: Path, form: str) -> int:
    """The most memory that a reading takes at any one time, bytes."""
    _, reader, system = FORMATS[form]

    def read() -> int:
        if reader == "intervals":
            return len(read_intervals(path).durations_s)
        return len(read_log(path, reader, system))

    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("reader", FORMATS)
def test_a_failure_takes_a_few_numbers(tmp_path, reader):
    make, *_ = FORMATS[reader]
    few, many = make(tmp_path / "few", FEW), make(tmp_path / "many", MANY)
    peak(few, reader)  # what is made once is made now

    grown = peak(many, reader) - peak(few, reader)

    assert 0 < grown / (MANY - FEW) < (PER_DURATION if reader == "intervals" else PER_FAILURE)


@pytest.mark.parametrize(
    ("reader", "few", "many"),
    [
        ("lanl", 0, 6_000),
        ("fta", 0, 7_000),
        ("slurm", 0, 7_000),
        ("xid", 0, 7_000),
        ("intervals", 0, 20_000),
    ],
)
def test_what_is_not_kept_takes_no_memory(tmp_path, reader, few, many):
    make, *_ = FORMATS[reader]
    short, long = make(tmp_path / "short", 200, few), make(tmp_path / "long", 200, many)
    assert long.stat().st_size - short.stat().st_size > 5 * STEADY
    peak(short, reader)

    assert peak(long, reader) - peak(short, reader) < STEADY


def test_columns_of_text_take_no_memory(tmp_path):
    text = "x" * 2_000
    narrow = write(tmp_path / "n", "time_s,node\n", (f"{i},0\n" for i in range(500)))
    wide = write(tmp_path / "w", "time_s,node,note\n", (f"{i},0,{text}\n" for i in range(500)))
    peak(narrow, "csv")

    assert wide.stat().st_size > 10 * STEADY
    assert peak(wide, "csv") - peak(narrow, "csv") < STEADY
