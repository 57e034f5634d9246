"""Runs worked by hand: failures come at given seconds, and the ledger must have given entries."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from cprsim.basics.streams import Cause, stream
from cprsim.batch import engine as batch
from cprsim.contract import Recover
from cprsim.contract.ledger import Ledger
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, play
from cprsim.sim.observer import BackgroundTask
from cprsim.testing import Recording, assert_time_adds_up

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


class Seen(Recording):
    """Also saves in the background, and the tiers and progress that the job returns to."""

    def __init__(self) -> None:
        super().__init__()
        self.returns: list[list[object]] = []

    def answered(self, answer: Recover, progress_s: float, slowdown_s: float) -> None:
        self.returns.append([answer.source, progress_s])

    def background(
        self, task: BackgroundTask, start_s: float, end_s: float, completed: bool
    ) -> None:
        if task.kind == "save":
            self.span("background", start_s, end_s)


def seed_of(saves: str = "", loads: str = "", torn: str = "") -> int:
    """Return a seed whose first saves and loads go so: each second one fails, where it is an x."""
    patterns = {Cause.SAVE_VOID: saves, Cause.LOAD_FAILED: loads, Cause.SAVE_TORN: torn}

    def goes(seed: int, cause: Cause, pattern: str) -> bool:
        rng = stream(seed, 0, cause)
        return all((rng.random() < 0.5) == (each == "x") for each in pattern)

    return next(
        seed for seed in count() if all(goes(seed, *each) for each in patterns.items() if each[1])
    )


def played(
    folder: Path,
    strikes: str,
    policy: dict[str, Any],
    draws: dict[str, str] | None = None,
    **tables: Any,
) -> tuple[Ledger, Seen]:
    """Return the ledger of one run of that job with these failures, and what was seen of it.

    Both engines give the same ledger. `draws`: how the first saves and loads go (`seed_of`).
    """
    failures, seed, seen = tables.pop("failures", {}), seed_of(**draws or {}), Seen()
    if strikes:
        failures = failures | log_of(folder, strikes)
    elif "distribution" not in failures:
        failures = JOB["failures"] | failures
    scenario = job_of(policy, **tables, failures=failures)
    ledger = play(scenario, "p", seed, 0, seen)
    compiled = batch.simulate(scenario, ["p"], [0], seed)[0, 0]
    assert compiled.tolist() == [getattr(ledger, name) for name in COLUMNS]
    assert_time_adds_up(ledger)
    return ledger, seen


def assert_entries(ledger: Ledger, entries: dict[str, float]) -> None:
    """Hold the ledger to these entries, but for the rounding of some sums."""
    found = {name: getattr(ledger, name) for name in entries}
    assert found == pytest.approx(entries, rel=1e-12, abs=1e-12)
