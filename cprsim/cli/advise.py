"""`cprsim advise`: which policy, with which settings, how sure."""

import math
from typing import TYPE_CHECKING, Any

from cprsim.cli import options as opt
from cprsim.cli.common import WIDTH, echo, echo_wrapped, print_json, print_table, width

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice
    from cprsim.advice.robustness import Robustness
    from cprsim.advice.search import Incumbent
    from cprsim.runs.fleet import Fleet
    from cprsim.scenario import Scenario

#: Options that are arguments of `cprsim.advise` by the same name, as those that begin with `max_`.
_PASSED = ("objective", "deployable", "sure", "within", "target_pls", "quality", "seed")


@opt.options(
    scenario=opt.SCENARIO,
    objective=opt.option(
        "What to minimise: time, machine-time, cost or retrained.", default="time"
    ),
    max_pls=opt.share("Upper limit on lost samples (PLS), e.g. 0.02 or 2%."),
    max_updates_lost=opt.share("Upper limit on lost updates."),
    max_auc_drop=opt.share("Upper limit on the drop of AUC; needs [accuracy]."),
    max_learning_lost=opt.share("Upper limit on the learning lost, in the mean, e.g. 0.01."),
    max_learning_lost_p95=opt.share("Upper limit on the learning lost in 95 % of all runs."),
    max_restarts=opt.option(
        "Restarts that the launcher allows; enough in 95 % of runs.", kind=int, metavar="N"
    ),
    max_memory=opt.share("Extra memory allowed, as a fraction of the table size."),
    max_spares=opt.option("Number of spare machines allowed.", kind=int),
    max_interval=opt.option(
        "Longest time between saves of everything: 1 d by default, or never.", metavar="T"
    ),
    deployable=opt.flag(
        "Only policies for common trainers: loops with checkpoints, blocking or in the background "
        "(DCP), and loops with cprsim's hooks (TorchRec).",
        "--deployable",
    ),
    system=opt.many("Consider only this system; repeatable.", metavar="NAME"),
    sure=opt.share("Confidence level.", "0.95"),
    within=opt.share("Treat policies closer than this as equal.", "0.1%"),
    target_pls=opt.share("CPR's target, e.g. 0.1: a limit on PLS."),
    quality=opt.option("Which loss --target-pls limits: pls or updates.", default="pls"),
    seed=opt.SEED,
    out=opt.output("Folder for report.html, answer.json ..."),
    force=opt.FORCE,
    closed_form=opt.flag("CPR's decision by its equations alone, at once.", "--closed-form"),
    details=opt.flag("Print all candidates, notes and reasons, too.", "--details"),
    printed=opt.option("Print the interval alone, in seconds.", "--print", metavar="interval"),
    steps=opt.flag("With --print interval: in steps of training.", "--steps"),
    cluster=opt.flag("SCENARIO is a cluster file: settings of all its jobs together.", "--cluster"),
    workers=opt.option("Processes, with --cluster.", kind=int, default=1),
    overrides=opt.OVERRIDES,
    as_json=opt.JSON,
)
def advise(asked: Any) -> None:
    """Find the best policy for a job and its settings."""
    if asked.cluster:
        _advise_cluster(asked)
        return
    from cprsim.runs.fleet import Fleet, of_job
    from cprsim.scenario.mapping import mapping_of, scenario_tables, scenario_text

    _check(asked)
    text = scenario_text(asked.scenario)
    job = of_job(scenario_tables(mapping_of(text, asked.scenario, asked.overrides or ())))
    if asked.closed_form:
        _decide(job.example if isinstance(job, Fleet) else job, asked)
        return
    folder = None
    if asked.out is not None:
        from cprsim.report.answer_page import NAMES

        folder = asked.folder(NAMES)
    advice, robust = _advised(job, asked)
    if folder is not None:
        from cprsim.report.answer_page import contents
        from cprsim.report.basis import ScenarioSource

        source = ScenarioSource(text, tuple(asked.overrides or ()), None)
        folder.write(contents(advice, robust, source))
    if asked.printed is not None:
        from cprsim.report.screen import interval

        echo(interval(advice, asked.steps))
    elif asked.as_json:
        held = None if robust is None else robust.document()
        print_json(advice.document() | {"robustness": held})
    else:
        from cprsim.report.answer import detail_lines
        from cprsim.report.screen import LINES, WIDTH, answer_table, screen

        most = math.inf if asked.details else LINES
        for line in screen(advice, robust, min(width(), WIDTH), most):
            echo(line)
        if asked.details:
            print_table(answer_table(advice), WIDTH)
            for line in detail_lines(advice):
                echo_wrapped(line)


def _limits(asked: Any) -> dict[str, Any]:
    """Return the options that are limits of a candidate."""
    return {name: each for name, each in vars(asked).items() if name.startswith("max_")}


def _advised(job: "Scenario | Fleet", asked: Any) -> "tuple[Advice, Robustness | None]":
    """Return the advice, and how it holds, with a bar meanwhile; interrupted, say what is known."""
    from cprsim.errors import RunError

    last: Advice | Incumbent | None = None
    with asked.progress("searching settings") as progress:
        from cprsim.advice.advising import advise as sought
        from cprsim.advice.criteria import MAX_INTERVAL
        from cprsim.advice.robustness import robustness
        from cprsim.report.answer import known_so_far

        def tell(what: str, done: int, total: int, known: "Advice | Incumbent | None") -> None:
            nonlocal last
            last = known or last
            progress.update(done, total, what)

        limits = _limits(asked)
        limits["max_interval"] = asked.max_interval or MAX_INTERVAL
        try:
            last = advice = sought(
                job,
                systems=asked.system,
                tell=tell,
                **{name: getattr(asked, name) for name in _PASSED},
                **limits,
            )
            return advice, robustness(advice) if asked.printed is None else None
        except KeyboardInterrupt:
            raise RunError(f"interrupted; known so far: {known_so_far(last)}") from None


def _advise_cluster(asked: Any) -> None:
    with asked.progress("simulating", "clusters") as progress:
        from cprsim.clusters.advice import advise_cluster
        from cprsim.clusters.spec import load_cluster

        spec = load_cluster(asked.scenario, asked.overrides or [])
        advice = advise_cluster(spec, asked.seed, asked.workers, progress.update)
    from cprsim.clusters.display import advice_lines, advice_table

    asked.print(advice, advice_table, advice_lines)


def _check(asked: Any) -> None:
    """Raise `UsageError` for options of --print that don't go together."""
    from cprsim.errors import UsageError

    if asked.printed not in {None, "interval"}:
        raise UsageError(f"--print {asked.printed}: only the interval can be printed alone")
    if asked.steps and asked.printed is None:
        raise UsageError("--steps goes with --print interval")
    if asked.as_json and asked.printed is not None:
        raise UsageError("--print and --json: choose one of them")


def _decide(job: "Scenario", asked: Any) -> None:
    """Print CPR's decision, by its equations alone."""
    from cprsim.advice.decision import decide
    from cprsim.errors import UsageError
    from cprsim.report.decision import decision_lines, decision_table

    others = (asked.out, asked.system, asked.deployable or None, asked.printed)
    if any(each is not None for each in (*others, *_limits(asked).values())):
        raise UsageError(
            "--closed-form asks CPR's equations alone: it goes with --target-pls and --quality; "
            "leave it or the others out"
        )
    decision = decide(job, asked.target_pls, asked.quality)
    if asked.as_json:
        print_json(decision.document())
        return
    print_table(decision_table(decision, job.title), WIDTH)
    for line in decision_lines(decision):
        echo_wrapped(line)
