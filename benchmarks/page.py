"""`python -m benchmarks.page`: measure millions of runs, print it and write docs/performance.md.

`python -m benchmarks.page Trackers` measures that section only and keeps the others.
"""

import csv
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import advice, app, batch, fleets, memory, package, sweeps

_PAGE = Path("docs/performance.md")
#: Every tracker, size and batch; every policy under both engines: files next to the page.
TRACKERS, ENGINES = Path("docs/performance-trackers.csv"), Path("docs/performance-engines.csv")
_TRACKER_HEADS = (
    *("rows", "batch", "tracker", "us"),
    *("of every id", "of distinct rows", "of a server's part"),
)
#: *Without draws* leaves out drawing the failures; *times bare* compares with full recovery in a
#: few compiled lines (`benchmarks/bare.py`).
_ENGINE_HEADS = (
    *("scenario", "policies", "sim, us", "batch, us", "times faster"),
    *("without draws, us", "times drawing", "times bare"),
)
#: Trackers that the page has, at one size of batch.
_BATCH, _SHOWN = "512", ("MFU", "SSU")


class _Table(NamedTuple):
    """A section with one table: the text above it, its heads, and the measurement of its rows."""

    text: str
    heads: tuple[str, ...]
    rows: Callable[[], Iterable[Sequence[str]]]


_TABLES: Mapping[str, _Table] = {
    "Memory": _Table(
        "Peak memory of a process that runs `criteo-kaggle`. Up to 1,000,000 rows, policies times "
        "replications, all are kept as a table; beyond that, means, intervals and the measures of "
        "the first million.",
        ("policies", "replications", "peak, MB", "processor time, s"),
        memory.rows,
    ),
    "Sweeps": _Table(
        "In one process, from the scenario to the table: one replication without failures, and "
        "1,000 replications of `criteo-kaggle`.",
        ("points", "policies", "replications", "processor time, s", "a point, ms"),
        sweeps.rows,
    ),
    "Fleets": _Table(
        "Jobs of `production-fleet` under its three policies, in one process, before they are "
        "played.",
        ("what", "a job, us"),
        fleets.rows,
    ),
    "Advice": _Table(
        "`cprsim advise` on the clock with all cores to itself, after compiling: search and "
        "certificate, then perturbed scenarios. Seconds, the median of three rounds.",
        ("scenario", "candidates", "the answer, s", "perturbed scenarios, s", "all, s"),
        advice.rows,
    ),
    "The what-if page": _Table(
        "From a move to its answer as the server of `cprsim app` sends it, milliseconds, the "
        "median of 15 moves while the advisor is at work: first by equations, then with 1,000 "
        "replications, compared with `cprsim.run` alone.",
        ("scenario", "first, ms", "sharp, ms", "the run alone, ms", "sharp / run"),
        app.rows,
    ),
    "Start-up": _Table(
        "Milliseconds of processor time, the median of nine processes.",
        ("what", "ms", "target, ms"),
        package.starts,
    ),
    "Installed size": _Table(
        "Disk space of `pip install cprsim`.", ("package", "MB"), package.sizes
    ),
}


def main() -> None:
    alone = sys.argv[1:]
    text = _with(_PAGE.read_text(encoding="utf-8"), alone) if alone else measured(_ON_PAGE)
    _PAGE.write_text(text, encoding="utf-8")
    print(text)


def measured(names: Iterable[str]) -> str:
    """Measure and return these sections, under the head of the page."""
    head = (
        f"# Performance\n\nMeasured by `python -m benchmarks.page` on {_machine()}. Times are "
        "processor time of the measured process; ratios are medians of three rounds, with the "
        "least and the greatest. `make bench` measures more: ratios, fleets, the what-if page, "
        "start-up."
    )
    return "\n\n".join((head, *map(_section, names))) + "\n"


def _with(text: str, names: Sequence[str]) -> str:
    """Return the page `text` with these sections measured now."""
    head, *parts = text.rstrip("\n").split("\n\n## ")
    kept = {part.partition("\n")[0]: f"## {part}" for part in parts}
    kept |= {name: _section(name) for name in names}
    return "\n\n".join((head, *(kept[name] for name in SECTIONS if name in kept))) + "\n"


def _section(name: str) -> str:
    if name in _TABLES:
        text, heads, rows = _TABLES[name]
        body = f"{text}\n\n{_markdown(heads, rows())}"
    else:
        body = _engines() if name == "The batch engine" else _trackers()
    return f"## {name}\n\n{body}"


def _engines() -> str:
    rows = list(batch.rows())
    _write(ENGINES, _ENGINE_HEADS, rows)
    slow, quick = (pick(rows, key=lambda row: float(row[4].split()[0])) for pick in (min, max))
    together = [row[:5] for row in rows if "together" in row[1]]
    nodes = _markdown(("engine", "runs", "a run, ms", "failures", "failures/s"), batch.many_nodes())
    return (
        "A replication of several policies together, in microseconds, after compiling. "
        f"Over {len(rows)} rows batch is {slow[4].split()[0]} ({slow[0]}, {slow[1]}) to "
        f"{quick[4].split()[0]} ({quick[0]}, {quick[1]}) times faster: "
        f"[performance-engines.csv](performance-engines.csv).\n\n"
        f"{_markdown(_ENGINE_HEADS[:5], together)}\n\n"
        "A job of 4,096 nodes for 256 days, `airesim`, in milliseconds a run:\n\n"
        f"{nodes}"
    )


def _trackers() -> str:
    if importlib.util.find_spec("torch") is None:
        return "Not measured: torch is not installed."
    from benchmarks import torch_trackers  # noqa: PLC0415

    rows = list(torch_trackers.rows())
    _write(TRACKERS, _TRACKER_HEADS, rows)
    shown = [(f"{int(row[0]):,}", *row[1:]) for row in rows if row[1] == _BATCH]
    return (
        f"Measured with {_machine()}. 26 lookups a sample: time of a batch of {_BATCH}, and its "
        "share of looking rows up and updating them, for every id in one process, for distinct "
        "rows as the trainer and its servers do it, and for a server's part of that. "
        "[performance-trackers.csv](performance-trackers.csv) has other batches, and bare loops."
        f"\n\n{_markdown(_TRACKER_HEADS, [row for row in shown if row[2] in _SHOWN])}"
    )


def _markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    marks = ["---"] * len(headings)
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, marks, *rows))


def _write(path: Path, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([heads, *rows])


def _machine() -> str:
    """Return processor, cores, memory and versions."""
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return (
        f"{_processor()}, {os.cpu_count()} cores, {pages * size / 2**30:.0f} GiB, with "
        f"{platform.system()}, Python {platform.python_version()} and NumPy {np.__version__}; load "
        f"{os.getloadavg()[0]:.1f} when it began"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


#: All sections, in their order; those of the page, of which `make bench` prints all.
SECTIONS = ("The batch engine", *_TABLES, "Trackers")
_ON_PAGE = ("The batch engine", "Memory", "Sweeps", "Advice", "Trackers")

if __name__ == "__main__":
    main()
