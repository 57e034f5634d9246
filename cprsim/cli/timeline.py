"""The command `cprsim timeline`: one run, as a picture or as a trace."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cprsim.cli import options as opt
from cprsim.cli.common import ProgressBar, echo_wrapped

if TYPE_CHECKING:
    from cprsim.sim.history.recorder import History

_TRACE = "json.gz"
_METRICS = "prom"


@opt.options(
    scenario=opt.SCENARIO,
    policy=opt.option("The policy to watch.", default=..., metavar="NAME"),
    out=opt.output(
        "A picture (.png, .svg, .pdf), a trace for Perfetto (.json.gz), or metrics over time as "
        "OpenMetrics has them (.prom).",
        metavar="FILE",
        required=True,
    ),
    seed=opt.option("Seed of all random streams.", kind=int, default=0),
    replication=opt.option("Which failure timeline, from 0.", kind=int, default=0),
    force=opt.FORCE,
    overrides=opt.OVERRIDES,
)
def timeline(asked: Any) -> None:
    """Watch one run: what the job and its nodes do when."""
    with ProgressBar("simulating") as progress:
        from cprsim.scenario import load_scenario

        loaded = load_scenario(asked.scenario, asked.overrides or ())
        form = _form(asked.out)
        file = asked.file(asked.out, form, "--out")
        from cprsim.runs.runner import check_whole
        from cprsim.sim.history.recorder import record

        check_whole("seed", asked.seed, 0)
        check_whole("replication", asked.replication, 0)
        history = record(loaded, asked.policy, asked.seed, asked.replication)
        progress.begin("drawing")
        content = _content(history, loaded.title, form)
    file.write(content)
    echo_wrapped(_sentence(history, loaded.job.useful_time_s))


def _form(out: Path) -> str:
    """Return the format that a name ends in; raise `UsageError` where there is none such."""
    from cprsim.errors import UsageError
    from cprsim.figures import FORMATS

    known = (*FORMATS, _TRACE, _METRICS)
    form = next((each for each in known if out.name.lower().endswith(f".{each}")), None)
    if form is None:
        endings = ", ".join(f".{each}" for each in known[:-1])
        raise UsageError(f"--out {out}: a timeline's name ends in {endings} or .{_METRICS}")
    return form


def _content(history: "History", title: str, form: str) -> bytes:
    if form == _TRACE:
        from cprsim.sim.history.trace_events import trace_json

        return trace_json(history, title)
    if form == _METRICS:
        from cprsim.metrics import openmetrics
        from cprsim.sim.history.readings import readings

        return openmetrics(readings(history, title)).encode()
    from cprsim.figures import save_bytes
    from cprsim.figures.timeline import timeline as draw

    return save_bytes(draw(history, title), form)


def _sentence(history: "History", useful_time_s: float) -> str:
    from cprsim.basics.units import counted, format_duration, format_percent
    from cprsim.contract.ledger import overhead

    wall_s = history.ledger.wall
    return (
        f"{history.policy}, seed {history.seed}, replication {history.replication}: "
        f"{format_duration(wall_s)} for {format_duration(useful_time_s)} of training "
        f"(overhead {format_percent(overhead(wall_s, useful_time_s))}), "
        f"{counted(len(history.failures), 'failure')}"
    )
