"""The batch engine beside `cprsim.sim`, replication by replication."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cprsim.batch import engine as batch
from cprsim.errors import RunError
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from cprsim.sim.engine import COLUMNS
from cprsim.testing import Recording
from cprsim.testing.accounts import differences
from tools.handed_over import Values, watching


def compare(
    tables: dict[str, Any], seen: Counter[str], replications: Sequence[int], seed: int = 0
) -> None:
    """Hold the two engines to the same ledgers, or the same error, and note what happened."""
    scenario = Scenario(**tables)
    seen["scenarios"] += 1
    for policy in scenario.policies:
        if batch.why_unsupported(scenario, policy) is None:
            _compare(scenario, policy, seen, replications, seed)
        else:
            seen["unfit"] += 1


def _compare(
    scenario: Scenario, policy: str, seen: Counter[str], replications: Sequence[int], seed: int
) -> None:
    seen["policies"] += 1
    seen[scenario.policies[policy].system] += 1
    with watching() as masks:
        found = _played(batch.simulate, scenario, policy, replications, seed)
    if isinstance(found, str):
        assert found == _played(sim.simulate, scenario, policy, replications, seed)
        seen["hopeless"] += 1
        return
    seen["runs"] += len(replications)
    seen["handed over"] += sum(int(mask.sum()) for mask in masks)
    for row, replication in zip(found, replications, strict=True):
        recording = Recording()
        ledger = sim.play(scenario, policy, seed, replication, recording)
        expected = np.array([getattr(ledger, column) for column in COLUMNS])
        note(recording, expected, seen)
        assert differences(row, expected) == {}


def note(run: Recording, ledger: Values, seen: Counter[str]) -> None:
    """Count what happened in a run."""
    struck = {at_s for at_s, _ in run.failures}
    in_a_row = 0
    for span in run.spans:
        cut = span.end_s in struck
        if span.cause in ("train", "save"):
            in_a_row = 0
            seen[f"failures in a {span.cause}"] += cut
        elif span.cause == "load":
            in_a_row = in_a_row + 1 if cut else 0
            seen["failures while loading"] += cut
            seen["three in a row while loading"] += in_a_row == 3
    seen["failures of several servers"] += sum(len(hit.servers) > 1 for _, hit in run.failures)
    seen["failures of trainers alone"] += sum(not hit.servers for _, hit in run.failures)
    for name in ("failures", "absorbed", "saves"):
        seen[name] += int(ledger[COLUMNS.index(name)])
    seen["runs that lose learning"] += ledger[COLUMNS.index("updates_lost")] > 0


def _played(
    simulate: Callable[[Scenario, Sequence[str], Sequence[int], int], Values],
    scenario: Scenario,
    policy: str,
    replications: Sequence[int],
    seed: int,
) -> Values | str:
    """Ledgers, or the error that came instead."""
    try:
        return simulate(scenario, [policy], replications, seed)[:, 0]
    except RunError as error:
        return str(error)
