"""`python -m benchmarks.rows`: lost updates row by row and in the mean field, time and memory."""

import resource
import subprocess
import sys
import time

from cprsim.rows.exact import play
from cprsim.rows.lost import LostShare
from cprsim.rows.meanfield import TRACKERS, MeanField, TrackerName
from cprsim.rows.popularity import zipf
from cprsim.rows.skew import Skew
from cprsim.rows.trackers import MFU, SSU

#: Rows of Criteo Kaggle's seven largest tables, and of the 19 others together
#: (facebookresearch/dlrm, tools/visualize.py).
_TRACKED = (10_131_227, 8_351_593, 7_046_547, 5_461_306, 2_202_608, 286_181, 142_572)
_REST = 33_762_577 - sum(_TRACKED)
#: Samples of the data set, times the share of CPR's emulated job that is one interval.
_UPDATES = 39_291_958 * 44.8 / 56
_FRACTION = 1 / 8
_BATCH = 2048


def main() -> None:
    for tracker in ("mfu", "ssu"):
        # A process of its own, so that its peak of memory is its own.
        subprocess.run([sys.executable, "-m", "benchmarks.rows", tracker], check=True)
    mean_field()


def kaggle(tracker: TrackerName) -> None:
    """One interval of Criteo Kaggle, Zipf 0.95, all rows: played, beside its expectation."""
    start = time.perf_counter()
    played = [_table(rows, tracker) for rows in _TRACKED]
    # The small tables are saved whole each time: nothing of them is left, whatever was accessed.
    whole = LostShare.expected(_FRACTION, 0 * played[0].after)
    updates = [1.0] * len(_TRACKED) + [26.0 - len(_TRACKED)]
    exact = LostShare.together([*played, whole], updates).relative(1)
    exact_s, start = time.perf_counter() - start, time.perf_counter()
    fields = [
        MeanField(zipf(rows, 0.95), _UPDATES, _FRACTION).lost(tracker, 1) for rows in _TRACKED
    ]
    mean = LostShare.together([*fields, whole], updates).relative(1)
    mean_s = time.perf_counter() - start
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(
        f"criteo-kaggle, {sum(_TRACKED) + _REST:,} rows, {tracker}: {exact:.4f} in {exact_s:.1f} s "
        f"and {peak_gb:.2f} GB row by row (target 60 s, 2 GB), {mean:.4f} in {mean_s:.3f} s in the "
        f"mean field, {exact_s / mean_s:,.0f} times as fast"
    )


def mean_field() -> None:
    """A billion rows over one interval and in the long run, beside ten thousand."""
    for tracker in TRACKERS:
        seconds = {rows: _mean_field_s(tracker, rows) for rows in (10**9, 10**4)}
        print(
            f"mean field, 1e9 rows, {tracker}: {seconds[10**9]:.4f} s (target 0.1 s), "
            f"{seconds[10**9] / seconds[10**4]:.1f} times 1e4 rows"
        )


def _table(rows: int, tracker: str) -> LostShare:
    return play(
        zipf(rows, 0.95),
        MFU(rows) if tracker == "mfu" else SSU(rows, round(_FRACTION * rows), seed=0),
        updates=_UPDATES,
        fraction=_FRACTION,
        saves=round(1 / _FRACTION),
        seed=0,
        batch=None if tracker == "mfu" else _BATCH,
    ).updates


def _mean_field_s(tracker: TrackerName, rows: int) -> float:
    """Seconds with everything in them, popularity too; the best of five."""
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
    if sys.argv[1:]:
        kaggle("mfu" if sys.argv[1] == "mfu" else "ssu")
    else:
        main()
