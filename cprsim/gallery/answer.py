"""`answer`, `pareto` and `robust`: which policy for a job, its rivals, and where that changes."""

from typing import TYPE_CHECKING, Any

from cprsim.advice.advice import Advice
from cprsim.advice.advising import advise
from cprsim.advice.robustness import Robustness, robustness
from cprsim.errors import UsageError
from cprsim.gallery.picture import Picture, PictureSource

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def of_scenario(source: PictureSource) -> Advice:
    """Return the advice on a scenario: least time, with the default limits.

    Where policies are chosen, other systems than theirs are no candidates.
    """
    scenario = source.scenario()
    systems = [each.system for each in scenario.policies.values()] if source.policies else None
    return advise(scenario, systems=systems)


def elsewhere(source: PictureSource) -> tuple[str, Robustness]:
    """Return the scenario's title, and the choice for it where inputs are others."""
    advice = of_scenario(source)
    found = robustness(advice)
    if found is None:
        raise UsageError(f"figure robust: no policy is within the limits for {source.path}")
    return advice.scenario.title, found


def _draw_elsewhere(found: tuple[str, Robustness], **on: Any) -> "Figure":
    from cprsim.figures.robust import robust  # noqa: PLC0415  (matplotlib is slow to import)

    title, of = found
    return robust(of.table, of.choice, of.within, of.systems, title, of.base, **on)


ANSWER = Picture(
    "answer",
    "what each candidate of `advise` costs, by cause, beside what learning and machines it takes",
    "scenario",
    "quickstart.toml",
    of_scenario,
    lambda advice: advice.figure("answer"),
)
PARETO = Picture(
    "pareto",
    "time against learning lost, machine time or cost of each candidate of `advise`",
    "scenario",
    "quickstart.toml",
    of_scenario,
    lambda advice: advice.figure("pareto"),
)
ROBUST = Picture(
    "robust",
    "what the policy that `advise` chooses loses where the job is another, and who is best there",
    "scenario",
    "quickstart.toml",
    elsewhere,
    _draw_elsewhere,
    one_axes=True,
)
