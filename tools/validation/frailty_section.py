"""The section of docs/validation.md on nodes that fail more often than others, and its table."""

from typing import Final

import cprsim
from cprsim.fitting.frailty_fit import FrailtyFit
from tools.paths import DOCS, SHARED
from tools.tables import write_csv

HEADING: Final = "## Nodes that fail far more often than others"
_LANL: Final = "lanl_failures/lanl_dev_systems_3_4_5_6_8_18_20.csv.gz"
#: Of each log, what is taken of it: the servers of StepFun's part are of its SOURCE.md.
LOGS: Final[dict[str, tuple[str, dict[str, int]]]] = {
    **{f"LANL {system}": (_LANL, {"system": system}) for system in (3, 4, 5, 6, 8, 18, 20)},
    "StepFun": ("stepfun_faults/fault_trace_dev.json.gz", {"population": 215}),
    "Grid'5000 site3/c1": ("grid5000_fta/g5k_dev_site3_c1.tab.gz", {}),
    "Grid'5000 site6/c1": ("grid5000_fta/g5k_dev_site6_c1.tab.gz", {}),
}

#: CSV file of every log; the page links it.
TABLE: Final = DOCS / "frailty.csv"

_TEXT: Final = f"""\
{HEADING}

[frailty.csv](frailty.csv) has, for each log, the share of failures on the worst tenth of the nodes,
and the same in 199 logs simulated from the best of three laws, with alike nodes and with a frailty.
*Gain* is twice the log-likelihood that the frailty adds: beyond 9, nodes differ by more than
chance.

In each system of LANL failures are more concentrated than alike nodes would have them, mostly on a
few nodes of another kind: in most systems one node has more failures than any gamma frailty gives
it, and without it the gain is small in all but systems 8, 18 and 20. There `fit` offers no frailty.
StepFun's servers are alike: a law of early failures describes them without a frailty.
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
    "with frailty, worst node",
    "law",
)


def found(name: str, exclude_worst: int = 0) -> FrailtyFit:
    """Fit a log as `cprsim fit --view uptime` does."""
    path, taken = LOGS[name]
    fitted = cprsim.fit(
        SHARED / path,
        view="uptime",
        exclude_worst=exclude_worst,
        **taken,  # type: ignore[arg-type]
    ).frailty
    assert fitted is not None
    return fitted


def row(name: str, fitted: FrailtyFit) -> tuple[str, ...]:
    """Return the cells of a log in `TABLE`."""
    frail = fitted.found
    ends, worst, frailty, others = "", "", "none", ""
    if frail.is_sure:
        ends, worst = _ends(fitted.frail, 100), _ends(fitted.frail_worst)
        frailty = "{:.2g} ({:.2g} to {:.2g})".format(frail.variance, *frail.interval)
        others = f"{found(name, exclude_worst=1).found.gain:.1f}"
    return (
        *(name, str(fitted.nodes), f"{100 * fitted.share:.0f}", _ends(fitted.alike, 100)),
        *(ends, frailty, f"{frail.gain:.1f}", others, str(fitted.worst), worst),
        frail.law.distribution,
    )


def section() -> str:
    """Return the section; write `TABLE` if no log is missing."""
    if all((SHARED / path).exists() for path, _ in LOGS.values()):
        write_csv(TABLE, _HEADS, (row(name, found(name)) for name in LOGS))
    return _TEXT


def _ends(interval: tuple[float, float], times: int = 1) -> str:
    return "{:.0f} to {:.0f}".format(*(times * each for each in interval))
