"""The command `cprsim sweep`."""

from typing import TYPE_CHECKING, Any

from cprsim.cli import options as opt
from cprsim.cli import paths
from cprsim.cli.common import echo, print_json, print_table, resumable

if TYPE_CHECKING:
    from cprsim.sweeps.stored import Sweep

#: Seed and engine of a sweep without these options.
_DEFAULTS = {"seed": 0, "engine": "auto"}
#: Options of how points are played.
_PLAYED = (
    *("out", "vary", "policy", "replications", "half_width", "seed", "engine", "workers"),
    *("scheduler", "overrides"),
)


@opt.options(
    scenario=opt.argument(
        "A scenario file (TOML), or the folder of a sweep, to show it again.",
        "SCENARIO|DIR",
        paths.scenario_or_sweep,
    ),
    out=opt.output("Folder of the results; a sweep there is continued."),
    vary=opt.many(
        "Values of a key: a list, lin(1 h,5 h,5) or log(1 h,100 h,9); repeatable, all "
        "combinations are points.",
        metavar="KEY=V1,V2",
    ),
    policy=opt.POLICIES,
    replications=opt.option("Failure timelines at each point; 1000 by default.", kind=int),
    half_width=opt.option(
        "Go on until the interval of every mean overhead is that narrow, e.g. 2%.", metavar="SHARE"
    ),
    seed=opt.option("Seed of all random streams.", kind=int, default=_DEFAULTS["seed"]),
    engine=opt.option("auto, sim or batch.", default=_DEFAULTS["engine"]),
    workers=opt.option("Processes, all cores by default; they change no digit.", kind=int),
    scheduler=opt.option("A dask.distributed cluster, instead.", metavar="tcp://HOST:PORT"),
    best=opt.flag("Print the best policy and interval at each point.", "--best"),
    max_pls=opt.share("The best of those with a PLS of at most X: 0.02 or 2%."),
    max_updates_lost=opt.share("Of those that lose a share of X at most."),
    max_learning_lost=opt.share("Of those that lose learning of X at most."),
    drawn=opt.output(
        "Draw which policy is best where: a .png, .svg, .pdf.", "--map", metavar="FILE"
    ),
    force=opt.FORCE,
    at=opt.many("Of the map only where a key has that value.", metavar="KEY=VALUE"),
    overrides=opt.OVERRIDES,
    as_json=opt.JSON,
)
def sweep(asked: Any) -> None:
    """Simulate many points of a scenario; started again, it continues where it was."""
    from cprsim.basics.reading import note
    from cprsim.errors import CprsimError, RunError, UsageError
    from cprsim.runs.selection.bounds import Quality
    from cprsim.sweeps.best import entries
    from cprsim.sweeps.display import best_table, failure_lines, sweep_table
    from cprsim.sweeps.stored import Sweep

    if asked.workers is not None and asked.scheduler is not None:
        raise UsageError("--workers and --scheduler exclude each other; leave one out")
    quality = Quality(asked.max_pls, asked.max_updates_lost, asked.max_learning_lost)
    if quality and not (asked.best or asked.drawn):
        raise UsageError(
            "--max-pls, --max-updates-lost and --max-learning-lost go with --best or --map; add one"
        )
    if asked.drawn is None and asked.at:
        raise UsageError("--at goes with --map; add it")
    if asked.out is not None:
        note(asked.out / "sweep.db")
    picture = asked.picture(asked.drawn, "--map")
    shown_at = {key: _one(key, text) for key, text in _pairs("--at", asked.at or []).items()}

    if asked.scenario.is_dir():
        _check_shown_alone(asked)
        played, failures = Sweep(asked.scenario), list[str]()
    else:
        played = _swept(asked)
        failures = failure_lines(played)
    if asked.as_json:
        more = {"best": entries(played.verdicts(quality))} if asked.best else {}
        print_json(played.document() | more)
    else:
        print_table(best_table(played, quality) if asked.best else sweep_table(played))
    try:
        if picture is not None:
            bounds = asked.max_pls, asked.max_updates_lost, asked.max_learning_lost
            picture.draw(played.figure("phase", shown_at, *bounds))
    except CprsimError as error:
        if not failures:
            raise
        failures.append(str(error))
    if failures:
        raise RunError("\n".join(failures))


def _swept(asked: Any) -> "Sweep":
    """Play what is still to be done of a sweep."""
    from cprsim.basics.machine import cores
    from cprsim.errors import UsageError
    from cprsim.sweeps.design import parse_half_width
    from cprsim.sweeps.sweep import sweep as run_sweep

    if asked.out is None:
        raise UsageError("Missing option '--out'.")
    width = asked.half_width

    def tell(line: str) -> None:
        if not asked.as_json:
            echo(f"cprsim: {line}", err=True)

    with resumable(asked.out), asked.progress("sweeping", "points") as display:
        return run_sweep(
            asked.scenario,
            asked.out,
            _pairs("--vary", asked.vary or []),
            asked.policy,
            asked.replications,
            half_width=None if width is None else parse_half_width(width),
            seed=asked.seed,
            engine=asked.engine,
            workers=cores() if asked.workers is None else asked.workers,
            scheduler=asked.scheduler,
            overrides=asked.overrides or (),
            progress=lambda now: display.update(now.points, now.of),
            tell=tell,
        )


def _check_shown_alone(asked: Any) -> None:
    """Raise `UsageError` where a sweep is to be shown again, and played otherwise."""
    from cprsim.errors import UsageError

    played = {name: getattr(asked, name) for name in _PLAYED}
    given = [name for name, each in played.items() if each and each != _DEFAULTS.get(name)]
    if given:
        names = [name.replace("_", "-").replace("overrides", "set") for name in given]
        raise UsageError(
            f"{asked.scenario}: is a sweep that was played, which is shown as it is; "
            f"{', '.join(f'--{name}' for name in names)} go with a scenario: leave them out, or "
            "sweep that"
        )


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
