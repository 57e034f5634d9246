"""Restarts that a job needs, beside the number that its launcher allows."""

import math
from typing import Any, Final, NamedTuple

from cprsim.errors import UsageError
from cprsim.runs.result import Result

_SHARES: Final = (0.5, 0.95, 0.99)


class Restarts(NamedTuple):
    """Restarts of a job under one policy: each failure that strikes it takes one.

    `p50`, `p95`, `p99`: percentiles over runs. `within`: the share of runs that need no more than
    `most` restarts; `low`, `high`: its 95 % interval by Clopper and Pearson.
    """

    p50: float
    p95: float
    p99: float
    most: int
    within: float
    low: float
    high: float

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            **{name: getattr(self, name) for name in ("p50", "p95", "p99")},
            "max_restarts": self.most,
            "within": {"mean": self.within, "ci95": [self.low, self.high]},
        }


def check_most(most: int) -> None:
    """Raise `UsageError` for a number of restarts that is below 0 or infinite."""
    if not 0 <= most < math.inf:
        raise UsageError(f"max_restarts {most:g} is out of range: it must be >= 0, e.g. 3")


def restarts(result: Result, most: int) -> dict[str, Restarts]:
    """Return the restarts that each policy of a run needs, beside `most`, by its name.

    Launchers count them so: torchrun's `--max-restarts`, `maxRestarts` of training operators.

    Raises
    ------
    UsageError
        If `most` is negative.
    """
    from scipy.stats import binomtest  # noqa: PLC0415  (slow to import)

    check_most(most)
    found = {}
    for name in result.plans:
        p50, p95, p99 = result.kept.quantiles(name, "failures", _SHARES)
        within = result.kept.count_upto(name, "failures", most)
        ends = binomtest(within, result.count).proportion_ci()
        share = within / result.count
        found[name] = Restarts(p50, p95, p99, most, share, float(ends.low), float(ends.high))
    return found
