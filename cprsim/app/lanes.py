"""One run under each policy, on the same failures: what the job does when."""

from typing import Any, Final

from cprsim.contract.ledger import overhead
from cprsim.errors import RunError
from cprsim.figures.parts.thinning import BarBlock, merged
from cprsim.history.phases import joined
from cprsim.history.recorder import record
from cprsim.scenario import Scenario

#: Blocks of a bar: what is shorter than one of so many parts of it can't be seen.
_PARTS: Final = 700


def lane(scenario: Scenario, policy: str, seed: int, replication: int) -> dict[str, Any]:
    """One run under a policy, as blocks that are no thinner than can be seen.

    Each block is its start and end in seconds of the wall clock, and the seconds of it by cause.
    """
    try:
        history = record(scenario, policy, seed, replication)
    except RunError as error:
        return {"policy": policy, "fault": str(error)}
    wall_s = history.ledger.wall
    blocks = [BarBlock(each.start_s, each.end_s, each.seconds()) for each in joined(history.phases)]
    return {
        "policy": policy,
        "wall_s": wall_s,
        "overhead": overhead(wall_s, scenario.job.useful_time_s),
        "blocks": merged(blocks, wall_s / _PARTS),
        "failures_s": [each.at_s for each in history.failures],
    }
