"""`answer`, `pareto` and `robust`: which policy for a job, beside what, and how that holds."""

from pathlib import Path
from typing import TYPE_CHECKING

from cprsim.advice.advice import Advice
from cprsim.advice.advising import advise
from cprsim.advice.robustness import Robustness, robustness
from cprsim.errors import UsageError
from cprsim.gallery.picture import Picture
from cprsim.scenario import load_scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def of_scenario(source: Path) -> Advice:
    """What `advise` says of a scenario, least time, bounded as it is by default."""
    return advise(load_scenario(source))


def elsewhere(source: Path) -> tuple[str, Robustness]:
    """The scenario's title, and how the choice for it holds."""
    advice = of_scenario(source)
    found = robustness(advice)
    if found is None:
        raise UsageError(f"figure robust: no policy keeps to the bounds of {source}")
    return advice.scenario.title, found


def _draw_elsewhere(found: tuple[str, Robustness]) -> "Figure":
    title, robust = found
    return robust.figure(title)


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
)
