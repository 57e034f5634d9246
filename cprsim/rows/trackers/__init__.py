"""Row trackers: choose the rows of an embedding table for the next partial save.

One contract, `Tracker`, and three that keep it: `MFU`, `SSU` and `SCAR` from CPR (Maeng et al.,
MLSys 2021). A tracker watches one table:

    tracker = MFU(rows=10_000_000)
    for batch in batches:
        ...                                # look up and update the rows `batch.ids`
        tracker.observe(batch.ids)
        if save_is_due:
            rows = tracker.select(k)
            ...                            # write those rows
            tracker.saved(rows)

`cprsim.testing.TrackerConformance` is a suite of tests for trackers of your own.
"""

from cprsim.rows.trackers.contract import RowIds, Tracker
from cprsim.rows.trackers.mfu import MFU
from cprsim.rows.trackers.scar import SCAR
from cprsim.rows.trackers.ssu import SSU

__all__ = ["MFU", "SCAR", "SSU", "RowIds", "Tracker"]
