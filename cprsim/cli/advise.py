"""`cprsim advise`: which policy, with which settings, how sure."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cprsim.cli.common import (
    WIDTH,
    Json,
    Overrides,
    ProgressBar,
    ScenarioFile,
    echo,
    echo_wrapped,
    print_json,
    print_table,
    share,
    width,
)
from cprsim.cli.output import Force, OutputFolder, output

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice
    from cprsim.advice.robustness import Robustness
    from cprsim.advice.search import Leading
    from cprsim.fleets.fleet import Fleet
    from cprsim.scenario import Scenario


def _bound(help: str) -> Any:
    return typer.Option(metavar="X", help=help)


def advise(
    scenario: ScenarioFile,
    objective: Annotated[
        str, typer.Option(help="What to minimise: time, machine-time, cost or retrained.")
    ] = "time",
    max_pls: Annotated[
        str | None, _bound("Upper limit on lost samples (PLS), e.g. 0.02 or 2%.")
    ] = None,
    max_updates_lost: Annotated[str | None, _bound("Upper limit on lost updates.")] = None,
    max_auc_drop: Annotated[
        str | None, _bound("Upper limit on the drop of AUC; needs [accuracy].")
    ] = None,
    max_learning_lost: Annotated[
        str | None, _bound("Upper limit on the learning lost, in the mean, e.g. 0.01.")
    ] = None,
    max_learning_lost_p95: Annotated[
        str | None, _bound("Upper limit on the learning lost in 95 % of all runs.")
    ] = None,
    max_restarts: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Restarts that the launcher allows; enough in 95 % of runs."
        ),
    ] = None,
    max_memory: Annotated[
        str | None, _bound("Extra memory allowed, as a fraction of the table size.")
    ] = None,
    max_spares: Annotated[
        int | None, typer.Option(help="Number of spare machines allowed.")
    ] = None,
    max_interval: Annotated[
        str | None,
        typer.Option(
            metavar="T", help="Longest time between saves of everything: 1 d by default, or never."
        ),
    ] = None,
    deployable: Annotated[
        bool,
        typer.Option(
            "--deployable",
            help="Only policies for common trainers: loops with checkpoints, blocking or in the "
            "background (DCP), and loops with cprsim's hooks (TorchRec).",
        ),
    ] = False,
    system: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Consider only this system; repeatable."),
    ] = None,
    sure: Annotated[str, _bound("Confidence level.")] = "0.95",
    within: Annotated[str, _bound("Treat policies closer than this as equal.")] = "0.1%",
    target_pls: Annotated[str | None, _bound("CPR's target, e.g. 0.1: a limit on PLS.")] = None,
    quality: Annotated[
        str, typer.Option(help="Which loss --target-pls limits: pls or updates.")
    ] = "pls",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    out: Annotated[Path | None, output(help="Folder for report.html, answer.json ...")] = None,
    force: Force = False,
    closed_form: Annotated[
        bool, typer.Option("--closed-form", help="CPR's decision by its equations alone, at once.")
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Print all candidates, notes and reasons, too.")
    ] = False,
    printed: Annotated[
        str | None,
        typer.Option("--print", metavar="interval", help="Print the interval alone, in seconds."),
    ] = None,
    steps: Annotated[
        bool, typer.Option("--steps", help="With --print interval: in steps of training.")
    ] = False,
    cluster: Annotated[
        bool,
        typer.Option(
            "--cluster",
            help="SCENARIO is a cluster file: find settings of all its jobs together.",
        ),
    ] = False,
    workers: Annotated[int, typer.Option(help="Processes, with --cluster.")] = 1,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Find the best policy for a job and its settings."""
    if cluster:
        _advise_cluster(scenario, overrides, seed, workers, as_json)
        return
    from cprsim.fleets.fleet import Fleet, of_job
    from cprsim.scenario.mapping import mapping_of, scenario_tables, scenario_text

    _check_printed(printed, steps, as_json)
    text = scenario_text(scenario)
    job = of_job(scenario_tables(mapping_of(text, scenario, overrides or ())))
    accepted = share("--target-pls", target_pls)
    if closed_form:
        limits = (
            *(max_pls, max_updates_lost, max_learning_lost, max_learning_lost_p95, max_auc_drop),
            *(max_restarts, printed),
        )
        _check_alone(out, system, max_spares, max_memory, max_interval, deployable or None, *limits)
        _decide(job.example if isinstance(job, Fleet) else job, accepted, quality, as_json)
        return
    from cprsim.advice.aims import MAX_INTERVAL

    folder = None
    if out is not None:
        from cprsim.report.answer_page import NAMES

        folder = OutputFolder(out, NAMES, force=force)
    advice, robust = _advised(
        job,
        as_json,
        printed is None,
        objective=objective,
        max_pls=share("--max-pls", max_pls),
        max_updates_lost=share("--max-updates-lost", max_updates_lost),
        max_learning_lost=share("--max-learning-lost", max_learning_lost),
        max_learning_lost_p95=share("--max-learning-lost-p95", max_learning_lost_p95),
        max_auc_drop=share("--max-auc-drop", max_auc_drop),
        max_restarts=max_restarts,
        max_memory=share("--max-memory", max_memory),
        max_spares=max_spares,
        deployable=deployable,
        max_interval=max_interval or MAX_INTERVAL,
        systems=system,
        sure=share("--sure", sure),
        within=share("--within", within),
        target_pls=accepted,
        quality=quality,
        seed=seed,
    )
    if folder is not None:
        from cprsim.report.answer_page import contents
        from cprsim.report.source import ScenarioSource

        source = ScenarioSource(text, tuple(overrides or ()), None)
        folder.write(contents(advice, robust, source), silent=as_json)
    if printed is not None:
        from cprsim.report.configuration import interval

        echo(interval(advice, steps))
    elif as_json:
        held = None if robust is None else robust.document()
        print_json(advice.document() | {"robustness": held})
    else:
        _show(advice, robust, details)


def _advised(
    job: "Scenario | Fleet", as_json: bool, elsewhere: bool, **asked: Any
) -> "tuple[Advice, Robustness | None]":
    """The advice, and how it holds, with a bar while it is sought; interrupted, what is known."""
    from cprsim.errors import RunError

    last: Advice | Leading | None = None
    with ProgressBar("searching settings", silent=as_json) as progress:
        from cprsim.advice.advising import advise as sought
        from cprsim.advice.robustness import robustness
        from cprsim.report.answer import known_so_far

        def tell(what: str, done: int, total: int, known: "Advice | Leading | None") -> None:
            nonlocal last
            last = known or last
            progress.update(done, total, what)

        try:
            last = advice = sought(job, tell=tell, **asked)
            return advice, robustness(advice) if elsewhere else None
        except KeyboardInterrupt:
            raise RunError(f"interrupted; known so far: {known_so_far(last)}") from None


def _advise_cluster(
    path: Path, overrides: list[str] | None, seed: int, workers: int, as_json: bool
) -> None:
    """Find settings of all jobs of a cluster together."""
    with ProgressBar("simulating", "clusters", silent=as_json) as progress:
        from cprsim.clusters.advice import advise_cluster
        from cprsim.clusters.spec import load_cluster
        from cprsim.report.cluster import advice_lines, advice_table

        spec = load_cluster(path, overrides or ())
        advice = advise_cluster(spec, seed, workers, progress.update)
    if as_json:
        print_json(advice.document())
        return
    print_table(advice_table(advice))
    for line in advice_lines(advice):
        echo_wrapped(line)


def _check_printed(printed: str | None, steps: bool, as_json: bool) -> None:
    from cprsim.errors import UsageError

    if printed not in {None, "interval"}:
        raise UsageError(f"--print {printed}: only the interval can be printed alone")
    if steps and printed is None:
        raise UsageError("--steps goes with --print interval")
    if as_json and printed is not None:
        raise UsageError("--print and --json: choose one of them")


def _check_alone(*others: object) -> None:
    """Complain of options that the closed form has no use for."""
    from cprsim.errors import UsageError

    if any(each is not None for each in others):
        raise UsageError(
            "--closed-form asks CPR's equations alone: it goes with --target-pls and --quality; "
            "leave it or the others out"
        )


def _decide(job: "Scenario", target_pls: float | None, quality: str, as_json: bool) -> None:
    """CPR's decision, by its equations alone."""
    from cprsim.estimates.decision import decide
    from cprsim.report.decision import decision_lines, decision_table

    decision = decide(job, target_pls, quality)  # type: ignore[arg-type]
    if as_json:
        print_json(decision.document())
        return
    print_table(decision_table(decision, job.title), WIDTH)
    for line in decision_lines(decision):
        echo_wrapped(line)


def _show(advice: "Advice", robust: "Robustness | None", details: bool) -> None:
    from cprsim.report.answer import detail_lines
    from cprsim.report.candidates import answer_table
    from cprsim.report.screen import WIDTH, screen

    for line in screen(advice, robust, min(width(), WIDTH)):
        echo(line)
    if details:
        print_table(answer_table(advice), WIDTH)
        for line in detail_lines(advice):
            echo_wrapped(line)
