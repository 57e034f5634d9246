"""The section of docs/validation.md on nodes that fail far more often than others."""

from typing import Final

import cprsim
from cprsim.fitting.frailty_fit import FrailtyFit
from tools.paths import SHARED
from tools.validation.replayed_section import as_it_stands

HEADING: Final = "## Nodes that fail far more often than others"
_LANL: Final = "lanl_failures/lanl_dev_systems_3_4_5_6_8_18_20.csv.gz"
#: Of each log, what is taken of it: the servers of StepFun's part are of its SOURCE.md.
LOGS: Final[dict[str, tuple[str, dict[str, int]]]] = {
    **{f"LANL {system}": (_LANL, {"system": system}) for system in (3, 4, 5, 6, 8, 18, 20)},
    "StepFun": ("stepfun_faults/fault_trace_dev.json.gz", {"population": 215}),
    "Grid'5000 site3/c1": ("grid5000_fta/g5k_dev_site3_c1.tab.gz", {}),
    "Grid'5000 site6/c1": ("grid5000_fta/g5k_dev_site6_c1.tab.gz", {}),
}

_TEXT: Final = f"""\
{HEADING}

The worst tenth of the nodes of a log has more than a tenth of its failures by luck alone, more if
failures of a node follow its own (lives of a shape below 1), and more still if nodes differ. Each
row has the best of three laws fitted to all that was seen of all nodes, alike and with a frailty;
199 logs are simulated with either, for as long, with the outages of the log. *Gain* is twice the
log-likelihood that the frailty adds: beyond 9, nodes differ by more than chance.

In no system of LANL would alike nodes concentrate failures as the log does. But what looks like a
frailty is for the most part a few nodes of another kind: in most systems one node has more failures
than any gamma frailty gives it, and without it the gain is small in all but systems 8, 18 and 20.
So `fit` offers no frailty there, says why, and what to leave out. StepFun's servers are alike: the
worst tenth has what alike servers give it, since faults of a server follow its own within hours.
Exponential lives would need a frailty for that (tests/fitting/test_frailty_fit.py); a law of early
failures needs none.

"""
_HEADS: Final = (
    "log",
    "nodes",
    "on the worst tenth, %",
    "alike",
    "with frailty",
    "frailty",
    "gain",
    "without the worst node",
    "failures of the worst node",
    "with frailty",
    "law",
)


def found(name: str, exclude_worst: int = 0) -> FrailtyFit:
    """What `cprsim fit --view uptime` finds in a log."""
    path, taken = LOGS[name]
    fitted = cprsim.fit(
        SHARED / path,
        view="uptime",
        exclude_worst=exclude_worst,
        **taken,  # type: ignore[arg-type]
    ).frailty
    assert fitted is not None
    return fitted


def row(name: str, fitted: FrailtyFit) -> str:
    """The line of a log."""
    frail = fitted.found
    ends, worst, frailty, others = "", "", "none", ""
    if frail.is_sure:
        ends, worst = _ends(fitted.frail, 100), _ends(fitted.frail_worst)
        frailty = "{:.2g} ({:.2g} to {:.2g})".format(frail.variance, *frail.interval)
        others = f"{found(name, exclude_worst=1).found.gain:.1f}"
    return (
        f"| {name} | {fitted.nodes:,} | {100 * fitted.share:.0f} | {_ends(fitted.alike, 100)} "
        f"| {ends} | {frailty} | {frail.gain:.1f} | {others} | {fitted.worst:,} | {worst} "
        f"| {frail.law.distribution} |\n"
    )


def section(committed: str) -> str:
    """The section, anew where all logs are at hand, else as it stands on the page."""
    if not all((SHARED / path).exists() for path, _ in LOGS.values()):
        return as_it_stands(committed, HEADING)
    head = f"| {' | '.join(_HEADS)} |\n|{' --- |' * len(_HEADS)}\n"
    return _TEXT + head + "".join(row(name, found(name)) for name in LOGS)


def _ends(interval: tuple[float, float], times: int = 1) -> str:
    return "{:.0f} to {:.0f}".format(*(times * each for each in interval))
