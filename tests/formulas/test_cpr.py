"""CPR's first-order forms against the calibrated sets of the notes on CPR, section 1.9.

The sets are fitted to the paper's abstract (8.5 -> 0.53 %, 8.2 -> 0.68 %) with an MTBF of 28 h,
8 servers and a target PLS of 0.1, so these are regression values and no independent evidence.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.contract import rules
from cprsim.formulas.intervals import young_interval_s
from cprsim.formulas.pls import expected_pls, pls_interval_s
from tests.formulas.forms import full_overhead, partial_overhead

MINUTE = 60.0
HOUR = 3600.0
DAY = 86_400.0

KAGGLE = (5.62 * MINUTE, 5.39 * MINUTE)  # one save; load + reschedule
TERABYTE = (4.99 * MINUTE, 8.31 * MINUTE)


def percentages(costs, mtbf_s, servers, servers_hit=1.0):
    """Full recovery, partial recovery at the same interval, and CPR, in % of the useful time."""
    save_s, recovery_s = costs
    full_s = young_interval_s(save_s, mtbf_s)
    cpr_s = pls_interval_s(0.1, mtbf_s, servers, servers_hit)
    return [
        100 * share
        for share in (
            full_overhead(full_s, save_s, recovery_s, mtbf_s),
            partial_overhead(full_s, save_s, recovery_s, mtbf_s),
            partial_overhead(cpr_s, save_s, recovery_s, mtbf_s),
        )
    ]


@pytest.mark.parametrize(
    ("costs", "full", "naive", "cpr"), [(KAGGLE, 8.50, 4.41, 0.530), (TERABYTE, 8.20, 4.35, 0.680)]
)
def test_calibrated_sets(costs, full, naive, cpr):
    found = percentages(costs, 28 * HOUR, servers=8)
    assert found[:2] == pytest.approx([full, naive], abs=0.005)
    assert found[2] == pytest.approx(cpr, abs=0.0005)


def test_cpr_cuts_the_overhead_by_the_abstracts_share():
    # 1 - .53/8.5 and 1 - .68/8.2
    for costs, cut in ((KAGGLE, 93.8), (TERABYTE, 91.7)):
        full, _, cpr = percentages(costs, 28 * HOUR, servers=8)
        assert 100 * (1 - cpr / full) == pytest.approx(cut, abs=0.05)


@pytest.mark.parametrize(
    ("servers", "mtbf_h", "full", "naive", "cpr"),
    [
        (8, 28.0, 8.50, 4.41, 0.530),
        (16, 14.0, 12.21, 6.43, 0.851),
        (18, 12.44, 12.99, 6.86, 0.931),
        (32, 7.0, 17.64, 9.46, 1.492),
        (64, 3.5, 25.70, 14.13, 2.776),
        (128, 1.75, 37.85, 21.49, 5.342),
    ],
)
def test_server_counts_with_an_mtbf_inverse_to_them(servers, mtbf_h, full, naive, cpr):
    mtbf_s = 28 * HOUR * 8 / servers
    assert mtbf_s / HOUR == pytest.approx(mtbf_h, abs=0.005)
    found = percentages(KAGGLE, mtbf_s, servers)
    assert found[:2] == pytest.approx([full, naive], abs=0.0055)
    assert found[2] == pytest.approx(cpr, abs=0.001)


@pytest.mark.parametrize(
    ("servers", "mtbf_h", "full", "naive", "cpr"),
    [
        (8, 28.0, 8.50, 4.41, 0.530),
        (16, 14.25, 12.09, 6.36, 0.836),
        (18, 12.73, 12.84, 6.77, 0.910),
        (32, 7.39, 17.14, 9.18, 1.414),
        (64, 3.96, 24.01, 13.14, 2.452),
        (128, 2.27, 32.71, 18.34, 4.124),
    ],
)
def test_server_counts_with_independent_nodes(servers, mtbf_h, full, naive, cpr):
    # The p that gives 28 h with 8 nodes; the notes print it rounded, as 0.004536 an hour.
    p = 1 - (1 - 1 / 28) ** (1 / 8)
    assert p == pytest.approx(0.004536, abs=5e-7)
    mtbf_s = HOUR / (1 - (1 - p) ** servers)
    assert mtbf_s / HOUR == pytest.approx(mtbf_h, abs=0.005)
    found = percentages(KAGGLE, mtbf_s, servers)
    assert found[:2] == pytest.approx([full, naive], abs=0.0055)
    assert found[2] == pytest.approx(cpr, abs=0.001)


@pytest.mark.parametrize(
    ("failures", "full", "cpr"),
    [
        (1, "5.94", "0.27"),
        (2, "8.50", "0.53"),
        (4, "12.21", "1.06"),
        (8, "17.64", "2.12"),
        (20, "29.1", "5.30"),
        (40, "43.0", "10.6"),
    ],
)
def test_failure_counts_in_56_h(failures, full, cpr):
    found = percentages(KAGGLE, 56 * HOUR / failures, servers=8)
    for value, printed in ((found[0], full), (found[2], cpr)):
        half_digit = 0.5 * 10.0 ** -len(printed.partition(".")[2])
        assert value == pytest.approx(float(printed), abs=1.02 * half_digit)


@pytest.mark.parametrize(("failures", "cpr"), [(2, 1.16), (20, 11.6), (40, 23.1)])
def test_half_of_the_servers_hit_at_once(failures, cpr):
    full, _, found = percentages(KAGGLE, 56 * HOUR / failures, servers=8, servers_hit=4)
    assert found == pytest.approx(cpr, abs=0.05)
    assert found < full  # the decision rule, E7, still picks partial recovery


@given(save_s=st.floats(0.1, 1e3), recovery_s=st.floats(0.0, 1e4), mtbf_s=st.floats(1e3, 1e7))
def test_optimal_full_recovery_spends_as_much_on_saving_as_on_lost_work(save_s, recovery_s, mtbf_s):
    interval_s = young_interval_s(save_s, mtbf_s)
    full = full_overhead(interval_s, save_s, recovery_s, mtbf_s)
    assert full == pytest.approx(2 * save_s / interval_s + recovery_s / mtbf_s)
    assert full == pytest.approx(math.sqrt(2 * save_s / mtbf_s) + recovery_s / mtbf_s, rel=1e-9)


def test_pec_prints_the_same_form():
    # MoC-System (arXiv 2408.04307): O_save I_total/I_ckpt + faults (O_restart + I_ckpt/2)
    total, interval, save, restart, faults = 10_000.0, 100.0, 0.5, 40.0, 5
    printed = save * total / interval + faults * (restart + interval / 2)
    share = full_overhead(interval, save, restart, total / faults)
    assert share * total == pytest.approx(printed)


def test_expected_pls_of_monolith():
    # arXiv 2209.07663: 0.01 % failures a day on each of 1000 servers, daily snapshots
    assert expected_pls(DAY, DAY / 0.1, 1000) == pytest.approx(5e-5)


@given(
    target=st.floats(1e-4, 1.0),
    mtbf_s=st.floats(1.0, 1e8),
    servers=st.integers(1, 1000),
    share=st.floats(0.01, 1.0),
)
def test_expected_pls_inverts_the_pls_interval(target, mtbf_s, servers, share):
    servers_hit = share * servers
    interval_s = pls_interval_s(target, mtbf_s, servers, servers_hit)
    assert expected_pls(interval_s, mtbf_s, servers, servers_hit) == pytest.approx(target)


def test_expected_pls_is_the_mean_increment_times_the_failures():
    # 2 failures in 56 h, each with a save of mean age half an interval: (E4) of one server of 8
    interval_s = 44.8 * HOUR
    summed = 2 * rules.lost_samples(interval_s / 2, 0.0) / rules.all_samples(56 * HOUR, 8)
    assert summed == pytest.approx(expected_pls(interval_s, 28 * HOUR, servers=8))
    assert summed == pytest.approx(0.1)
