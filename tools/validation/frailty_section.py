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
row has a Weibull law fitted to all that was seen of all nodes, alike and with a frailty; 199 logs
are simulated with either, for as long, with the outages of the log. *Gain* is twice the
log-likelihood that the frailty adds: beyond 9, nodes differ by more than chance.

Nodes of LANL do: in no system would alike ones concentrate failures as the log does. With a gamma
frailty they would, but in systems 8 and 18, where a few nodes are worse still. StepFun's servers
don't: its worst tenth has what alike servers give it, since faults of a server follow its own
within hours. Exponential lives would need a frailty for that (tests/fitting/test_frailty_fit.py);
a law of early failures needs none.

| log | nodes | on the worst tenth, % | alike | with frailty | frailty | shape | gain |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def found(name: str) -> FrailtyFit:
    """What `cprsim fit --view uptime` finds in a log."""
    path, taken = LOGS[name]
    fitted = cprsim.fit(SHARED / path, view="uptime", **taken).frailty  # type: ignore[arg-type]
    assert fitted is not None
    return fitted


def row(name: str, fitted: FrailtyFit) -> str:
    """The line of a log."""
    law = fitted.found
    frailty = "none"
    if law.is_sure:
        frailty = "{:.2g} ({:.2g} to {:.2g})".format(law.variance, *law.interval)
    return (
        f"| {name} | {fitted.nodes:,} | {100 * fitted.share:.0f} | {_ends(fitted.alike)} "
        f"| {_ends(fitted.frail) if law.is_sure else ''} | {frailty} "
        f"| {law.law.shape:.2f} | {law.gain:.1f} |\n"
    )


def section(committed: str) -> str:
    """The section, anew where all logs are at hand, else as it stands on the page."""
    if not all((SHARED / path).exists() for path, _ in LOGS.values()):
        return as_it_stands(committed, HEADING)
    return _TEXT + "".join(row(name, found(name)) for name in LOGS)


def _ends(interval: tuple[float, float]) -> str:
    return "{:.0f} to {:.0f}".format(*(100 * each for each in interval))
