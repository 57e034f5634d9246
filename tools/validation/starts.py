"""Jobs of a few gaps under replayed logs, beside their laws from a new and from an old clock."""

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from tools.validation.replayed import PLS, POLICIES, Log, Mean, fitted

#: Useful times in gaps of the log: two are the regime of the CPR paper, 56 h at an MTBF of 28 h.
LENGTHS: Final = (2, 6, 60)
#: Gaps in all jobs of a length together, so that all are as sure.
GAPS: Final = 6000
AGES: Final = ("new", "stationary")
#: What policies cost, and what is lost under one of them.
MEASURES: Final = (*POLICIES, PLS)
_LANL = "lanl_failures/lanl_dev_systems_3_4_5_6_8_18_20.csv.gz"
_GRID = "grid5000_fta/g5k_dev_{}.tab.gz"

#: Logs that have an adequate law, by which the clock of a job has an age: not exponential.
LOGS: Final = (
    *(Log(f"LANL {n}, whole life, 128 nodes", "lanl", _LANL, n) for n in (3, 4, 5)),
    Log("LANL 8, whole life, 164 nodes", "lanl", _LANL, 8),
    Log("LANL 18, whole life, 1,024 nodes", "lanl", _LANL, 18),
    Log("LANL 18, second half, 1,024 nodes", "lanl", _LANL, 18, "0.5:1"),
    Log("LANL 18, second half, 256 of them", "lanl", _LANL, 18, "0.5:1", nodes=256),
    Log("LANL 20, whole life, 512 nodes", "lanl", _LANL, 20),
    Log("LANL 20, second half, 512 nodes", "lanl", _LANL, 20, "0.5:1"),
    Log("LANL 20, second half, 256 of them", "lanl", _LANL, 20, "0.5:1", nodes=256),
    Log(
        "Grid'5000 site3/c1, coalesced within 1 h",
        "fta",
        _GRID.format("site3_c1"),
        coalesce="1 h",
    ),
    Log(
        "Grid'5000 site6/c1, coalesced within 5 min",
        "fta",
        _GRID.format("site6_c1"),
        coalesce="5 min",
    ),
)


class Short(NamedTuple):
    """Jobs of one length: each of `MEASURES` under the log, and under its law by age."""

    replayed: dict[str, Mean]
    by_age: dict[str, dict[str, Mean]]

    def z(self, ages: str, measure: str) -> float:
        """How far the law lies above the log, in standard errors."""
        return self.by_age[ages][measure].z(self.replayed[measure])

    def excess(self, ages: str, measure: str) -> float:
        """How far the law lies above the log, as a share of what the log takes."""
        return self.by_age[ages][measure].share / self.replayed[measure].share - 1


class Starts(NamedTuple):
    """A log's law, in words, and its jobs by their length in gaps."""

    law: str
    adequate: bool
    jobs: dict[int, Short]


@cache
def starts(log: Log, folder: Path) -> Starts:
    """Fit a log and play it and its law at every length."""
    found = fitted(log, folder)
    law, jobs = found.fit.best.law, {}
    for gaps in LENGTHS:
        count = GAPS // gaps
        jobs[gaps] = Short(
            found.overheads(found.trace, gaps, count),
            {each: found.overheads(found.law | {"ages": each}, gaps, count) for each in AGES},
        )
    spread = f"shape {law.shape:.2f}" if law.cv is None else f"cv {law.cv:.2g}"
    return Starts(f"{law.distribution}, {spread}", found.fit.verdict.adequate, jobs)
