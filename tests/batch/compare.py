"""Hold the two drivers of the machine to the same ledgers, bit for bit."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.batch.readiness import refusals
from cprsim.errors import RunError
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from cprsim.sim.engine import COLUMNS

Values = NDArray[np.float64]


def assert_alike(
    scenario: Scenario, replications: Sequence[int], seed: int = 0, policies: Sequence[str] = ()
) -> Counter[str]:
    """Hold both engines to the same ledgers, or the same error, under each policy.

    Returns how many runs and failures were compared, and policies that made no progress.
    """
    from cprsim.batch import engine as batch

    seen = Counter[str]()
    for policy in policies or scenario.policies:
        assert refusals(scenario, [policy])[policy] is None
        found, expected = (
            played(engine, scenario, policy, replications, seed) for engine in (batch, sim)
        )
        if isinstance(found, str) or isinstance(expected, str):
            assert found == expected
            seen["hopeless"] += 1
            continue
        for number, row, other in zip(replications, found, expected, strict=True):
            assert unlike(row, other) == {}, f"{policy}, replication {number}"
        seen["runs"] += len(expected)
        seen["failures"] += int(expected[:, COLUMNS.index("failures")].sum())
    return seen


def played(
    engine: Any, scenario: Scenario, policy: str, replications: Sequence[int], seed: int = 0
) -> Values | str:
    """Return the ledgers of a policy, or the error that came instead."""
    try:
        ledgers: Values = engine.simulate(scenario, [policy], replications, seed)[:, 0]
    except RunError as error:
        return str(error)
    return ledgers


def unlike(found: Values, expected: Values) -> dict[str, tuple[float, float]]:
    """Return the entries of a ledger that differ at all, by name; NaN differs from NaN."""
    pairs = zip(COLUMNS, found.tolist(), expected.tolist(), strict=True)
    return {name: (one, two) for name, one, two in pairs if one != two}
