"""Samples that several tests share, and the real data, which stand outside the repository."""

import csv
import gzip
from collections import defaultdict
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from cprsim.basics.distributions import Distribution
from cprsim.failures.logs.traces import read_lanl
from cprsim.survival.sample import Sample

SHARED = Path(__file__).parents[2] / "../shared/data"
LANL = SHARED / "lanl_failures/lanl_dev_systems_3_4_5_6_8_18_20.csv.gz"
TITAN = SHARED / "titan_gpu/gc_summary_loc.csv.gz"
GRID5000 = SHARED / "grid5000_fta/g5k_dev_site3_c1.tab.gz"
STEPFUN = SHARED / "stepfun_faults/fault_trace_dev.json.gz"
needs_lanl = pytest.mark.skipif(not LANL.exists(), reason=f"needs {LANL}")
needs_titan = pytest.mark.skipif(not TITAN.exists(), reason=f"needs {TITAN}")
needs_grid5000 = pytest.mark.skipif(not GRID5000.exists(), reason=f"needs {GRID5000}")
needs_stepfun = pytest.mark.skipif(not STEPFUN.exists(), reason=f"needs {STEPFUN}")
HOUR = 3600.0


def marked(text: str) -> Sample:
    """Durations as in a textbook, a + behind the censored ones."""
    words = text.split()
    durations = np.array([float(word.rstrip("+")) for word in words])
    return Sample(durations, np.array([not word.endswith("+") for word in words]))


#: Millions of turns until 23 ball bearings failed (Lieblein and Zelen 1956).
BEARINGS = marked(
    "17.88 28.92 33.00 41.52 42.12 45.60 48.48 51.84 51.96 54.12 55.56 67.80 68.64 68.64 68.88 "
    "84.12 93.12 98.64 105.12 105.84 127.92 128.04 173.40"
)
#: Thousands of miles until 37 of 96 locomotive controls failed; the rest ran 135 (Nelson 1982).
CONTROLS = marked(
    "22.5 37.5 46.0 48.5 51.5 53.0 54.5 57.5 66.5 68.0 69.5 76.5 77.0 78.5 80.0 81.5 82.0 83.0 "
    "84.0 91.5 93.5 102.5 107.0 108.5 112.5 113.5 116.0 117.0 118.5 119.0 120.0 122.5 123.0 127.5 "
    "131.0 132.5 134.0" + 59 * " 135+"
)
#: Made up: Weibull 0.7 times, censored at times that are exponential; ties among them.
MIXED = marked(
    "53.3 13.3 9.2+ 8.1 0.1 6.1 10.6 0.9 0.3 11.0+ 11.3+ 9.2+ 2.4 40.2+ 0.4+ 17.0+ 2.8+ 0.6 6.1 "
    "8.9 18.0+ 0.2 1.1 12.1+ 4.5 11.9 25.6 0.2 24.9+ 0.1"
)
#: Weeks in remission of 21 leukaemia patients on 6-MP (Freireich et al. 1963).
REMISSIONS = marked("6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+")

#: Made up: Weibull 1.6 lives of 40 parts, months; from which age each was watched, until which,
#: and whether it failed then.
ENTRY = np.array(
    [
        *(0.0, 0.0, 19.0, 24.4, 0.0, 0.0, 17.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 15.0, 5.9, 16.0),
        *(3.2, 6.5, 0.0, 0.0, 14.0, 13.4, 0.0, 0.0, 0.0, 10.0, 0.0, 0.0, 20.7, 13.1, 0.0, 4.4),
        *(0.0, 11.3, 0.0, 0.0, 0.0, 3.2, 19.7, 3.5),
    ]
)
T = np.array(
    [
        *(19.6, 12.9, 28.2, 33.9, 21.6, 7.3, 27.4, 23.1, 21.4, 16.6, 11.9, 9.9, 23.8, 20.6, 26.5),
        *(33.3, 9.3, 14.7, 26.2, 21.7, 24.0, 31.8, 5.5, 14.7, 14.8, 17.3, 19.1, 23.6, 32.0, 32.4),
        *(19.6, 27.1, 10.9, 21.2, 18.4, 8.4, 27.0, 12.5, 24.9, 26.5),
    ]
)
D = np.zeros(40, bool)
D[[1, 2, 3, 4, 9, 13, 15, 16, 32, 35, 39]] = True
PARTS = Sample(T, D, ENTRY)


def spread_of(law: Distribution) -> float | None:
    """Shape or cv, whichever the law has."""
    return law.shape if law.cv is None else law.cv


def lanl_gaps(system: int, *window: float) -> Sample:
    """Times between failures anywhere in a LANL system; those at one minute count as one."""
    log = read_lanl(LANL, system)
    gaps = np.diff((log.part(window) if window else log).times_s)
    return Sample.complete(gaps[gaps > 0])


def lanl_uptimes(system: int) -> Sample:
    """How long nodes of a LANL system ran from a repair to their next failure.

    Failures of a node that overlap are one outage. The last uptime of each is censored at the end
    of the observation: the last repair of any system in the file. Nodes that never failed, and
    the uptime before the first failure, aren't counted: when they were first switched on is only
    known to the month. `FailureLog` has no repairs, so the raw file is read.
    """
    outages, end = defaultdict(list), datetime.min
    with gzip.open(LANL, "rt", encoding="latin-1") as file:
        for row in csv.DictReader(file):
            start, stop = (
                datetime.strptime(row[name].strip(), "%m/%d/%Y %H:%M")
                for name in ("Prob Started", "Prob Fixed")
            )
            end = max(end, stop)
            if int(row["System"]) == system:
                outages[row["nodenumz"]].append((start, stop))
    uptimes = []
    for mine in outages.values():
        repaired = None
        for start, stop in sorted(mine):
            if repaired is not None and start > repaired:
                uptimes.append(((start - repaired).total_seconds(), True))
            repaired = stop if repaired is None else max(repaired, stop)
        uptimes.append(((end - repaired).total_seconds(), False))
    durations, observed = zip(*uptimes, strict=True)
    return Sample(np.array(durations), np.array(observed))


def titan_lives(batch: str) -> Sample:
    """How long the Titan GPUs of a batch lived, or had lived when the machine was switched off."""
    with gzip.open(TITAN, "rt") as file:
        lives = [
            (float(row["time"]), row["dead"] == "TRUE")
            for row in csv.DictReader(file)
            if row["batch"] == batch
        ]
    durations, observed = zip(*lives, strict=True)
    return Sample(np.array(durations), np.array(observed))
