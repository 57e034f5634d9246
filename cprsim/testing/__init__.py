"""For tests of scenarios and policies, in this project and in yours; needs pytest and Hypothesis.

`durations` and `scenarios` are Hypothesis strategies. `assert_time_adds_up` checks a run's ledger,
`play` makes one run, `Recording` observes it, and `change_future` changes its failures from some
second on. `PolicyConformance` is a suite of tests that every policy passes, shipped or your own:

    # test_mine.py
    from cprsim.testing import PolicyConformance

    class TestMine(PolicyConformance):
        policy = {"system": "mine", "patience": "10 min"}

where `mine` is known by its entry point, or by `cprsim.register`; see docs/write-a-policy.md.
"""

try:
    import hypothesis  # noqa: F401  (asked for here, to say what is missing)
except ImportError as error:
    raise ImportError(
        "cprsim.testing needs pytest and Hypothesis: pip install pytest hypothesis", name=error.name
    ) from error

from cprsim.sim.engine import play
from cprsim.testing.accounts import Recording, assert_time_adds_up
from cprsim.testing.conformance import PolicyConformance
from cprsim.testing.futures import change_future
from cprsim.testing.policies import SYSTEMS
from cprsim.testing.strategies import durations, scenarios
from cprsim.testing.tracker_conformance import TrackerConformance

__all__ = [
    "SYSTEMS",
    "PolicyConformance",
    "Recording",
    "TrackerConformance",
    "assert_time_adds_up",
    "change_future",
    "durations",
    "play",
    "scenarios",
]
