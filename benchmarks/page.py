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

import numpy as np

from benchmarks import advice, app, batch, fleets, memory, package, sweeps

_PAGE = Path("docs/performance.md")
#: Every tracker, size and batch; and every policy under both engines: tables beside the page.
TRACKERS, ENGINES = Path("docs/performance-trackers.csv"), Path("docs/performance-engines.csv")
_TRACKER_HEADS = (
    *("rows", "batch", "tracker", "us"),
    *("of every id", "of distinct rows", "of a server's part"),
)
#: *Without draws* leaves out drawing the failures; *times bare* compares with full recovery in a
#: few compiled lines (`benchmarks/bare.py`).
ENGINE_HEADS = (
    *("scenario", "policies", "sim, us", "batch, us", "times faster"),
    *("without draws, us", "times drawing", "times bare"),
)
#: Of the trackers that the page has.
_BATCH, _SHOWN = "512", ("MFU", "SSU")


def main() -> None:
    alone = sys.argv[1:]
    text = _with(_PAGE.read_text(encoding="utf-8"), alone) if alone else measured(_ON_PAGE)
    _PAGE.write_text(text, encoding="utf-8")
    print(text)


def measured(names: Iterable[str] | None = None) -> str:
    """Measure and return these sections, by default all, under the head of the page."""
    head = _HEAD.format(machine=_machine())
    return "\n\n".join((head, *(_SECTIONS[name]() for name in names or _SECTIONS))) + "\n"


def _with(text: str, names: Sequence[str]) -> str:
    """The page `text` with these sections measured now."""
    head, *parts = text.rstrip("\n").split("\n\n## ")
    kept = {part.partition("\n")[0]: f"## {part}" for part in parts}
    kept |= {name: _SECTIONS[name]() for name in names}
    return "\n\n".join((head, *(kept[name] for name in _SECTIONS if name in kept))) + "\n"


_HEAD = """# Performance

Measured by `python -m benchmarks.page` on {machine}. Times are processor time of the measured \
process; ratios are medians of three rounds, with the least and the greatest. `make bench` \
measures more: ratios, fleets, the what-if page, start-up."""

_FASTER = """## The batch engine

A replication of several policies together, in microseconds, after compiling. {range}

{table}

A job of 4,096 nodes for 256 days, `airesim`, in milliseconds a run:

{nodes}"""

_MEMORY = """## Memory

Peak memory of a process that runs `criteo-kaggle`. Up to 1,000,000 rows, policies times \
replications, all are kept as a table; beyond that, means, intervals and \
the measures of the first million.

{table}"""

_SWEEPS = """## Sweeps

In one process, from the scenario to the table: one replication without failures, and 1,000 \
replications of `criteo-kaggle`.

{table}"""

_FLEETS = """## Fleets

Jobs of `production-fleet` under its three policies, in one process, before they are played.

{table}"""


_ADVICE = """## Advice

`cprsim advise` on the clock with all cores to itself, after compiling: search and certificate, \
then perturbed scenarios. Seconds, the median of three rounds.

{table}"""


_APP = """## The what-if page

From a move to its answer as the server of `cprsim app` sends it, milliseconds, the median of 15 \
moves while the advisor is at work: first by equations, then with 1,000 replications, compared \
with `cprsim.run` alone.

{table}"""


_PACKAGE = """## The package

Start-up in milliseconds of processor time, the median of nine processes; and the disk space of \
`pip install cprsim`, MB: {total:,.0f} in all.

{starts}

{sizes}"""

_MOST_SIZES = 8  # that are told one by one


_TRACKERS = """## Trackers

Measured with {machine}. 26 lookups a sample: time of a batch of 512, and its share of looking \
rows up and updating them, for every id in one process, for distinct rows as the trainer and its \
servers do it, and for a server's part of that. \
[performance-trackers.csv](performance-trackers.csv) has \
other batches, and bare loops.

{trackers}"""


def _trackers() -> str:
    if importlib.util.find_spec("torch") is None:
        return "## Trackers\n\nNot measured: torch is not installed."
    from benchmarks import torch_trackers  # noqa: PLC0415

    trackers = [
        (
            *(str(each.rows), str(each.batch), each.tracker, f"{each.us:.0f}"),
            *(f"{share:.1%}" for share in each.shares),
        )
        for each in torch_trackers.costs()
    ]
    _write(TRACKERS, _TRACKER_HEADS, trackers)
    shown = _table(_TRACKER_HEADS, shown_trackers(trackers))
    return _TRACKERS.format(machine=_machine(), trackers=shown)


def shown_trackers(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the rows of `TRACKERS` that the page has."""
    return [(f"{int(row[0]):,}", *row[1:]) for row in rows if row[1] == _BATCH and row[2] in _SHOWN]


def _faster(
    kaggle: Sequence[batch.Speed], others: Iterable[batch.Speed], nodes: Iterable[batch.ManyNodes]
) -> str:
    rows = [
        *(
            (
                *_cells(each),
                f"{each.undrawn_us:,.2f}",
                str(each.drawn),
                "" if each.bare is None else str(each.bare),
            )
            for each in kaggle
        ),
        *((*_cells(each), "", "", "") for each in others),
    ]
    of_nodes = [
        (
            each.engine,
            str(each.runs),
            f"{each.run_ms:,.1f}",
            f"{each.failures:,.0f}",
            f"{each.failures_per_s:,.0f}",
        )
        for each in nodes
    ]
    _write(ENGINES, ENGINE_HEADS, rows)
    return _FASTER.format(
        table=shown_engines(rows),
        range=engines(rows),
        nodes=_table(("engine", "runs", "a run, ms", "failures", "failures/s"), of_nodes),
    )


def shown_engines(rows: Sequence[tuple[str, ...]]) -> str:
    """Return the rows of `ENGINES` that the page has: of several policies together."""
    return _table(ENGINE_HEADS[:5], [row[:5] for row in rows if "together" in row[1]])


def _cells(speed: batch.Speed) -> tuple[str, ...]:
    return (
        speed.scenario,
        speed.policies,
        f"{speed.sim_us:,.0f}",
        f"{speed.batch_us:,.2f}",
        str(speed.faster),
    )


def _memory(peaks: Sequence[memory.Peak]) -> str:
    rows = [
        (each.policies, f"{each.replications:,}", f"{each.bytes / 1e6:,.0f}", f"{each.cpu_s:,.0f}")
        for each in peaks
    ]
    headings = ("policies", "replications", "peak, MB", "processor time, s")
    return _MEMORY.format(table=_table(headings, rows))


def _sweeps(costs: Sequence[sweeps.Cost]) -> str:
    rows = [
        (
            f"{each.points:,}",
            str(each.policies),
            f"{each.replications:,}",
            f"{each.cpu_s:,.2f}",
            f"{each.point_us / 1e3:,.2f}",
        )
        for each in costs
    ]
    headings = ("points", "policies", "replications", "processor time, s", "a point, ms")
    return _SWEEPS.format(table=_table(headings, rows))


def _fleets(costs: Sequence[fleets.Cost]) -> str:
    rows = [(each.what, f"{each.job_us:,.0f}") for each in costs]
    return _FLEETS.format(table=_table(("what", "a job, us"), rows))


def _advice(costs: Sequence[advice.Cost]) -> str:
    rows = [
        (
            each.scenario,
            str(each.candidates),
            *(f"{s:.1f}" for s in (each.answer_s, each.elsewhere_s, each.all_s)),
        )
        for each in costs
    ]
    headings = ("scenario", "candidates", "the answer, s", "perturbed scenarios, s", "all, s")
    return _ADVICE.format(table=_table(headings, rows))


def _app(moves: Sequence[app.Move]) -> str:
    rows = [
        (
            each.scenario,
            *(f"{ms:,.0f}" for ms in (each.first_ms, each.sharp_ms, each.run_ms)),
            f"{each.sharp_ms / each.run_ms:.1f}",
        )
        for each in moves
    ]
    headings = ("scenario", "first, ms", "sharp, ms", "the run alone, ms", "sharp / run")
    return _APP.format(table=_table(headings, rows))


def _package(starts: Sequence[package.Start], sizes: Sequence[tuple[str, float]]) -> str:
    took = [
        (each.what, f"{each.took_ms:,.0f}", "" if each.target_ms is None else str(each.target_ms))
        for each in starts
    ]
    small = [each for each in sizes[_MOST_SIZES:] if each[0] != "cprsim"]
    rows = [(name, f"{mb:,.1f}") for name, mb in sizes if (name, mb) not in small]
    rows.append((f"{len(small)} others", f"{sum(mb for _, mb in small):,.1f}"))
    return _PACKAGE.format(
        total=sum(mb for _, mb in sizes),
        starts=_table(("what", "ms", "target, ms"), took),
        sizes=_table(("package", "MB"), rows),
    )


def engines(rows: Sequence[tuple[str, ...]]) -> str:
    """Return the sentence on the slowest and the quickest rows of the table of engines."""
    slow, quick = (pick(rows, key=lambda row: float(row[4].split()[0])) for pick in (min, max))
    return (
        f"Over {len(rows)} rows batch is {slow[4].split()[0]} ({slow[0]}, {slow[1]}) to "
        f"{quick[4].split()[0]} ({quick[0]}, {quick[1]}) times faster: "
        "[performance-engines.csv](performance-engines.csv)."
    )


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    marks = ["---"] * len(headings)
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, marks, *rows))


def _write(path: Path, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table beside the page, as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([heads, *rows])


def _machine() -> str:
    """Processor, cores, memory and versions."""
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


_SECTIONS: Mapping[str, Callable[[], str]] = {
    "The batch engine": lambda: _faster(
        list(batch.kaggle()), [*batch.all_systems(), *batch.others()], batch.many_nodes()
    ),
    "Memory": lambda: _memory(memory.peaks()),
    "Sweeps": lambda: _sweeps([*sweeps.flat(), sweeps.large()]),
    "Fleets": lambda: _fleets(fleets.production()),
    "Advice": lambda: _advice(advice.answers()),
    "The what-if page": lambda: _app(app.moves()),
    "The package": lambda: _package(package.starts(), package.sizes_mb()),
    "Trackers": _trackers,
}
#: Sections of the page; `make bench` prints all.
_ON_PAGE = ("The batch engine", "Memory", "Sweeps", "Advice", "Trackers")

if __name__ == "__main__":
    main()
