"""The command `cprsim export`: the table of a sweep, the metrics of a run."""

import sys
from pathlib import Path
from typing import Any

from cprsim.cli import options as opt
from cprsim.cli import paths
from cprsim.cli.common import echo

#: Formats of what a folder holds.
_OF_A_SWEEP = ("csv", "parquet")
_OF_A_RUN = ("prometheus", "opentelemetry")


@opt.options(
    folder=opt.argument("The folder of a sweep, or of a run.", "DIR", paths.sweep_or_run),
    form=opt.option(
        "Of a sweep csv or parquet, of a run prometheus or opentelemetry (metrics).",
        "--format",
        default=...,
    ),
    out=opt.output("A file; text goes to stdout without.", metavar="FILE"),
    force=opt.FORCE,
    vocabulary=opt.option("Causes of metrics by the words of cprsim, goodput or ett."),
)
def export(asked: Any) -> None:
    """Write the table of a sweep, a row a point and policy, or the metrics of a run."""
    from cprsim.errors import UsageError

    if asked.form not in (*_OF_A_SWEEP, *_OF_A_RUN):
        known = ", ".join((*_OF_A_SWEEP, *_OF_A_RUN))
        raise UsageError(f"format {asked.form!r} is not one of {known}")
    if asked.out is None and asked.form == "parquet":
        raise UsageError("--format parquet is no text; give --out FILE")
    if asked.vocabulary is not None and asked.form in _OF_A_SWEEP:
        raise UsageError(f"--vocabulary goes with --format {' or '.join(_OF_A_RUN)}")
    is_sweep = (asked.folder / "sweep.db").is_file()
    if is_sweep != (asked.form in _OF_A_SWEEP):
        holds, fit = ("sweep", _OF_A_SWEEP) if is_sweep else ("run", _OF_A_RUN)
        raise UsageError(
            f"--format {asked.form}: {asked.folder} holds a {holds}; give {' or '.join(fit)}"
        )
    file = asked.file(asked.out, asked.form, "--out")
    if is_sweep:
        told, left = _table(asked.folder, asked.form)
    else:
        told, left = _metrics(asked.folder, asked.form, asked.vocabulary), ""
    if file is not None:
        file.write(told)
    else:
        sys.stdout.buffer.write(told)
        sys.stdout.buffer.flush()
    if left:
        echo(f"cprsim: {left}", err=True)


def _table(folder: Path, form: str) -> tuple[bytes, str]:
    """Return that of a sweep, and what is still to be done of it."""
    from cprsim.basics.spreadsheet import csv_bytes, parquet_bytes
    from cprsim.sweeps.stored import Sweep

    found = Sweep(folder)
    left = f"{found.unfinished:,} of {len(found.points):,} points are still to be done"
    written = csv_bytes(found.table) if form == "csv" else parquet_bytes(found.table)
    return written, left if found.unfinished else ""


def _metrics(folder: Path, form: str, vocabulary: str | None) -> bytes:
    """Return those of a run, as text."""
    from cprsim.metrics import PrometheusExporter, collected
    from cprsim.report.run_folder import of_folder
    from cprsim.runs.vocabulary import vocabulary as named

    words = None if vocabulary is None else named(vocabulary)
    readings = of_folder(folder).readings(words)
    if form == "prometheus":
        return PrometheusExporter(lambda: readings).text().encode()
    return collected(lambda: readings).encode()
