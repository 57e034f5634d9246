"""Logs of 100 MB, each read in a process of its own: what it takes is what is kept of them."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.tiers import one_of_each

SIZE = 100_000_000  # bytes of each log
SMALL = 200_000  # bytes of a log that takes nothing
STEADY = 16  # MB that buffers and the allocator may take
_START = datetime(2004, 3, 1)
_NOTE = "x" * 200
READ = """
import re, sys
from pathlib import Path
from cprsim.failures.logs.intervals import read_intervals
from cprsim.failures.logs.readers import read_log
path, reader = sys.argv[1:]
def read():
    if reader == "intervals":
        return len(read_intervals(path).durations_s)
    return len(read_log(path, reader))
count = read()
# Not that of getrusage, which begins with what the process had from which this one was started.
print(count, re.search(r"VmHWM:\\s*([0-9]+) kB", Path("/proc/self/status").read_text())[1])
"""


class Form(NamedTuple):
    """A format: what its file begins with, one failure, and what it ends with.

    `kept`: the most bytes that stay in memory of each failure (test_streaming.py), while the log is
    made of them.
    """

    head: str
    row: Callable[[int], str]
    kept: int
    tail: str = ""


def _stamp(i: int) -> str:
    return (_START + timedelta(minutes=i)).isoformat()


def _lanl(i: int) -> str:
    at = _START + timedelta(minutes=i)
    date = f"{at.month}/{at.day}/{at.year} {at.hour}:{at.minute:02}"
    return f"8,97,{i % 97},{date},{date},current,{_NOTE}\n"


def _event(i: int) -> str:
    """A fault that starts and, one event later, ends."""
    node, kind = f"node-{i // 2 % 97}", ("fault_start", "fault_end")[i % 2]
    fault = {"Level": "Hardware Failure", "Class": "GPU", "Desc": _NOTE}
    event = {"node_id": node, "event_time": i * 1e-3, "event_type": kind, "fault_type": fault}
    return ("," if i else "") + json.dumps(event)


def _series(i: int) -> str:
    """A week of samples, one in a hundred of which the node is down."""
    samples = ((1_709_000_000 + 60 * n, int((n + i) % 100 > 0)) for n in range(10_080))
    values = ",".join(f'[{at},"{up}"]' for at, up in samples)
    return ("," if i else "") + f'{{"metric":{{"instance":"n{i}:9100"}},"values":[{values}]}}'


FORMS = {
    "csv": Form("time_s,node,note\n", lambda i: f"{60 * i},{i % 97},{_NOTE}\n", 80),
    "lanl": Form("System,nodes,nodenumz,Prob Started,Prob Fixed,node decom,note\n", _lanl, 140),
    "fta": Form(
        "", lambda i: f"0\t0\t{i % 97}\t5\t{_NOTE}\t{i // 97 % 2}\t{i}\t{i + 1}\tNULL\n", 80
    ),
    "slurm": Form(
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n",
        lambda i: f"c|n{i % 97}|{_stamp(i)}|{_stamp(i + 5)}|DOWN*|Not responding {_NOTE}|slurm\n",
        140,
    ),
    "xid": Form(
        "",
        lambda i: f"{_stamp(i)}Z n{i % 97} kernel: NVRM: Xid (PCI:0000:3b:00): 79, {_NOTE}\n",
        140,
    ),
    "intervals": Form("", lambda i: f"{i}.5 min, {i % 2}\n", 12),
    "stepfun": Form("[", _event, 250, "]"),
    # Of a series: its samples, a number and a flag each, and ever one more copy of some of them.
    "prometheus": Form(
        '{"status":"success","data":{"resultType":"matrix","result":[',
        _series,
        10_080 * 12 + 100 * 250,
        "]}}",
    ),
}


def pieces(form: Form, size: int) -> Iterator[str]:
    """A log of so many bytes, but for the last piece; never only one failure."""
    yield form.head
    done, i = 0, 0
    while done < size or i < 4:
        yield (row := form.row(i))
        done, i = done + len(row), i + 1
    yield form.tail


def read(path: Path, reader: str) -> tuple[int, float]:
    """Failures of a log, and the most memory that the reading process had, MB."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path), reader], capture_output=True, text=True, check=True
    )
    failures, kilobytes = map(int, done.stdout.split())
    return failures, kilobytes / 1000


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc of Linux")
@pytest.mark.parametrize("reader", one_of_each(("csv", "prometheus"), FORMS))
def test_a_log_of_100_mb_takes_what_is_kept_of_it(reader, tmp_path):
    form, peaks = FORMS[reader], []
    for size in (SMALL, SIZE):
        path = tmp_path / "log"
        with path.open("w") as file:
            file.writelines(pieces(form, size))
        rows = sum(1 for _ in pieces(form, size)) - 2
        failures, peak = read(path, reader)
        assert failures > 0
        peaks.append(peak)
    path.unlink()

    assert peaks[1] - peaks[0] < STEADY + rows * form.kept / 1e6
    assert rows * form.kept < 1.6 * SIZE
