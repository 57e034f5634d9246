"""`cprsim advise`: which policy, with which settings, how sure."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cprsim.cli.common import (
    WIDTH,
    ProgressBar,
    echo,
    echo_wrapped,
    print_json,
    print_table,
    show,
    width,
)
from cprsim.cli.options import (
    FORCE,
    JSON,
    OVERRIDES,
    SCENARIO,
    SEED,
    flag,
    many,
    option,
    options,
    output,
    share,
)
from cprsim.cli.output import OutputFolder

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice
    from cprsim.advice.robustness import Robustness
    from cprsim.advice.search import Incumbent
    from cprsim.runs.fleet import Fleet
    from cprsim.scenario import Scenario


@options(
    scenario=SCENARIO,
    objective=option("What to minimise: time, machine-time, cost or retrained.", default="time"),
    max_pls=share("Upper limit on lost samples (PLS), e.g. 0.02 or 2%."),
    max_updates_lost=share("Upper limit on lost updates."),
    max_auc_drop=share("Upper limit on the drop of AUC; needs [accuracy]."),
    max_learning_lost=share("Upper limit on the learning lost, in the mean, e.g. 0.01."),
    max_learning_lost_p95=share("Upper limit on the learning lost in 95 % of all runs."),
    max_restarts=option(
        "Restarts that the launcher allows; enough in 95 % of runs.", kind=int, metavar="N"
    ),
    max_memory=share("Extra memory allowed, as a fraction of the table size."),
    max_spares=option("Number of spare machines allowed.", kind=int),
    max_interval=option(
        "Longest time between saves of everything: 1 d by default, or never.", metavar="T"
    ),
    deployable=flag(
        "Only policies for common trainers: loops with checkpoints, blocking or in the background "
        "(DCP), and loops with cprsim's hooks (TorchRec).",
        "--deployable",
    ),
    system=many("Consider only this system; repeatable.", metavar="NAME"),
    sure=share("Confidence level.", "0.95"),
    within=share("Treat policies closer than this as equal.", "0.1%"),
    target_pls=share("CPR's target, e.g. 0.1: a limit on PLS."),
    quality=option("Which loss --target-pls limits: pls or updates.", default="pls"),
    seed=SEED,
    out=output("Folder for report.html, answer.json ..."),
    force=FORCE,
    closed_form=flag("CPR's decision by its equations alone, at once.", "--closed-form"),
    details=flag("Print all candidates, notes and reasons, too.", "--details"),
    printed=option("Print the interval alone, in seconds.", "--print", metavar="interval"),
    steps=flag("With --print interval: in steps of training.", "--steps"),
    cluster=flag("SCENARIO is a cluster file: settings of all its jobs together.", "--cluster"),
    workers=option("Processes, with --cluster.", kind=int, default=1),
    overrides=OVERRIDES,
    as_json=JSON,
)
def advise(
    *,
    scenario: Path,
    out: Path | None,
    force: bool,
    closed_form: bool,
    details: bool,
    printed: str | None,
    steps: bool,
    cluster: bool,
    workers: int,
    overrides: list[str] | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Find the best policy for a job and its settings."""
    if cluster:
        _advise_cluster(scenario, overrides or [], asked["seed"], workers, as_json)
        return
    from cprsim.runs.fleet import Fleet, of_job
    from cprsim.scenario.mapping import mapping_of, scenario_tables, scenario_text

    _check_printed(printed, steps, as_json)
    text = scenario_text(scenario)
    job = of_job(scenario_tables(mapping_of(text, scenario, overrides or ())))
    if closed_form:
        limits = [value for name, value in asked.items() if name.startswith("max_")]
        _check_alone(out, asked["system"], asked["deployable"] or None, printed, *limits)
        example = job.example if isinstance(job, Fleet) else job
        _decide(example, asked["target_pls"], asked["quality"], as_json)
        return
    from cprsim.advice.criteria import MAX_INTERVAL

    folder = None
    if out is not None:
        from cprsim.report.answer_page import NAMES

        folder = OutputFolder(out, NAMES, force=force)
    asked["max_interval"] = asked["max_interval"] or MAX_INTERVAL
    asked["systems"] = asked.pop("system")
    advice, robust = _advised(job, as_json, printed is None, **asked)
    if folder is not None:
        from cprsim.report.answer_page import contents
        from cprsim.report.basis import ScenarioSource

        source = ScenarioSource(text, tuple(overrides or ()), None)
        folder.write(contents(advice, robust, source), silent=as_json)
    if printed is not None:
        from cprsim.report.screen import interval

        echo(interval(advice, steps))
    elif as_json:
        held = None if robust is None else robust.document()
        print_json(advice.document() | {"robustness": held})
    else:
        _show(advice, robust, details)


def _advised(
    job: "Scenario | Fleet", as_json: bool, elsewhere: bool, **asked: Any
) -> "tuple[Advice, Robustness | None]":
    """Return the advice, and how it holds, with a bar meanwhile; interrupted, say what is known."""
    from cprsim.errors import RunError

    last: Advice | Incumbent | None = None
    with ProgressBar("searching settings", silent=as_json) as progress:
        from cprsim.advice.advising import advise as sought
        from cprsim.advice.robustness import robustness
        from cprsim.report.answer import known_so_far

        def tell(what: str, done: int, total: int, known: "Advice | Incumbent | None") -> None:
            nonlocal last
            last = known or last
            progress.update(done, total, what)

        try:
            last = advice = sought(job, tell=tell, **asked)
            return advice, robustness(advice) if elsewhere else None
        except KeyboardInterrupt:
            raise RunError(f"interrupted; known so far: {known_so_far(last)}") from None


def _advise_cluster(
    path: Path, overrides: list[str], seed: int, workers: int, as_json: bool
) -> None:
    with ProgressBar("simulating", "clusters", silent=as_json) as progress:
        from cprsim.clusters.advice import advise_cluster
        from cprsim.clusters.spec import load_cluster

        advice = advise_cluster(load_cluster(path, overrides), seed, workers, progress.update)
    from cprsim.clusters.display import advice_lines, advice_table

    show(advice, advice_table, as_json, advice_lines)


def _check_printed(printed: str | None, steps: bool, as_json: bool) -> None:
    from cprsim.errors import UsageError

    if printed not in {None, "interval"}:
        raise UsageError(f"--print {printed}: only the interval can be printed alone")
    if steps and printed is None:
        raise UsageError("--steps goes with --print interval")
    if as_json and printed is not None:
        raise UsageError("--print and --json: choose one of them")


def _check_alone(*others: object) -> None:
    """Raise `UsageError` for options that the closed form has no use for."""
    from cprsim.errors import UsageError

    if any(each is not None for each in others):
        raise UsageError(
            "--closed-form asks CPR's equations alone: it goes with --target-pls and --quality; "
            "leave it or the others out"
        )


def _decide(job: "Scenario", target_pls: float | None, quality: str, as_json: bool) -> None:
    """Print CPR's decision, by its equations alone."""
    from cprsim.advice.decision import decide
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
    from cprsim.report.screen import WIDTH, answer_table, screen

    for line in screen(advice, robust, min(width(), WIDTH)):
        echo(line)
    if details:
        print_table(answer_table(advice), WIDTH)
        for line in detail_lines(advice):
            echo_wrapped(line)
