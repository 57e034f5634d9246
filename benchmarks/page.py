"""`python -m benchmarks.page`: measure millions of runs, print it and write docs/performance.md.

`python -m benchmarks.page "The trainer"` measures that section alone and leaves the others be.
"""

import importlib.util
import math
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks import advice, app, batch, fleets, memory, package, sweeps

_PAGE = Path("docs/performance.md")


def main() -> None:
    alone = sys.argv[1:]
    text = _with(_PAGE.read_text(encoding="utf-8"), alone) if alone else measured()
    _PAGE.write_text(text, encoding="utf-8")
    print(text)


def measured() -> str:
    """The page, of what is measured now."""
    head = _HEAD.format(machine=_machine())
    return "\n\n".join((head, *(section() for section in _SECTIONS.values()))) + "\n"


def _with(text: str, names: Sequence[str]) -> str:
    """The page `text` with these sections measured now."""
    head, *parts = text.rstrip("\n").split("\n\n## ")
    kept = {part.partition("\n")[0]: f"## {part}" for part in parts}
    kept |= {name: _SECTIONS[name]() for name in names}
    return "\n\n".join((head, *(kept[name] for name in _SECTIONS if name in kept))) + "\n"


_HEAD = """# Performance

Measured by `python -m benchmarks.page`, which writes this page, on {machine}. Times are processor \
time of the process that is measured, since others may use the machine as well; ratios are those \
of things measured in turn in the same round, as the median of three rounds, with the least and \
the greatest. `make bench` measures more, all in ratios."""

_FASTER = """## The batch engine

What a replication takes in `sim` and in `batch`, microseconds; and how many times faster batch \
is. Batch plays 100,000 replications of `criteo-kaggle`, 4,096 of the others, the policies of a \
row on the same failures; nothing is compiled while it is measured.

Of `criteo-kaggle` the draws of the failures are measured by themselves, instants and victims: \
what batch takes without them (all that is not drawing: compiled code, and what puts its \
numbers together), and what with them, beside them. The bare loop is \
full recovery in a few lines that Numba compiles \
(`benchmarks/bare.py`), without ledger and on failures that are given; the ratio is that of batch \
without draws.

{kaggle}

{others}

{verdict}

A job of 4,096 nodes for 256 days, `airesim`: milliseconds a run, and failures in a second of \
processor time.

{nodes}"""

_MEMORY = """## Memory

Peak memory of a process that runs `criteo-kaggle`, Python and libraries included (target: \
10,000,000 replications in under 400 MB and 20 s). Up to 1,000,000 rows, policies times \
replications, all are kept as a table; beyond that, means, intervals and counts in bins.

{table}"""

_SWEEPS = """## Sweeps

In one process, from the scenario to the table. Of one replication in which nothing fails, so that \
what remains is the cost of the sweep; and of 1,000 replications of `criteo-kaggle`.

{table}"""

_FLEETS = """## Fleets

Jobs of `production-fleet` under its three policies, in one process: what comes before they are \
played (target for resolving one: 100 us).

{table}"""


_ADVICE = """## Advice

What `cprsim advise` takes on the clock, all cores its own: every system asked, settings searched \
and a certificate; then other worlds, which the answer ends with (target for all of it on the \
first two: 10 s on two cores). Seconds, the median of three rounds; nothing is compiled meanwhile.

{table}"""


_APP = """## The what-if page

From a move to its answer as the server of `cprsim app` sends it, milliseconds, the median of 15 \
moves, each while the advisor is at work on the one before: by equations (target: 150, with the \
drawing), and with 1,000 replications and all that is said of them (target: 600). Beside it \
`cprsim.run` of the same alone, and how many times that the sharp answer takes.

{table}"""


_PACKAGE = """## The package

What one waits before anything is computed, milliseconds of processor time, the median of nine \
processes; and what `pip install cprsim` puts on the disk, MB: {total:,.0f} in all.

{starts}

{sizes}"""

_MOST_SIZES = 8  # that are told one by one


_TRAINER = """## The trainer

Measured with {machine}.

What a tracker takes of a batch with 26 lookups a sample, and its share of looking rows up and \
updating them (targets at batch 512: MFU 3 %, SSU 10 %). A tracker is told of distinct rows. \
What it is a share of can be three things: lookup and SGD of every id as often as it occurs, in \
one process; what the trainer and its servers do, which find distinct rows, look them up, add up \
their gradients and update them by row-wise Adagrad; and what of that a server does. A counter is \
one more place in memory that has to be waited for. So MFU counts some batches in one go, while \
its counters are in the cache. Beside it stand a bare `index_add_` of the rows of each batch as \
soon as it comes, and a bare `scatter_add_` of every id.

{trackers}

{verdict}

One trainer and two servers, batches of 512, beside a bare loop of plain sends and receives that \
does the same with neither checkpoints nor deadlines, epochs, locks or a controller, and looks \
up and updates every id by SGD (target: {least:.0%} of its throughput). The trainer prefetches \
ids: it makes the next batch, and finds its rows, while servers update and look up. Beside it are \
the same trainer without that, and one that fetches the rows of the next batch, too, before it has \
pushed the update of the one before. Then each step is computed from rows that lack an update, \
and rows are asked for that a halt or a loss leaves over: for what it brings, as measured here, no \
scenario can ask for it. Steps are done in turns, {rounds} rounds of {steps}; a throughput in \
shares of another is the median of those of the rounds, with the least and the greatest. Processor \
time is of all processes together; where others use the machine as well, it says more than the \
throughput does, and so do the waits: how often the trainer gives its processor up to wait for \
servers.

{speeds}

{prefetching}"""


def _trainer() -> str:
    if importlib.util.find_spec("torch") is None:
        return "## The trainer\n\nNot measured: torch is not installed."
    from benchmarks import torch_trackers, trainer_speed  # noqa: PLC0415

    machine, costs = _machine(), list(torch_trackers.costs())
    trackers = [
        (
            f"{each.rows:,}",
            f"{each.batch:,}",
            each.tracker,
            f"{each.us:,.0f}",
            *(f"{share:.1%}" for share in each.shares),
        )
        for each in costs
    ]
    speeds = list(trainer_speed.speeds())
    loops = [
        (
            each.model,
            each.way,
            f"{each.samples_per_s:,.0f}",
            str(each.beside[trainer_speed.BARE]),
            f"{each.cpu_ms:.2f}",
            f"{each.waits:.2f}",
        )
        for each in speeds
    ]
    return _TRAINER.format(
        machine=machine,
        trackers=_table(
            (
                "rows",
                "batch",
                "tracker",
                "us",
                "of every id",
                "of distinct rows",
                "of a server's part",
            ),
            trackers,
        ),
        verdict=torch_trackers.verdict(costs),
        least=trainer_speed.TARGET,
        rounds=trainer_speed.ROUNDS,
        steps=trainer_speed.STEPS,
        speeds=_table(
            ("model", "loop", "samples/s", "/ bare loop", "CPU ms a step", "waits a step"), loops
        ),
        prefetching=trainer_speed.verdict(speeds),
    )


def _faster(
    kaggle: Sequence[batch.Speed], others: Iterable[batch.Speed], nodes: Iterable[batch.ManyNodes]
) -> str:
    of_kaggle = [
        (
            *_cells(each),
            f"{each.undrawn_us:,.2f}",
            str(each.drawn),
            "" if each.bare is None else str(each.bare),
        )
        for each in kaggle
    ]
    others = list(others)
    headings = ("scenario", "policies", "sim, us", "batch, us", "times faster")
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
    return _FASTER.format(
        kaggle=_table((*headings, "without draws, us", "times drawing", "times bare"), of_kaggle),
        verdict=_verdict([*kaggle, *others]),
        others=_table(headings, map(_cells, others)),
        nodes=_table(("engine", "runs", "a run, ms", "failures", "failures/s"), of_nodes),
    )


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
    headings = ("scenario", "candidates", "the answer, s", "other worlds, s", "all, s")
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


def _verdict(speeds: Sequence[batch.Speed]) -> str:
    """Which rows fall short of the targets, and by how much."""
    lines = [
        f"- {each.scenario}, {each.policies}: {'; '.join(short)}."
        for each in speeds
        if (short := list(_short(each)))
    ]
    if not lines:
        return "All rows meet their targets."
    return "\n".join(["Short of a target are these rows:", "", *lines])


#: Microseconds a replication, by scenario; of several policies together where they are named.
_MOST_US = {
    ("criteo-kaggle", "6 together"): 2.5,
    ("criteo-kaggle", ""): 0.8,
    ("all-systems", ""): 40.0,
    ("quickstart", "4 together"): 25.0,
    ("ecrm", "6 together"): 60.0,
}
#: Of one policy of `criteo-kaggle` without draws, us; how many times faster than `sim`.
_UNDRAWN_US, _FASTER_THAN_SIM = 0.3, 100.0


def _short(speed: batch.Speed) -> Iterable[str]:
    """What of its targets a row misses."""
    alone = "together" not in speed.policies
    most_us = _MOST_US.get((speed.scenario, "" if alone else speed.policies), math.inf)
    if speed.batch_us > most_us:
        yield f"{speed.batch_us:,.2f} us of {most_us:g}"
    if alone and speed.undrawn_us > _UNDRAWN_US:  # not a number where that isn't measured
        yield f"{speed.undrawn_us:,.2f} us of {_UNDRAWN_US:g} without draws"
    if speed.scenario == "all-systems" and speed.faster.median < _FASTER_THAN_SIM:
        yield f"{speed.faster.median:,.0f} times faster than `sim` of {_FASTER_THAN_SIM:g}"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    marks = ["---"] * len(headings)
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, marks, *rows))


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
    "The trainer": _trainer,
}

if __name__ == "__main__":
    main()
