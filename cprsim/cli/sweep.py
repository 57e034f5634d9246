"""The command `cprsim sweep`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cprsim.cli import paths
from cprsim.cli.common import ProgressBar, echo, print_json, print_table, resumable
from cprsim.cli.options import (
    FORCE,
    JSON,
    OVERRIDES,
    POLICIES,
    argument,
    flag,
    many,
    option,
    options,
    output,
    share,
)
from cprsim.cli.output import OutputPicture

if TYPE_CHECKING:
    from cprsim.sweeps.store import StoredPoint
    from cprsim.sweeps.stored import Sweep

_SHOWN_FAILURES = 5
#: Seed and engine of a sweep without these options.
_DEFAULTS = {"seed": 0, "engine": "auto"}


@options(
    scenario=argument(
        "A scenario file (TOML), or the folder of a sweep, to show it again.",
        "SCENARIO|DIR",
        paths.scenario_or_sweep,
    ),
    out=output("Folder of the results; a sweep there goes on."),
    vary=many(
        "Values of a key: a list, lin(1 h,5 h,5) or log(1 h,100 h,9); repeatable, all "
        "combinations are points.",
        metavar="KEY=V1,V2",
    ),
    policy=POLICIES,
    replications=option("Failure timelines at each point; 1000 by default.", kind=int),
    half_width=option(
        "Go on until the interval of every mean overhead is that narrow, e.g. 2%.",
        metavar="SHARE",
    ),
    seed=option("Seed of all random streams.", kind=int, default=_DEFAULTS["seed"]),
    engine=option("auto, sim or batch.", default=_DEFAULTS["engine"]),
    workers=option("Processes, all cores by default; they change no digit.", kind=int),
    scheduler=option("A dask.distributed cluster, instead.", metavar="tcp://HOST:PORT"),
    best=flag("Print the best policy and interval at each point.", "--best"),
    max_pls=share("The best of those with a PLS of at most X: 0.02 or 2%."),
    max_updates_lost=share("Of those that lose a share of X at most."),
    max_learning_lost=share("Of those that lose learning of X at most."),
    drawn=output("Draw which policy is best where: a .png, .svg, .pdf.", "--map", metavar="FILE"),
    force=FORCE,
    at=many("Of the map only where a key has that value.", metavar="KEY=VALUE"),
    overrides=OVERRIDES,
    as_json=JSON,
)
def sweep(
    *,
    scenario: Path,
    out: Path | None,
    best: bool,
    max_pls: float | None,
    max_updates_lost: float | None,
    max_learning_lost: float | None,
    drawn: Path | None,
    force: bool,
    at: list[str] | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Simulate many points of a scenario; start it again, and it goes on where it was."""
    from cprsim.basics.reading import note
    from cprsim.errors import CprsimError, RunError, UsageError
    from cprsim.selection.bounds import Quality
    from cprsim.sweeps.stored import Sweep

    if asked["workers"] is not None and asked["scheduler"] is not None:
        raise UsageError("--workers and --scheduler exclude each other; leave one out")
    quality = Quality(max_pls, max_updates_lost, max_learning_lost)
    if quality and not (best or drawn):
        raise UsageError(
            "--max-pls, --max-updates-lost and --max-learning-lost go with --best or --map; add one"
        )
    if drawn is None and at:
        raise UsageError("--at goes with --map; add it")
    if out is not None:
        note(out / "sweep.db")
    picture = None if drawn is None else OutputPicture(drawn, force=force, option="--map")
    shown_at = {key: _one(key, text) for key, text in _pairs("--at", at or []).items()}

    if scenario.is_dir():
        _check_shown_alone(scenario, {"out": out} | asked)
        played, failures = Sweep(scenario), list[str]()
    elif out is None:
        raise UsageError("Missing option '--out'.")
    else:
        played = _swept(scenario, out, asked, as_json)
        failures = _failures(played)
    _show(played, quality, best=best, as_json=as_json)
    try:
        if picture is not None:
            bounds = max_pls, max_updates_lost, max_learning_lost
            picture.draw(played.figure("phase", shown_at, *bounds), silent=as_json)
    except CprsimError as error:
        if not failures:
            raise
        failures.append(str(error))
    if failures:
        raise RunError("\n".join(failures))


def _swept(scenario: Path, out: Path, asked: dict[str, Any], as_json: bool) -> "Sweep":
    """Play what is still to be done of a sweep."""
    from cprsim.basics.machine import cores
    from cprsim.sweeps.block import parse_half_width
    from cprsim.sweeps.sweep import sweep as run_sweep

    width, workers = asked.pop("half_width"), asked.pop("workers")

    def tell(line: str) -> None:
        if not as_json:
            echo(f"cprsim: {line}", err=True)

    with resumable(out), ProgressBar("sweeping", "points", silent=as_json) as display:
        return run_sweep(
            scenario,
            out,
            _pairs("--vary", asked.pop("vary") or []),
            policies=asked.pop("policy"),
            half_width=None if width is None else parse_half_width(width),
            workers=cores() if workers is None else workers,
            overrides=asked.pop("overrides") or (),
            progress=lambda now: display.update(now.points, now.of),
            tell=tell,
            **asked,
        )


def _check_shown_alone(folder: Path, asked: dict[str, Any]) -> None:
    """Raise `UsageError` where a sweep is to be shown again, and played otherwise."""
    from cprsim.errors import UsageError

    given = [name for name, each in asked.items() if each and each != _DEFAULTS.get(name)]
    if given:
        names = [name.replace("_", "-").replace("overrides", "set") for name in given]
        raise UsageError(
            f"{folder}: is a sweep that was played, which is shown as it is; "
            f"{', '.join(f'--{name}' for name in names)} go with a scenario: leave them out, or "
            "sweep that"
        )


def _show(done: "Sweep", quality: Any, *, best: bool, as_json: bool) -> None:
    from cprsim.sweeps.display import best_table, sweep_table
    from cprsim.sweeps.verdicts import entries

    if as_json:
        more = {"best": entries(done.verdicts(quality))} if best else {}
        print_json(done.document() | more)
    else:
        print_table(best_table(done, quality) if best else sweep_table(done))


#: Of options with keys: how they are written, and what is wrong with one that is there twice.
_WRITTEN = {
    "--vary": (
        'KEY=V1,V2, e.g. failures.mean="14 h,28 h"',
        "is varied twice; give all its values at once",
    ),
    "--at": ('KEY=VALUE, e.g. failures.mean="14 h"', "is given twice; a map shows one value"),
}


def _pairs(option: str, given: list[str]) -> dict[str, Any]:
    from cprsim.errors import UsageError

    form, twice = _WRITTEN[option]
    found: dict[str, Any] = {}
    for each in given:
        key, equals, text = each.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{option} {each!r}: write {form}")
        if key.strip() in found:
            raise UsageError(f"{option} {key.strip()}: {twice}")
        found[key.strip()] = text
    return found


def _one(key: str, text: str) -> Any:
    """Return the one value of a text, read as those that are varied."""
    from cprsim.errors import UsageError
    from cprsim.sweeps.values import expand

    value, *others = expand(text, whole=False, what=f"--at {key}")
    if others:
        raise UsageError(f"--at {key}: {text!r} has {1 + len(others)} values; a map shows one")
    return value


def _failures(done: "Sweep") -> list[str]:
    """Return what failed, for people."""
    of_points = f"of {len(done.points):,} points failed"
    failed, in_part = done.failures, done.failed_in_part
    return [
        *_named(f"{len(failed):,} {of_points}:", failed),
        *_named(f"{len(in_part):,} {of_points} under some policies:", in_part),
    ]


def _named(head: str, failed: "list[StoredPoint]") -> list[str]:
    """Return the head, and the first that failed, each with its first error; nothing if none."""
    from cprsim.selection.words import some
    from cprsim.sweeps.columns import brief
    from cprsim.sweeps.tasks import all_failed

    lines = [head] if failed else []
    for point in failed[:_SHOWN_FAILURES]:
        values = ", ".join(f"{key} = {brief(value)}" for key, value in point.values.items())
        under = "" if point.error else f", under {some([*point.errors])}"
        first, *_ = *point.errors.values(), ""
        told = first if point.error in (None, all_failed(point.errors.values())) else point.error
        lines.append(f"point {point.number} ({values}){under}: {'; '.join(told.splitlines())}")
    if len(failed) > _SHOWN_FAILURES:
        lines.append(f"and {len(failed) - _SHOWN_FAILURES:,} more; cprsim export has them all")
    return lines
