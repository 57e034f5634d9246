"""`judge`: by hand, beside SciPy's paired t-test, and where it has to leave things open."""

import math

import numpy as np
import pytest
from scipy import stats

from cprsim.runs.selection.bounds import RESTARTS, Bound
from cprsim.runs.selection.certificate import certify, judge
from cprsim.runs.selection.samples import PairedMoments, PairedSample
from tools.validation.worlds import judged, two_rare

PLS = Bound("pls", 0.02)


def sample(*objective, bounded=None, failures=1.0, **more):
    """Rows of replications, repeated twenty times."""
    values = np.tile(np.array(objective, float), 20)
    bounds = np.zeros((len(values), 0, values.shape[1]))
    if bounded is not None:
        bounds = np.tile(np.array(bounded, float), 20)[:, None, :]
    return PairedSample(values, bounds, np.full(values.shape, float(failures)), **more)


def test_a_margin_by_hand():
    # Differences 1, 2, 3 %, 20 times each: mean 2, standard deviation 0.8165 sqrt(60 / 59); a third
    # of them is the median, so 40 differ: t(39, 0.975) = 2.022691 (tables).
    found = judge(sample([0.11, 0.22, 0.33], [0.10, 0.20, 0.30]), ())
    (rival,) = found.rivals

    assert (found.verdict, found.best, found.kept, found.why) == ("best", 1, (True, True), None)
    assert (rival.candidate, rival.standing) == (0, "worse")
    half = 0.01 * math.sqrt(2 / 3) / math.sqrt(59) * 2.022691
    assert (rival.margin, rival.low, rival.high) == pytest.approx((0.02, 0.02 - half, 0.02 + half))


@pytest.mark.parametrize("others", [1, 2, 5])
def test_intervals_beside_scipys_paired_t_test(others):
    rng = np.random.default_rng(others)
    half = rng.normal(0, 0.02, (others + 1, 40))
    noise = np.concatenate([half, -half], axis=1)  # not skewed
    values = rng.gamma(2.0, 0.05, 80) + noise + 0.01 * np.arange(others + 1)[::-1, None]
    found = judge(PairedSample(values, np.zeros((others + 1, 0, 80)), np.ones(values.shape)), ())

    assert found.best == values.mean(axis=1).argmin()
    for rival in found.rivals:
        test = stats.ttest_rel(values[rival.candidate], values[found.best])
        interval = test.confidence_interval(1 - 0.05 / others)
        assert (rival.low, rival.high) == pytest.approx(tuple(interval))
    margins = [rival.margin for rival in found.rivals]
    assert margins == sorted(margins)


def test_what_a_timeline_does_to_all_cancels():
    found = judge(sample([0.119, 10.02, 0.521], [0.1, 10.0, 0.5]), ())

    assert found.verdict == "best"
    assert found.rivals[0].high - found.rivals[0].low < 0.01


def test_candidates_that_never_differ_are_the_same_and_the_first_is_the_best():
    found = judge(sample([0.1, 0.2], [0.1 + 1e-12, 0.2], [0.3, 0.5]), ())

    assert (found.verdict, found.best, found.same, found.tied) == ("best", 0, (1,), ())
    assert found.runner_up.candidate == 2


def test_rounding_is_a_share_of_large_objectives():
    found = judge(sample([1e6, 2e6], [1e6 + 1e-4, 2e6 + 1e-4]), ())

    assert (found.best, found.same) == (0, (1,))


def test_nobody_better_by_more_than_within_is_a_tie():
    values = [0.1, 0.2], [0.1004, 0.1997]  # differences 0.0004 and -0.0003, mean 0.00005

    tied, sharp = judge(sample(*values), ()), judge(sample(*values), (), within=0.0)
    assert (tied.verdict, tied.best, tied.tied, tied.why) == ("tied", 0, (1,), None)
    assert tied.rivals[0].low < 0 < tied.rivals[0].high < tied.within
    assert (sharp.verdict, sharp.why, sharp.tied) == ("undecided", "margin", (1,))


def test_replications_without_failures_decide_nothing_unless_none_can_happen():
    values = [0.02, 0.02], [0.01, 0.01]

    lucky = judge(sample(*values, failures=0), ())
    assert (lucky.verdict, lucky.why, lucky.met, lucky.needed) == ("undecided", "failures", 0, 800)
    assert (lucky.rivals[0].low, lucky.rivals[0].high) == (-math.inf, math.inf)
    safe = judge(sample(*values, failures=0, can_fail=False), ())
    assert (safe.verdict, safe.best) == ("best", 1)
    twins = judge(sample(values[0], values[0], failures=0), ())
    assert (twins.verdict, twins.same) == ("undecided", ())


def test_one_replication_decides_nothing_unless_nothing_can_fail():
    once = np.array([[0.2], [0.1]]), np.zeros((2, 0, 1))

    assert judge(PairedSample(*once, np.ones((2, 1))), ()).why == "failures"
    assert judge(PairedSample(*once, np.zeros((2, 1)), can_fail=False), ()).best == 1


def test_the_dearer_of_two_is_not_called_best_for_luck():
    # The review's case: 42 of 60 at 30 replications, 16 of 60 at 100 were called clear.
    for count in (10, 30, 100, 300):
        assert judged("two_rare", count, 60)["undecided"] == 60
    later = judged("two_rare", 3000, 60)
    assert later["undecided"] < 10
    assert later["wrong best"] == later["wrong"] == 0


# 300 worlds each: of a rate of 5 %, more than 30 are met once in 30,000.
@pytest.mark.parametrize("kind", ["two_rare", "equal", "near", "skewed", "bounded"])
@pytest.mark.parametrize("count", [30, 300])
def test_wrong_bests_are_5_percent_at_most(kind, count):
    found = judged(kind, count, 300, seed=1)

    assert found["wrong best"] <= 30
    assert found.total() == 300


# Bounds


def test_a_bound_that_may_be_kept_leaves_the_best_open():
    """PLS 0.0206 for a bound of 0.02, and the dearer candidate isn't called best."""
    values, pls = ([0.02, 0.03], [0.01, 0.02]), ([0.0, 0.0], [0.0146, 0.0266])
    found = judge(sample(*values, bounded=pls), [PLS])
    (doubt,) = found.doubts

    assert (found.verdict, found.why, found.best) == ("undecided", "bound", 0)
    assert found.kept == (True, None)
    assert (doubt.candidate, doubt.bound, doubt.mean) == (1, PLS, pytest.approx(0.0206))
    assert doubt.low < 0.02 < doubt.high
    assert judge(sample(*values, bounded=pls), [Bound("pls", 0.025)]).best == 1
    broken = judge(sample(*values, bounded=pls), [Bound("pls", 0.015)])
    assert (broken.verdict, broken.kept, broken.rivals) == ("best", (True, False), ())


def test_who_may_keep_to_a_bound_is_no_matter_where_it_is_surely_worse():
    found = judge(sample([0.02, 0.03], [0.05, 0.06], bounded=([0.0, 0.0], [0.0146, 0.0266])), [PLS])

    assert (found.verdict, found.best, found.kept, found.doubts) == ("best", 0, (True, None), ())


def test_nobody_within_the_bounds():
    found = judge(sample([0.1, 0.2], bounded=[[0.5, 0.6]]), [PLS])

    assert (found.verdict, found.best, found.kept) == ("none", None, (False,))


def test_a_single_loss_breaks_a_bound_of_0():
    lost = np.zeros((1, 1, 40))
    lost[0, 0, 7] = 1e-4
    never = PairedSample(np.ones((1, 40)), lost, np.ones((1, 40)))

    assert judge(never, [Bound("pls", 0.0)]).verdict == "none"
    assert judge(PairedSample(np.ones((1, 40)), 0 * lost, np.ones((1, 40))), [PLS]).kept == (True,)


def test_who_recovers_without_loss_keeps_to_a_bound_whatever_it_met():
    nothing = np.ones((1, 5)), np.zeros((1, 1, 5)), np.zeros((1, 5))

    assert judge(PairedSample(*nothing), [PLS]).why == "failures"
    kept = judge(PairedSample(*nothing, lossless=np.array([True])), [PLS])
    assert (kept.verdict, kept.kept) == ("best", (True,))


# What no replication met


def test_an_event_that_was_not_met_widens_margins_by_the_rule_of_three():
    rng = np.random.default_rng(6)
    values = rng.normal(0, 0.001, (3, 1000)) + np.array([[0.01], [0.02], [0.05]])
    rows = values, np.zeros((3, 0, 1000)), np.ones(values.shape)
    plain = judge(PairedSample(*rows), ())
    wider = judge(PairedSample(*rows, unmet=np.array([1.0, 0.0, 0.5])), ())

    # 1 - 2.5 % / 2 not to be met in 1,000: about 4.4 in 1,000.
    chance = -math.log(0.0125) / 1000
    assert (1 - chance) ** 1000 == pytest.approx(0.0125, rel=0.01)
    for one, other, unmet in zip(plain.rivals, wider.rivals, (0.0, 0.5), strict=True):
        assert other.low == pytest.approx(one.low - chance)
        assert other.high == pytest.approx(one.high + chance * unmet)
    assert [each.standing for each in wider.rivals] == ["worse", "worse"]
    few = judge(PairedSample(*(each[..., :300] for each in rows), unmet=np.array([1.0, 0, 0])), ())
    assert (few.verdict, few.why, few.tied) == ("undecided", "margin", (1,))
    twins = judge(PairedSample(*(each[[0, 0]] for each in rows), unmet=np.array([1.0, 1.0])), ())
    assert twins.same == (1,)


def test_who_starts_anew_in_few_runs_is_not_called_best_before_that_is_seen():
    for count in (100, 1000, 3000):
        assert judged("restarted", count, 100)["wrong best"] == 0


# Looks, moments, mistakes


def test_each_look_has_its_part_of_the_chance():
    """Of two looks the first has half of what may go wrong."""
    pair = sample([0.1, 0.2], [0.12, 0.19])
    one, half = judge(pair, ()), judge(pair, (), confidence=0.975)
    count = pair.replications
    of_two = next(certify(lambda *_: pair, 2, (), first=count, most=2 * count))

    assert of_two.replications == count
    assert of_two.rivals == half.rivals
    assert of_two.rivals[0].low < one.rivals[0].low


def test_moments_tell_what_the_replications_told():
    rng = np.random.default_rng(4)
    values = rng.normal(0, 0.1, (3, 20_000)) + np.array([[0.1], [0.0], [0.004]])
    apart = values[:, None] - values
    means = apart.mean(axis=2)
    moments = PairedMoments(
        20_000, values.mean(axis=1), means,
        ((apart - means[..., None]) ** 2).sum(axis=2), np.ones(3),
    )  # fmt: skip
    rows = PairedSample(values, np.zeros((3, 0, 20_000)), np.ones(values.shape))
    found, exact = judge(moments, ()), judge(rows, ())

    assert (found.verdict, found.best) == (exact.verdict, exact.best) == ("best", 1)
    for one, other in zip(found.rivals, exact.rivals, strict=True):
        assert (one.candidate, one.standing) == (other.candidate, other.standing)
        # They know nothing of skewness.
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=0.01)
    few = PairedMoments(20_000, moments.means, means, moments.squares, np.full(3, 0.0005))
    assert judge(few, ()).why == "failures"


def test_moments_of_few_replications_have_scipys_intervals():
    values = np.random.default_rng(5).normal(0, 0.1, (2, 60))
    apart = values[:, None] - values
    squares = ((apart - apart.mean(axis=2)[..., None]) ** 2).sum(axis=2)
    moments = PairedMoments(60, values.mean(axis=1), apart.mean(axis=2), squares, np.ones(2))
    found = moments.differences(0, [1], miss=0.05)

    exact = stats.ttest_rel(values[1], values[0]).confidence_interval(0.95)
    assert (*found.low, *found.high) == pytest.approx(tuple(exact))


def test_a_rival_in_place_of_the_best_by_hand():
    found = judge(sample([0.10, 0.20], [0.1005, 0.1996], [0.13, 0.25]), (), within=0.001)
    tied, worse = found.rivals
    other = found.against(tied)

    assert (found.best, tied.candidate, tied.standing) == (0, 1, "tied")
    assert (other.best, [each.candidate for each in other.rivals]) == (1, [0, 2])
    before, dearer = other.rivals
    assert (before.margin, before.low, before.high) == (-tied.margin, -tied.high, -tied.low)
    assert dearer.margin == pytest.approx(worse.margin - tied.margin)
    # Each of the two intervals may be off, so they add up.
    assert dearer.high - dearer.low == pytest.approx(
        (worse.high - worse.low) + (tied.high - tied.low)
    )
    assert (before.standing, dearer.standing) == ("tied", "worse")


def test_only_the_open_one_of_two_bounds_is_in_doubt():
    # The first candidate surely meets the first bound, and may meet the second.
    kept, may = np.full((2, 20), 0.001), np.tile([0.018, 0.024], (2, 10))
    values = np.tile([[0.1, 0.2], [0.2, 0.3]], 10)
    both = PairedSample(values, np.stack([kept, may], axis=1), np.ones(values.shape))
    found = judge(both, [PLS, Bound("updates_lost", 0.02)])

    assert found.kept[0] is None
    assert {each.bound.measure for each in found.doubts} == {"updates_lost"}


def test_two_rare_is_the_case_that_was_reviewed():
    world = two_rare(np.random.default_rng(0))

    assert 1 - math.exp(-world.rate) == pytest.approx(0.02)
    assert world.quiet[0] > world.quiet[1]
    assert world.means[0] < world.means[1]


def test_a_run_at_the_limit_of_a_percentile_is_within_it():
    measures = {"failures": np.array([1.0, 2.0, 3.0])}

    assert Bound(RESTARTS, 2).counted(measures).tolist() == [False, False, True]
