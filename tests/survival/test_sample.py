import math

import numpy as np
import pytest

from cprsim.errors import LogError
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Sample
from tests.survival.cases import MIXED


def test_counts_and_means():
    assert (MIXED.n, MIXED.failures, MIXED.censored) == (30, 19, 11)
    assert MIXED.mtbf_s == pytest.approx(310.4 / 19, rel=1e-12)


def test_without_failures_there_are_no_means():
    sample = Sample(np.array([3.0, 4.0]), np.array([False, False]))

    assert math.isnan(KaplanMeier.from_sample(sample).median_s)
    assert sample.mtbf_s == math.inf


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_means_do_not_overflow(scale):
    sample = Sample.complete(np.full(10**5, 1e7) * scale)

    assert sample.mtbf_s == pytest.approx(1e7 * scale, rel=1e-9)


def test_a_sample_keeps_its_own_copies():
    durations = np.array([1.0, 2.0])
    sample = Sample.complete(durations)
    durations[0] = 7.0

    assert sample.durations_s.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        sample.durations_s[0] = 3.0
    with pytest.raises(ValueError, match="read-only"):
        sample.observed[0] = False


NOT_POSITIVE = (
    "; durations are finite and longer than 0 s "
    "(drop the gaps between simultaneous failures, or merge those failures)"
)


@pytest.mark.parametrize(
    ("durations", "text"),
    [
        ([1.0, 0.0], "durations_s[1] is 0"),
        ([1.0, 2.0, -3.5], "durations_s[2] is -3.5"),
        ([math.nan], "durations_s[0] is nan"),
        ([math.inf], "durations_s[0] is inf"),
    ],
)
def test_durations_are_positive(durations, text):
    with pytest.raises(LogError) as caught:
        Sample.complete(durations)

    assert str(caught.value) == text + NOT_POSITIVE
