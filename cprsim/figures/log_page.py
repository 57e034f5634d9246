"""A page of a failure log: its durations and laws, repairs, causes, nodes and the clock."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from cprsim.failures.logs.node_failures import Concentration
from cprsim.figures.parts.by_clock import by_hour, by_weekday
from cprsim.figures.parts.by_node import by_node
from cprsim.figures.parts.causes import CauseCount, by_cause
from cprsim.figures.parts.findings import Finding
from cprsim.figures.parts.repairs import repairs as repairs_of
from cprsim.figures.survival import survival
from cprsim.survival.calendar_rates import CalendarRates
from cprsim.survival.fitted_laws import Fit
from cprsim.survival.sample import Sample


def log_page(
    sample: Sample,
    fits: Sequence[Fit],
    title: str = "",
    *,
    repairs: tuple[Sample, Sequence[Fit], bool] | None = None,
    causes: Sequence[CauseCount] = (),
    nodes: Concentration | None = None,
    calendar: CalendarRates | None = None,
    zone: str = "UTC",
) -> Figure:
    """Draw the durations of a log and their laws, then repairs, causes, nodes and the clock.

    Parameters
    ----------
    sample, fits, title
        As of `cprsim.figures.survival.survival`.
    repairs
        How long outages of nodes lasted, the laws fitted to that, the best first, and whether that
        one is adequate.
    causes
        Of the failures, the commonest first; one alone is no panel.
    nodes
        Failures of each node; no panel where there is but one node.
    calendar, zone
        Failures by hour and weekday, and whose hours these are.

    Returns
    -------
    matplotlib.figure.Figure
        After the three axes of `survival` come those of repairs (a share over
        seconds), causes (failures), failures a second over hours and weekdays, and nodes (a share
        of the failures over one of the nodes).
    """
    found = list[Finding]()
    if repairs is not None:
        found.append(repairs_of(*repairs))
    if len(causes) > 1:
        found.append(by_cause(causes))
    spread, clock = list[Finding](), list[Finding]()
    if nodes is not None and len(nodes.counts) > 1:
        spread = [by_node(nodes)]
    if calendar is not None:
        clock = [by_hour(calendar.hours, zone), by_weekday(calendar.weekdays, zone)]
    # Two are side by side, after the three of `survival`: hours and weekdays are in one row.
    found += [*clock, *spread] if len(found) % 2 else [*spread, *clock]
    return survival(sample, fits, title, found)
