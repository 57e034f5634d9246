"""Write docs/favours.md: which conventions favour whom, and by how much, computed here.

Run `python -m tools.pages.favours`, or `make pages`. A test compares the page with it.
"""

import cprsim
from cprsim.basics.units import format_duration
from cprsim.runs.result import Result
from cprsim.scenario import load_scenario
from tools.paths import DOCS, SCENARIOS
from tools.tables import markdown

PAGE = DOCS / "favours.md"
REPLICATIONS = 1000
#: Mean time between failures of the job, and the wait for a machine.
WAITS = (
    ("1 h", "20 min"),
    ("4 h", "20 min"),
    ("28 h", "20 min"),
    ("28 h", "2 h"),
)
#: Shape of the law of failures, and the length of the job in mean gaps.
STARTS = ((0.675, 2), (0.675, 20), (1.0, 2), (1.5, 2))
#: Mean time between failures of the job, and the target of CPR.
TARGETS = (("28 h", 0.1), ("28 h", 0.01), ("4 h", 0.1), ("4 h", 0.01), ("1 h", 0.1))
#: What MFU takes on the trainer, docs/performance.md: of distinct rows, a million, batches of 512.
TRACKING = 0.027
#: Overrides that charge for what is free by default.
CHARGES = {
    "nothing": (),
    "5 % of the saves fail, and are retried": ("storage.save_fails=0.05",),
    "5 % of the saves fail, and are skipped": (
        "storage.save_fails=0.05",
        *(f"policies.{each}.after_void=skip" for each in ("full", "partial", "cpr")),
    ),
    "5 % of the loads fail": ("storage.load_fails=0.05",),
    "the store is away for an hour a day": (
        "storage.outages.every=24 h",
        "storage.outages.lasts=1 h",
    ),
    f"tracking takes {TRACKING:.1%}": (f"policies.cpr-mfu.slowdown={TRACKING}",),
}
Cells = tuple[str, ...]
_USEFUL_H = 56  # of the scenario
_COMPARED = ("full", "partial", "cpr")

#: Headings of the tables.
_WAITS_HEAD = (
    "MTBF",
    "wait",
    "full",
    "full that holds its nodes",
    "partial, no failures meanwhile",
    "partial",
    "cpr, no failures meanwhile",
    "cpr",
    "its PLS, no failures meanwhile",
    "its PLS",
)
_STARTS_HEAD = (
    "shape",
    "gaps a job",
    "failures, new",
    "failures, stationary",
    "full, new",
    "full, stationary",
    "cpr, new",
    "cpr, stationary",
)
_TARGETS_HEAD = (
    "MTBF",
    "target PLS",
    "interval, (E6)",
    "PLS, (E6)",
    "overhead, (E6)",
    "interval",
    "PLS",
    "overhead",
)
_CHARGES_HEAD = ("what is said", "full", "partial", "cpr", "its PLS", "cpr-mfu")


_PAGE = """\
# Modelling choices that bias the comparison

Which policy each convention favours, by how much, and the key that changes it. `make pages`
computes the tables (costs of `criteo-kaggle.toml`, {replications} replications, seed 0; mean ±
95 %).

## Failures while nodes are waited for

Rule 11 of [semantics](semantics.md). Under partial recovery the healthy servers stay up and can
fail, and so can those of a full restart with `cluster.holds_nodes = true`.
`failures.while_waiting = false` excludes such failures, which **favours partial recovery**, the
more the longer the wait is relative to the MTBF. Overhead, %:

{waits}
## Where in a gap a job starts

Rule 16. With `failures.ages = "new"` the first gap starts with the job: for laws with many early
failures (shape below 1) short jobs then have too many, which **favours the policy that loses least
at a failure** ([validation.md](validation.md) compares logs). Gamma laws, failures a job, and the
overhead of full and cpr, %:

{starts}
## What meets a target on lost samples

Rule 23. With `pls_interval = "E6"` CPR's interval is the paper's, which leaves out failures in
saves and in recoveries, and the end of the job. That **favours CPR in time** where saves or
recoveries are long relative to the interval. Exponential failures, a wait of 20 min, %:

{targets}
## Costs that are charged only on request

Rules 31 to 33, and keys of policies. By default no save or load fails and the store is always
there, which **favours the policy that saves most**. Tracking takes no time unless a policy's
`slowdown` says so, which **favours CPR's trackers**: MFU takes {tracking:.1%} of looking rows up
and updating them (a million rows, batches of 512: [performance.md](performance.md)), an upper bound
of its share of a step. A server that is down loads its neighbours only with `job.network`
(`degraded` of `replication` and `ecrm`), which **favours both**. Spares never fail: one would be
down for a share wait / (nodes x MTBF) of the time, {spare:.2%} below, which **favours hot-swap** by
as much of its waits. MTBF 28 h, wait 20 min, %:

{charges}
## What lost learning is worth

Rule 24. Lost updates cost a policy no time, which **favours policies without rollback**.
`overhead_retrained` is the overhead if each were trained again
([an example](how-to/read-the-report.md)).
"""


def played(*overrides: str, policies: tuple[str, ...] = _COMPARED) -> Result:
    """Run the scenario with these overrides."""
    loaded = load_scenario(SCENARIOS / "criteo-kaggle.toml", overrides)
    return cprsim.run(loaded, policies, REPLICATIONS)


def _cell(result: Result, policy: str, measure: str = "overhead") -> str:
    row = result.summary.loc[policy]
    half = (row[f"{measure}_high"] - row[f"{measure}_low"]) / 2
    return f"{100 * row[measure]:.2f} ± {100 * half:.2f}"


def law(mtbf: str, wait: str) -> tuple[str, ...]:
    """Return overrides of the scenario for exponential failures and a wait."""
    mean = f"failures.mean={mtbf}"
    return "failures.distribution=exponential", mean, f"costs.reschedule={wait}"


def waits(mtbf: str, wait: str) -> Cells:
    """Return the cells of a line of the first table."""
    off, on, held = (
        played(
            *law(mtbf, wait), f"failures.while_waiting={waiting}", f"cluster.holds_nodes={holds}"
        )
        for waiting, holds in (("false", "false"), ("true", "false"), ("true", "true"))
    )
    both = [_cell(each, name) for name in ("partial", "cpr") for each in (off, on)]
    learning = [_cell(each, "cpr", "pls") for each in (off, on)]
    return mtbf, wait, _cell(off, "full"), _cell(held, "full"), *both, *learning


def starts(shape: float, gaps: int) -> Cells:
    """Return those of the second table."""
    gamma = ("failures.distribution=gamma", f"failures.shape={shape}")
    mean = f"failures.mean={_USEFUL_H / gaps} h"
    runs = [played(*gamma, mean, f"failures.ages={ages}") for ages in ("new", "stationary")]
    failures = [f"{each.summary.loc['full', 'failures']:.2f}" for each in runs]
    overheads = [_cell(each, name) for name in ("full", "cpr") for each in runs]
    return f"{shape}", f"{gaps}", *failures, *overheads


def targets(mtbf: str, target: float) -> Cells:
    """Return those of the third table."""
    cells = []
    for rule in ("E6", "mean"):
        keys = f"policies.cpr.target_pls={target}", f"policies.cpr.pls_interval={rule}"
        found = played(*law(mtbf, "20 min"), "failures.while_waiting=true", *keys)
        interval = format_duration(found.plans["cpr"].interval_s)
        said = interval if found.plans["cpr"].recovery == "partial" else "full recovery"
        cells += [said, _cell(found, "cpr", "pls"), _cell(found, "cpr")]
    return mtbf, f"{100 * target:g}", *cells


def charges(what: str) -> Cells:
    """Return those of the fourth table."""
    said = *law("28 h", "20 min"), "failures.while_waiting=true", *CHARGES[what]
    found = played(*said, policies=(*_COMPARED, "cpr-mfu"))
    overheads = [_cell(found, name) for name in _COMPARED]
    return what, *overheads, _cell(found, "cpr", "pls"), _cell(found, "cpr-mfu")


def page() -> str:
    """All of it."""
    return _PAGE.format(
        replications=f"{REPLICATIONS:,}",
        tracking=TRACKING,
        spare=1200.0 / (16 * 28 * 3600),
        charges=markdown(_CHARGES_HEAD, map(charges, CHARGES)),
        waits=markdown(_WAITS_HEAD, (waits(*each) for each in WAITS)),
        starts=markdown(_STARTS_HEAD, (starts(*each) for each in STARTS)),
        targets=markdown(_TARGETS_HEAD, (targets(*each) for each in TARGETS)),
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
