"""The numbers of the production fleet that are fitted: sets of them, each of which is a fleet."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cprsim.runs.fleet import Fleet, load_fleet
from tools.paths import SCENARIOS

SCENARIO: Final = SCENARIOS / "production-fleet.toml"


class Fitted(NamedTuple):
    """A number that is fitted: its key in the scenario, its unit, and where a search looks for it.

    `shipped` is that of the scenario. Sets are drawn between `low` and `high`, uniformly in the
    logarithm.
    """

    name: str
    key: str
    unit: str
    shipped: float
    low: float
    high: float


_INTERVALS: Final = "policies.full.interval.values"
#: All but the scale. The ranges are ours: wide, but no facts. Some sets that fit lie at their ends.
SOUGHT: Final = (
    Fitted("useful_mean_h", "job.useful_time.mean", " h", 8.1, 2.0, 24.0),
    Fitted("useful_cv", "job.useful_time.cv", "", 0.7, 0.3, 2.5),
    Fitted("embedding_mean_gb", "model.embedding.mean", " GB", 630.0, 63.0, 6300.0),
    Fitted("embedding_cv", "model.embedding.cv", "", 1.4, 0.2, 4.0),
    Fitted("embedding_max_gb", "model.embedding.max", " GB", 1550.0, 400.0, 6000.0),
    Fitted("reschedule_mean_h", "costs.reschedule.mean", " h", 2.1, 0.3, 12.0),
    Fitted("reschedule_cv", "costs.reschedule.cv", "", 7.8, 0.5, 20.0),
    Fitted("reschedule_max_h", "costs.reschedule.max", " h", 6.4, 3.0, 24.0),
    Fitted("interval_0_min", _INTERVALS, " min", 21.0, 5.0, 60.0),
    Fitted("interval_1_min", _INTERVALS, " min", 28.0, 10.0, 180.0),
    Fitted("interval_2_min", _INTERVALS, " min", 195.0, 60.0, 600.0),
)
#: Machine-years beyond useful grow with the nodes, and nothing else that is known does.
TRAINERS: Final = Fitted("trainers_mean", "cluster.trainers.mean", "", 290.0, 4.0, 5000.0)
FITTED: Final = (*SOUGHT, TRAINERS)
SHIPPED: Final = {each.name: each.shipped for each in FITTED}


def fleet_of(values: Mapping[str, float]) -> Fleet:
    """The fleet of a set: the shipped scenario with other numbers in these places.

    Raises
    ------
    ScenarioError
        If there can be no such fleet, e.g. where next to no job lasts ten hours.
    """
    return load_fleet(SCENARIO, overrides(values))


def overrides(values: Mapping[str, float]) -> list[str]:
    """A set as `cprsim run --set` takes it."""
    single = [each for each in FITTED if each.key != _INTERVALS]
    intervals = [each for each in FITTED if each.key == _INTERVALS]
    listed = ", ".join(f'"{values[each.name]!r}{each.unit}"' for each in intervals)
    return [
        *(f"{each.key}={values[each.name]!r}{each.unit}" for each in single),
        f"{_INTERVALS}=[{listed}]",
    ]
