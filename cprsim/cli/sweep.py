"""The command `cprsim sweep`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cprsim.cli.common import (
    Json,
    Overrides,
    Policies,
    print_json,
    print_table,
    resumable,
    scenario_or_sweep,
    share,
)
from cprsim.cli.output import Force, OutputPicture, output

if TYPE_CHECKING:
    from cprsim.selection.bounds import Quality
    from cprsim.sweeps.store import StoredPoint
    from cprsim.sweeps.stored import Sweep

_SHOWN_FAILURES = 5


def sweep(
    scenario: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO|DIR",
            help="A scenario file (TOML), or the folder of a sweep, to show it again.",
            callback=scenario_or_sweep,
        ),
    ],
    out: Annotated[
        Path | None, output(help="Folder of the results; a sweep there goes on.")
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=V1,V2",
            help="Values of a key: a list, lin(1 h,5 h,5) or log(1 h,100 h,9); repeatable, "
            "all combinations are points.",
        ),
    ] = None,
    policy: Policies = None,
    replications: Annotated[
        int | None, typer.Option(help="Failure timelines at each point; 1000 by default.")
    ] = None,
    half_width: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Go on until the interval of every mean overhead is that narrow, e.g. 2%.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random streams.")] = 0,
    engine: Annotated[str, typer.Option(help="auto, sim or batch.")] = "auto",
    workers: Annotated[
        int | None, typer.Option(help="Processes, all cores by default; they change no digit.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="tcp://HOST:PORT", help="A dask.distributed cluster, instead."),
    ] = None,
    best: Annotated[
        bool, typer.Option("--best", help="Print the best policy and interval at each point.")
    ] = False,
    max_pls: Annotated[
        str | None,
        typer.Option(metavar="X", help="The best of those with a PLS of at most X: 0.02 or 2%."),
    ] = None,
    max_updates_lost: Annotated[
        str | None, typer.Option(metavar="X", help="Of those that lose a share of X at most.")
    ] = None,
    max_learning_lost: Annotated[
        str | None, typer.Option(metavar="X", help="Of those that lose learning of X at most.")
    ] = None,
    drawn: Annotated[
        Path | None,
        output(
            "--map", metavar="FILE", help="Draw which policy is best where: a .png, .svg, .pdf."
        ),
    ] = None,
    force: Force = False,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Of the map only where a key has that value."),
    ] = None,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Simulate many points of a scenario; start it again, and it goes on where it was."""
    from cprsim.basics.machine import cores
    from cprsim.basics.reading import note
    from cprsim.errors import CprsimError, RunError, UsageError
    from cprsim.selection.bounds import Quality
    from cprsim.sweeps.block import parse_half_width
    from cprsim.sweeps.progress import shown
    from cprsim.sweeps.stored import Sweep
    from cprsim.sweeps.sweep import sweep as run_sweep

    if workers is not None and scheduler is not None:
        raise UsageError("--workers and --scheduler exclude each other; leave one out")
    quality = Quality(
        share("--max-pls", max_pls),
        share("--max-updates-lost", max_updates_lost),
        share("--max-learning-lost", max_learning_lost),
    )
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
        _check_shown_alone(
            scenario,
            out=out,
            vary=vary,
            policy=policy,
            replications=replications,
            half_width=half_width,
            seed=seed or None,
            engine=None if engine == "auto" else engine,
            workers=workers,
            scheduler=scheduler,
            set=overrides,
        )
        played = Sweep(scenario)
        _show(played, quality, best=best, as_json=as_json)
        _draw(played, picture, shown_at, quality, as_json=as_json)
        return
    if out is None:
        raise UsageError("Missing option '--out'.")
    width = None if half_width is None else parse_half_width(half_width)
    with resumable(out), shown(silent=as_json) as display:
        done = run_sweep(
            scenario,
            out,
            _pairs("--vary", vary or []),
            policies=policy,
            replications=replications,
            half_width=width,
            seed=seed,
            engine=engine,
            workers=cores() if workers is None else workers,
            scheduler=scheduler,
            overrides=overrides or (),
            progress=display.update,
            tell=display.tell,
        )
    _show(done, quality, best=best, as_json=as_json)
    failures = _failures(done)
    try:
        _draw(done, picture, shown_at, quality, as_json=as_json)
    except CprsimError as error:
        if not failures:
            raise
        failures.append(str(error))
    if failures:
        raise RunError("\n".join(failures))


def _check_shown_alone(folder: Path, **given: object) -> None:
    """Raise `UsageError` where a sweep is to be shown again, and played otherwise."""
    from cprsim.errors import UsageError

    options = [f"--{name.replace('_', '-')}" for name, each in given.items() if each]
    if options:
        raise UsageError(
            f"{folder}: is a sweep that was played, which is shown as it is; {', '.join(options)} "
            "go with a scenario: leave them out, or sweep that"
        )


def _show(done: "Sweep", quality: "Quality", *, best: bool, as_json: bool) -> None:
    from cprsim.sweeps.display import BestTable, sweep_table
    from cprsim.sweeps.verdicts import entries

    if as_json:
        more = {"best": entries(done.verdicts(quality))} if best else {}
        print_json(done.document() | more)
    else:
        print_table(BestTable(done, quality) if best else sweep_table(done))


def _draw(
    done: "Sweep",
    picture: OutputPicture | None,
    at: dict[str, Any],
    quality: "Quality",
    *,
    as_json: bool,
) -> None:
    """The map of the best, where it is asked for."""
    if picture is not None:
        figure = done.figure(
            "phase", at, quality.max_pls, quality.max_updates_lost, quality.max_learning_lost
        )
        picture.draw(figure, silent=as_json)


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
    """The one value of a text, read as those that are varied."""
    from cprsim.errors import UsageError
    from cprsim.sweeps.values import expand

    value, *others = expand(text, whole=False, what=f"--at {key}")
    if others:
        raise UsageError(f"--at {key}: {text!r} has {1 + len(others)} values; a map shows one")
    return value


def _failures(done: "Sweep") -> list[str]:
    """What failed, for people."""
    of_points = f"of {len(done.points):,} points failed"
    failed, in_part = done.failures, done.failed_in_part
    return [
        *_named(f"{len(failed):,} {of_points}:", failed),
        *_named(f"{len(in_part):,} {of_points} under some policies:", in_part),
    ]


def _named(head: str, failed: "list[StoredPoint]") -> list[str]:
    """The head, and the first that failed, each with its first error; nothing where none did."""
    from cprsim.selection.words import some
    from cprsim.sweeps.columns import brief
    from cprsim.sweeps.task_queue import of_all

    lines = [head] if failed else []
    for point in failed[:_SHOWN_FAILURES]:
        values = ", ".join(f"{key} = {brief(value)}" for key, value in point.values.items())
        under = "" if point.error else f", under {some([*point.errors])}"
        first, *_ = *point.errors.values(), ""
        told = first if point.error in (None, of_all(point.errors)) else point.error
        lines.append(f"point {point.number} ({values}){under}: {'; '.join(told.splitlines())}")
    if len(failed) > _SHOWN_FAILURES:
        lines.append(f"and {len(failed) - _SHOWN_FAILURES:,} more; cprsim export has them all")
    return lines
