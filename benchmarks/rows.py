"""`python -m benchmarks.rows`: lost updates of a billion rows in the mean field, in time."""

import time

from cprsim.rows.meanfield import TRACKERS, MeanField, TrackerName
from cprsim.rows.skew import Skew

_FRACTION = 1 / 8


def main() -> None:
    """Print times of a billion rows over one interval and in the long run, and of ten thousand."""
    for tracker in TRACKERS:
        seconds = {rows: _mean_field_s(tracker, rows) for rows in (10**9, 10**4)}
        print(
            f"mean field, 1e9 rows, {tracker}: {seconds[10**9]:.4f} s (target 0.1 s), "
            f"{seconds[10**9] / seconds[10**4]:.1f} times 1e4 rows"
        )


def _mean_field_s(tracker: TrackerName, rows: int) -> float:
    """Return seconds, popularity included, the best of five."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        popularity = Skew.model_validate("dlrm-production").popularity(rows)
        table = MeanField(popularity, 10.0 * rows, _FRACTION)
        table.lost(tracker, 1).relative(1)
        table.long_run(tracker)
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
