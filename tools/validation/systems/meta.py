"""Meta's MTTF and ETTR at 16,384 GPUs, by simulation (Kokolis et al., HPCA'25)."""

import math
from functools import cache
from typing import Any

from cprsim.scenario import Scenario
from tools.validation.systems.mean import Mean, played, ratio_of
from tools.validation.systems.row import Row

#: 8 GPUs each; RSC-1 has 6.5 failures per 1,000 node-days; a save, and a restart, of 5 min.
NODES, RATE_PER_DAY, SAVE_S = 2048, 6.5e-3, 300.0
#: `sqrt(2 w / (N r))`, 32.9 min.
INTERVAL_S = math.sqrt(2 * SAVE_S * 86_400.0 / (NODES * RATE_PER_DAY))
_SAVES, _REPLICATIONS = 100, 150


@cache
def _runs() -> Any:
    scenario = Scenario(
        # With its last save a job is so many whole cycles, as in the long run.
        job={"useful_time": f"{_SAVES * INTERVAL_S!r} s", "final_save": True},
        cluster={"parameter_servers": NODES},
        costs={"save": f"{SAVE_S} s", "load": "0 s", "reschedule": "5 min"},
        failures={"distribution": "exponential", "mean": f"{1 / RATE_PER_DAY!r} d", "per": "node"},
        policies={"full": {"system": "full", "interval": f"{INTERVAL_S!r} s"}},
    )
    return played(scenario, "full", _REPLICATIONS, seed=18)


def mttf_h() -> Mean:
    """Time in which the job can fail, by failure, h."""
    runs = _runs()
    return ratio_of((runs["wall"] - runs["reschedule"]) / 3600, runs["failures"])


def ettr() -> Mean:
    """Useful over wall time."""
    runs = _runs()
    return ratio_of(runs["train"], runs["wall"])


def rows() -> list[Row]:
    """Every figure of this module."""
    source = "Kokolis et al., HPCA'25"
    mttf, share = mttf_h(), ettr()
    exact = f"the exact value; the first-order formula gives 0.6960; {share.told}"
    return [
        Row("MTTF of 16,384 GPUs", source, "prediction", 1.80, mttf.value, "h", mttf.told),
        Row("ETTR of 16,384 GPUs", source, "prediction", 0.6928, share.value, "share", exact),
    ]
