"""The picture of a fit of a log."""

import math
from collections import Counter
from typing import TYPE_CHECKING

from cprsim.figures.log_page import CauseCount, log_page
from cprsim.fitting.log_fit import LogFit
from cprsim.fitting.repairs import MOST_CAUSES, NO_CAUSE, OTHERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def log_figure(fitted: LogFit) -> "Figure":
    """All that the log shows."""
    repairs = fitted.repairs
    return log_page(
        fitted.view.sample,
        fitted.fits,
        str(fitted.source),
        repairs=None if repairs is None else (repairs.sample, repairs.fits, repairs.is_adequate),
        causes=_causes(fitted),
        nodes=None if fitted.node_failures is None else fitted.node_failures.spread,
    )


def _causes(fitted: LogFit) -> list[CauseCount]:
    """The commonest causes of failures, and how long their repairs take."""
    by_cause = None if fitted.repairs is None else fitted.repairs.by_cause
    medians = (
        {} if by_cause is None else {each.cause: each.typical.median_s for each in by_cause.causes}
    )
    ordered = Counter({each or NO_CAUSE: n for each, n in fitted.causes.items()}).most_common()
    shown = [CauseCount(name, n, medians.get(name, math.nan)) for name, n in ordered[:MOST_CAUSES]]
    rest = sum(n for _, n in ordered[MOST_CAUSES:])
    # The others are the same ones where the causes of outages are as common.
    same = {each.name for each in shown} == medians.keys() - {OTHERS}
    others = CauseCount(OTHERS, rest, medians.get(OTHERS, math.nan) if same else math.nan)
    return [*shown, others] if rest else shown
