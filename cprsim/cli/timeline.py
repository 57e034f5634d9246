"""The command `cprsim timeline`: one run, as a picture or as a trace."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cprsim.basics.units import counted
from cprsim.cli.common import Overrides, ProgressBar, ScenarioFile, echo_wrapped, load, write

if TYPE_CHECKING:
    from cprsim.history.recorder import History

_TRACE = ".json.gz"
_METRICS = ".prom"


def timeline(
    scenario: ScenarioFile,
    policy: Annotated[str, typer.Option(metavar="NAME", help="The policy to watch.")],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="A picture (.png, .svg, .pdf), a trace for Perfetto (.json.gz), or metrics over "
            "time as OpenMetrics has them (.prom).",
        ),
    ],
    seed: Annotated[int, typer.Option(help="Seed of all random streams.")] = 0,
    replication: Annotated[int, typer.Option(help="Which failure timeline, from 0.")] = 0,
    overrides: Overrides = None,
) -> None:
    """Watch one run: what the job and its nodes do when."""
    with ProgressBar("simulating") as progress:
        loaded = load(scenario, overrides)
        _check(out)
        from cprsim.history.recorder import record
        from cprsim.runs.runner import check_whole

        check_whole("seed", seed, 0)
        check_whole("replication", replication, 0)
        history = record(loaded, policy, seed, replication)
        progress.begin("drawing")
        content = _content(history, loaded.title, out)
    write(out.parent, {out.name: content})
    echo_wrapped(_sentence(history, loaded.job.useful_time_s))


def _check(out: Path) -> None:
    """Complain of a file that can't be written, before anything else takes time."""
    from cprsim.basics.files import check_writable
    from cprsim.errors import UsageError
    from cprsim.figures import FORMATS

    others = (_TRACE, _METRICS)
    if not out.name.endswith(others) and out.suffix.lower().removeprefix(".") not in FORMATS:
        endings = ", ".join((*(f".{each}" for each in FORMATS), _TRACE))
        raise UsageError(f"--out {out}: a timeline's name ends in {endings} or {_METRICS}")
    check_writable(out.parent, [out.name])


def _content(history: "History", title: str, out: Path) -> bytes:
    if out.name.endswith(_TRACE):
        from cprsim.history.trace_events import trace_json

        return trace_json(history, title)
    if out.name.endswith(_METRICS):
        from cprsim.history.readings import readings
        from cprsim.metrics import openmetrics

        return openmetrics(readings(history, title)).encode()
    from cprsim.figures import save_bytes
    from cprsim.figures.timeline import timeline as draw

    return save_bytes(draw(history, title), out.suffix.lower().removeprefix("."))


def _sentence(history: "History", useful_time_s: float) -> str:
    from cprsim.basics.units import format_duration, format_percent
    from cprsim.contract.ledger import overhead

    wall_s = history.ledger.wall
    return (
        f"{history.policy}, seed {history.seed}, replication {history.replication}: "
        f"{format_duration(wall_s)} for {format_duration(useful_time_s)} of training "
        f"(overhead {format_percent(overhead(wall_s, useful_time_s))}), "
        f"{counted(len(history.failures), 'failure')}"
    )
