"""Refresh what the pages show: output of commands, and the table of presets.

Run `python -m tools.pages.outputs`, or `make pages`. Tests compare the pages with it.
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import cprsim
from cprsim.cli.command import _main
from cprsim.failures.presets import PRESETS
from cprsim.rows.meanfield import MeanField
from cprsim.rows.names import TrackerName
from cprsim.rows.popularity import Popularity, zipf
from cprsim.rows.skew import Skew
from tools.paths import DOCS, ROOT

PAGES = (
    ROOT / "README.md",
    *(DOCS / name for name in ("failures.md", "rows.md", "sweeps.md", "prices.md", "clusters.md")),
    *sorted((DOCS / "systems").glob("*.md")),
    *sorted((DOCS / "how-to").glob("*.md")),
)
COMMAND = re.compile(r"```console\n\$ cprsim (.*?)\n(.*?)```", re.DOTALL)
FRACTION_TABLE = re.compile(
    r"(?<=SSU, long run \|\n\|---\|---\|---\|---\|---\|---\|---\|\n)(\|.*\n)*"
)
CHANGE_TABLE = re.compile(
    r"(?<=SCAR, updates \| SCAR, change \|\n\|---\|---\|---\|---\|---\|---\|---\|\n)(\|.*\n)*"
)
RENEWAL_TABLE = re.compile(
    r"(?<=renewed in an interval \| MFU \| SSU \|\n\|---\|---\|---\|\n)(\|.*\n)*"
)
_ROWS, _UPDATES = 128_435_723, 6.91  # of the trace fbgemm_t856_bs65536 of dlrm_datasets, 2021
_TRACKERS: tuple[TrackerName, ...] = ("mfu", "ssu")
_IDS = 1_000_000
_BY_CHANGE: tuple[TrackerName, ...] = (*_TRACKERS, "scar")
COMPARED_TABLE = re.compile(r"(?<=\| with any learning lost \|\n\|---\|---\|---\|\n)(\|.*\n)*")
PRESET_TABLE = re.compile(r"(?<=\| preset \| keys \| from \|\n\|---\|---\|---\|\n)(\|.*\n)*")

_COMPARED = "scenarios/all-systems.toml"
_REPLICATIONS = 20
#: Changes of the shipped comparison of systems, in words and as `--set` has them.
COMPARED: tuple[tuple[str, Sequence[str]], ...] = (
    ("nothing", ()),
    ("an MTBF of 4 h", ('failures.mean="4 h"',)),
    ("an MTBF of 100 h", ('failures.mean="100 h"',)),
    ("a store a tenth as fast", ('storage.write="400 MB/s"', 'storage.read="800 MB/s"')),
    ("three times the updates a second", ('job.network="36 GB/s"',)),
    ("one failure in ten is of the whole cluster", ("failures.severity.cluster=0.1",)),
    ("machines that come after 2 h", ('costs.reschedule="2 h"',)),
)
#: Shares of updates lost up to which a system is ranked.
_LOSSES = (0.0, 1.0)
_SHOWN = 3


def printed(command: str) -> str:
    """Return the output of `cprsim` with these arguments, without blanks at the ends of lines."""
    out, err = StringIO(), StringIO()
    with TemporaryDirectory() as folder, chdir(folder):  # for what it may leave
        Path("scenarios").symlink_to(ROOT / "scenarios")
        with redirect_stdout(out), redirect_stderr(err):
            _main(shlex.split(command))
    text = out.getvalue() or err.getvalue()
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())


def presets() -> str:
    """A row a preset."""
    rows = []
    for name, preset in PRESETS.items():
        keys = ", ".join(f"{key} = {value}" for key, value in preset.keys.items())
        source = re.sub(r", '[^']+',", ",", preset.source)  # without titles of articles
        rows.append(f"| `{name}` | {keys} | {source} |\n")
    return "".join(rows)


def fractions() -> str:
    """Updates lost on the production skew relative to CPR-vanilla, a row a fraction."""
    popularity, rows = Skew(name="dlrm-production").popularity(_ROWS), []
    for parts in (32, 16, 8, 4, 2):
        field = MeanField(popularity, _UPDATES * _ROWS, 1 / parts)
        cells = [
            f"{100 * each:.0f}"
            for tracker in _TRACKERS
            for each in (
                *(field.lost(tracker, length).relative(length) for length in (1.25, 10)),
                field.long_run(tracker),
            )
        ]
        rows.append(f"| 1/{parts} | {' | '.join(cells)} |\n")
    return "".join(rows)


def changes() -> str:
    """Lost updates and lost change under Adagrad over 10 intervals, in the same way."""
    popularity, rows = Skew(name="dlrm-production").popularity(_ROWS), []
    for parts in (32, 16, 8, 4, 2):
        field = MeanField(popularity, _UPDATES * _ROWS, 1 / parts, rule="adagrad")
        cells = [
            f"{100 * lost.relative(10):.0f}"
            for tracker in _BY_CHANGE
            for lost in (field.lost(tracker, 10), field.change(tracker, 10))
        ]
        rows.append(f"| 1/{parts} | {' | '.join(cells)} |\n")
    return "".join(rows)


def renewals() -> str:
    """Updates lost over 10 intervals where ids are renewed and half of the rows are free."""
    used, rows = zipf(_IDS, 0.6), []
    popularity = Popularity(np.append(used.rows, _IDS), np.append(used.share, 0.0))
    for renewed in (0.0, 0.1, 1.0, 4.0):
        field = MeanField(popularity, 7.0 * _IDS, 1 / 8, renewed=renewed)
        lost = (100 * field.lost(tracker, 10).relative(10) for tracker in _TRACKERS)
        rows.append(f"| {100 * renewed:.0f} % | {' | '.join(f'{each:.0f}' for each in lost)} |\n")
    return "".join(rows)


def compared() -> str:
    """Return a row a change: the three systems with the least machine time, by what may be lost."""
    return "".join(compared_row(words, overrides) for words, overrides in COMPARED)


def compared_row(words: str, overrides: Iterable[str]) -> str:
    """Return one row."""
    summary = cprsim.run(
        cprsim.load_scenario(_COMPARED, overrides), replications=_REPLICATIONS, seed=0
    ).summary
    ranked = summary.sort_values("machine_overhead")
    cells = []
    for most in _LOSSES:
        able = ranked[ranked["updates_lost"] <= most].head(_SHOWN)
        costs = 100 * able["machine_overhead"]
        cells.append(", ".join(f"`{name}` {cost:.1f}" for name, cost in costs.items()))
    return f"| {words} | {' | '.join(cells)} |\n"


def refreshed(text: str) -> str:
    """Return a page with fresh outputs and tables."""
    text = COMMAND.sub(lambda it: f"```console\n$ cprsim {it[1]}\n{printed(it[1])}```", text)
    text = FRACTION_TABLE.sub(lambda _: fractions(), text)
    if CHANGE_TABLE.search(text):
        text = CHANGE_TABLE.sub(lambda _: changes(), text)
    if RENEWAL_TABLE.search(text):
        text = RENEWAL_TABLE.sub(lambda _: renewals(), text)
    if COMPARED_TABLE.search(text):
        text = COMPARED_TABLE.sub(lambda _: compared(), text)
    return PRESET_TABLE.sub(lambda _: presets(), text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
