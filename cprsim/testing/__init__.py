"""For tests of policies and of row trackers, in this project and in yours; needs pytest.

`assert_time_adds_up` checks a run's ledger, `play` makes one run, `Recording` observes it, and
`change_future` changes its failures from some second on. `TrackerConformance` is a suite of tests
for row trackers, and `PolicyConformance` one that every policy passes, shipped or your own:

    # test_mine.py
    from cprsim.testing import PolicyConformance

    class TestMine(PolicyConformance):
        policy = {"system": "mine", "patience": "10 min"}

where `mine` is known by its entry point, or by `cprsim.register`; see docs/write-a-policy.md.
"""

from cprsim.sim.engine import play
from cprsim.testing.accounts import Recording, assert_time_adds_up
from cprsim.testing.conformance import PolicyConformance
from cprsim.testing.futures import change_future
from cprsim.testing.tracker_conformance import TrackerConformance

__all__ = [
    "PolicyConformance",
    "Recording",
    "TrackerConformance",
    "assert_time_adds_up",
    "change_future",
    "play",
]
