"""Runs worked by hand: failures come at given seconds, and the ledger must have given entries."""

from pathlib import Path
from typing import Any

import pytest

from cprsim.batch import engine as batch
from cprsim.contract.ledger import Ledger
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, play
from cprsim.testing import assert_time_adds_up

#: 1,000 s on 8 servers.
JOB: dict[str, Any] = {
    "job": {"useful_time": "1000 s"},
    "cluster": {"parameter_servers": 8},
    "failures": {"exactly": 0},
}
#: Of policies that save modified rows alone: a save of everything 8 s, a load 16 s.
DIFFERENCES: dict[str, Any] = {"costs": {"save": "8 s", "load": "16 s", "reschedule": "50 s"}}


def log_of(folder: Path, strikes: str) -> dict[str, str]:
    """Return `[failures]` that replays these failures; a node without a severity is lost."""
    header = "time_s,node,severity" if strikes.count(",") > len(strikes.split()) else "time_s,node"
    (folder / "log.csv").write_text("\n".join([header, *strikes.split(), ""]), encoding="utf-8")
    return {"trace": str(folder / "log.csv")}


def job_of(policy: dict[str, Any], **tables: Any) -> Scenario:
    """Return the job above under the policy "p", with tables that are other ones, or more."""
    return Scenario(**JOB | tables, policies={"p": policy})


def played(folder: Path, strikes: str, policy: dict[str, Any], **tables: Any) -> Ledger:
    """Return the ledger of one run of that job with these failures, the same of both engines."""
    failures = tables.pop("failures", {})
    if strikes:
        failures = failures | log_of(folder, strikes)
    scenario = job_of(policy, **tables, failures=failures or JOB["failures"])
    ledger = play(scenario, "p", 0, 0)
    compiled = batch.simulate(scenario, ["p"], [0], 0)[0, 0]
    assert compiled.tolist() == [getattr(ledger, name) for name in COLUMNS]
    assert_time_adds_up(ledger)
    return ledger


def assert_entries(ledger: Ledger, entries: dict[str, float]) -> None:
    """Hold the ledger to these entries, but for the rounding of some sums."""
    found = {name: getattr(ledger, name) for name in entries}
    assert found == pytest.approx(entries, rel=1e-12, abs=1e-12)
