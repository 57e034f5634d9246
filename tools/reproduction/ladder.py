"""Meta's published effective training time, compared with the last levers of ett-ladder."""

from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Final, NamedTuple

import pandas as pd

from cprsim.report.gallery import tables
from cprsim.report.gallery.levers import Levers, load_levers
from cprsim.report.gallery.picture import Drawing, PictureSource
from cprsim.scenario.mapping import set_value
from tools.paths import SCENARIOS
from tools.reproduction.lines import Line, Measured

SCENARIO: Final = SCENARIOS / "ett-ladder.toml"
#: Effective training time in percent, before and after, of the jobs at both ends of what is
#: published (arXiv 2610.02057: from 59-85 % to 80-93 %).
BEFORE, AFTER = (59.0, 85.0), (80.0, 93.0)
#: How many times faster recovery is, at least and at most, as published there.
FASTER: Final = (1.8, 8.6)
#: The lever after which all that is published is done.
LAST: Final = "faster recovery"
#: MTBF that each job is calibrated by; all else is the same.
AT_59, AT_85 = "3.8 h", "25 h"
#: How many times faster the scenario's lever makes it: the geometric mean of both.
MEAN: Final = 3.93
#: Minutes of recovery that a lever makes faster, by key, in the job as it is.
RECOVERY: Final = {
    "costs.detect": 10.0,
    "costs.reschedule": 15.0,
    "costs.load": 10.0,
    "costs.start.initialise": 15.0,
}
_SOURCE: Final = "arXiv 2610.02057, stated as a range"
_REPLICATIONS: Final = 400
_RUNS: Final = 20  # about as many, by which the engine is chosen


class Other(NamedTuple):
    """The job with another assumption, and the MTBF at which it starts at 59 %.

    `times`: how long recovery is, of the job as it is.
    """

    name: str
    mtbf: str
    interval: str = "1 h"
    times: float = 1.0


OTHERS: Final = (
    Other("saves every 30 min at first", AT_59, interval="30 min"),
    Other("saves every 2 h at first", "4.6 h", interval="2 h"),
    Other("recovery half as long", "2.9 h", times=0.5),
    Other("recovery twice as long", "5.7 h", times=2.0),
)


def lines(found: Drawing) -> list[Line]:
    """Where the picture begins and ends, the job at 85 %, and what other assumptions give."""
    table = found.rows[found.rows["way"] == "together"].set_index("lever")
    large = _of(table.loc[tables.AS_IT_IS]), _of(table.loc[LAST])
    told = [*_pair(0, large, AT_59), *_pair(1, _ends({"failures.mean": AT_85}), AT_85)]
    for times in FASTER:
        for i, mtbf in enumerate((AT_59, AT_85)):
            _, end = _ends({"failures.mean": mtbf}, faster(times))
            words = f"after, of {BEFORE[i]:g} %, recovery {times:g} times faster"
            told.append(
                Line(words, AFTER[i], _SOURCE, "prediction", end, "%", f"not {MEAN:g} times")
            )
    for other in OTHERS:
        start, end = _ends(*_changed(other))
        note = f"MTBF {other.mtbf}, by which it starts at {start.value:.1f} %"
        words = f"after, of 59 %, {other.name}"
        told.append(Line(words, AFTER[0], _SOURCE, "prediction", end, "%", note))
    return told


def faster(times: float, long: float = 1.0) -> dict[str, str]:
    """Return overrides for a recovery so many times faster, and so many times as long."""
    return {key: f"{minutes * long / times:.3g} min" for key, minutes in RECOVERY.items()}


def _pair(i: int, ends: tuple[Measured, Measured], mtbf: str) -> list[Line]:
    start, end = ends
    note = f"by an MTBF of {mtbf}, which is calibrated to it"
    return [
        Line(f"before, of {BEFORE[i]:g} %", BEFORE[i], _SOURCE, "calibrated", start, "%", note),
        Line(f"after, of {BEFORE[i]:g} %", AFTER[i], _SOURCE, "prediction", end, "%", ""),
    ]


def _changed(other: Other) -> tuple[dict[str, str], dict[str, str], str]:
    long = {key: f"{minutes * other.times} min" for key, minutes in RECOVERY.items()}
    job = {"failures.mean": other.mtbf, "policies.job.interval": other.interval, **long}
    return job, faster(MEAN, other.times), other.interval


def _ends(
    job: Mapping[str, str], recovery: Mapping[str, str] | None = None, interval: str = "1 h"
) -> tuple[Measured, Measured]:
    """Effective training time of a changed job as it is, and with all that is published."""
    levers = load_levers(SCENARIO)
    own, sets = deepcopy(dict(levers.job)), deepcopy(dict(levers.sets))
    changes = [(own, job), (sets[LAST], recovery or {})]
    changes += [(sets["asynchronous saves"], {"policies.job.interval": interval})]
    for table, values in changes:
        for key, value in values.items():
            set_value(table, key.split("."), value, key)
    return _measured(Levers(own, sets))


def _measured(levers: Levers) -> tuple[Measured, Measured]:
    names = [*levers.sets]
    published = names[: names.index(LAST) + 1]
    return _of(_row(levers, ())), _of(_row(levers, tuple(published)))


def _row(levers: Levers, names: tuple[str, ...]) -> "pd.Series[float]":
    return pd.Series(tables.effective_training(levers.scenario(names), _REPLICATIONS, _RUNS))


def _of(row: "pd.Series[float]") -> Measured:
    return Measured(100 * row["ett"], 100 * row["ett_half"])


@cache
def again() -> Drawing:
    """The picture's table, of fewer replications."""
    return tables.ladder(PictureSource(SCENARIO), 40)
