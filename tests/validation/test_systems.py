"""Published figures and exact forms of each system, by simulation: seeds are fixed."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import expm

from tests.formulas.forms import (
    exact_ettr,
    group_survival,
    mttf_s,
    relative_throughput,
    two_level_pattern_s,
    wasted_per_failure_s,
)
from tools.paths import DOCS
from tools.validation.formulas import single_fault_plt
from tools.validation.systems import (
    accepted_loss,
    asynchronous,
    check_n_run,
    ecrm,
    hot_swap,
    meta,
    partial_experts,
    peer_memory,
    replication,
    tiered,
)
from tools.validation.systems.row import Row

# --- Accepted loss: Monolith's sum ------------------------------------------------------------


@pytest.mark.parametrize("days", [10, 100, 400])
def test_what_is_lost_does_not_depend_on_how_long_the_job_is(days):
    lost, failures = accepted_loss.share_lost(days), accepted_loss.failures_in_ten_days(days)

    assert failures.value == pytest.approx(1.0, abs=3 * failures.error)
    assert lost.value == pytest.approx(5e-5, abs=3 * lost.error)
    assert lost.error < 0.05 * lost.value


def test_a_failure_just_before_the_snapshot_loses_a_day_of_15_000_users():
    worst = accepted_loss.days_lost_at_worst()

    assert worst == pytest.approx(1.0, rel=1e-12)
    assert worst * accepted_loss.RATE_PER_DAY == pytest.approx(1e-4, rel=1e-12)  # "0.01 %"
    assert worst * accepted_loss.USERS / accepted_loss.SERVERS == pytest.approx(15_000.0, rel=1e-12)


def test_the_estimate_is_the_sum():
    found = accepted_loss.first_order()

    assert found.updates_lost == pytest.approx(5e-5, rel=1e-9)
    assert found.pls == pytest.approx(5e-5, rel=1e-9)
    assert found.overhead == 0.0


@pytest.mark.parametrize(("days_to_land", "mtbf_days"), [(0.25, 2.0), (0.5, 1.0)])
def test_snapshots_that_take_long_to_land_are_often_void(days_to_land, mtbf_days):
    found, estimate, exact = accepted_loss.late(days_to_land, mtbf_days)

    assert found.value == pytest.approx(exact, abs=3 * found.error)
    # To first order no save is void; what that leaves out is e^(P/M) - 1 days of one shard.
    first_order = (0.5 + days_to_land) / mtbf_days / accepted_loss.SERVERS
    assert estimate.updates_lost == pytest.approx(first_order, rel=1e-9)
    assert found.value > first_order + 3 * found.error


# --- Asynchronous checkpoints ---------------------------------------------------------------------


@pytest.mark.slow
def test_saves_that_land_after_the_next_is_due():
    found = asynchronous.cycle()
    assert found.exact == pytest.approx(47.4067, abs=5e-5)
    assert abs(found.mean - found.exact) <= 3 * found.standard_error


def test_the_rule_keeps_its_bound_and_is_no_rarer_than_it_has_to_be():
    # 0.6 s in 42.86 steps of 0.4 s are 3.5 %; from 20 steps by twos that makes 44.
    found = asynchronous.overhead_percent()
    assert found <= asynchronous.BOUND_PERCENT
    assert found == pytest.approx(100 * 0.6 / (44 * 0.4), rel=2e-3)


# --- Check-N-Run: no tolerance is published -------------------------------------------------------


CHECK_N_RUN = {row.quantity: row for row in check_n_run.rows()}


@pytest.mark.parametrize("quantity", [name for name in CHECK_N_RUN if name.startswith("less ")])
def test_factors_come_within_a_sixth(quantity):
    row = CHECK_N_RUN[quantity]
    assert row.computed == pytest.approx(row.published, rel=1 / 6)


@pytest.mark.parametrize("quantity", [name for name in CHECK_N_RUN if name.startswith("less ")])
def test_the_page_says_what_is_computed(quantity):
    row = CHECK_N_RUN[quantity]
    distance = 100 * (row.computed / row.published - 1)
    figures = f"| {row.published:g} | {row.computed:.1f} | {distance:+.0f} % |"
    assert figures in (DOCS / "systems/check-n-run.md").read_text(encoding="utf-8")


def test_stall_is_below_what_is_recalled():
    row = CHECK_N_RUN["stalled, at most"]
    # 20 saves in 21 intervals: the job ends when the last would be due.
    assert row.computed == pytest.approx(100 * 7 / 1800 * 20 / 21)
    assert row.computed < row.published


def test_the_calibrated_share_is_met_and_the_next_one_predicted():
    assert CHECK_N_RUN["modified in 30 min"].computed == pytest.approx(25.0, abs=1e-5)
    assert CHECK_N_RUN["modified in 10 intervals, at least"].computed > 50


def test_restores_and_writes_of_the_variants_have_the_shape_that_incrcp_reports():
    chain = [check_n_run.kept(8, saves, "consecutive") for saves in (2, 6, 10)]
    shot = [check_n_run.kept(8, saves, "one-shot") for saves in (2, 6, 10)]
    one, other = (after - before for before, after in pairwise(chain))
    assert one == pytest.approx(other)  # as much more for each save
    assert all(
        kept_shot < kept_chain for kept_shot, kept_chain in zip(shot[1:], chain[1:], strict=True)
    )
    assert (
        check_n_run.bandwidth(8, "consecutive")
        > check_n_run.bandwidth(8, "intermittent")
        > check_n_run.bandwidth(8, "one-shot")
    )


# --- ECRec and ECRM -------------------------------------------------------------------------------


ECRM = {row.quantity: row for row in ecrm.rows()}
#: Points that the others of figure 5 leave; see `test_no_save_time_meets_both_intervals`.
OFF_BY_ONE_POINT = {"overhead, 4S, Ckpt-60": 1.03, "overhead, 8S, Ckpt-60": 1.00}
#: Rows and width both doubled: not among the figures that were asked for, and farther off.
WIDE = "overhead, 2S-2D, ECRec, k = 4"


def tolerance(row: Row) -> float:
    """Points, minutes or times."""
    if row.unit == "x":
        return 0.1 * row.published
    if row.unit == "min":
        return max(0.5, 0.1 * row.published)
    return 2.0 if row.quantity.startswith("cut by ECRM") else 0.5


@pytest.mark.parametrize("quantity", sorted({*ECRM} - {*OFF_BY_ONE_POINT, WIDE}))
def test_published(quantity):
    row = ECRM[quantity]
    assert row.computed == pytest.approx(row.published, abs=tolerance(row))


@pytest.mark.parametrize("quantity", OFF_BY_ONE_POINT)
def test_a_save_every_hour_is_off_by_a_point(quantity):
    row = ECRM[quantity]
    assert row.computed - row.published == pytest.approx(OFF_BY_ONE_POINT[quantity], abs=0.006)


@pytest.mark.parametrize("model", ["4S", "8S"])
def test_no_save_time_meets_both_intervals(model):
    # A save that takes x % of 60 min takes 2x % of 30: |2x - b| <= e and |x - a| <= e give
    # |b - 2a| <= 3e, so that one of the two is off by 0.67 points at least, more than was asked.
    every_60, every_30, *_ = ecrm.FIGURE_5[model]
    assert abs(every_30 - 2 * every_60) / 3 == pytest.approx(2 / 3)


def test_rows_twice_as_wide_are_farther_off():
    assert ECRM[WIDE].computed - ECRM[WIDE].published == pytest.approx(1.2, abs=0.006)


def test_who_wins_where():
    # Against a save every 30 min erasure coding wins from 880 GB on, every 60 min at 1760 GB only.
    wins = {
        (model, interval): ecrm.overhead(size_gb, ecrm.ECREC[4])
        < ecrm.overhead(size_gb, ecrm.CKPT[interval])
        for model, size_gb in ecrm.SIZES.items()
        for interval in (30, 60)
    }
    assert {case for case, won in wins.items() if won} == {("4S", 30), ("8S", 30), ("8S", 60)}


def test_a_rebuild_may_outlast_training_again_but_not_the_pause():
    # 8S, k = 4: whole after 33.7 min, later than a checkpoint of average age every 30 min has made
    # up for it (26.25); but training stands for 0.5 min, not for all of that.
    found = ecrm.rebuilt(ecrm.SIZES["8S"], 4)
    assert found.filled > ecrm.recovery(ecrm.SIZES["8S"], 30, "average") > 50 * found.resumed


# --- Spares: Erlang's loss formula ----------------------------------------------------------------


def finite_h(pool: hot_swap.Pool, useful_h: float = hot_swap.USEFUL_H) -> float:
    """Mean hours that a job which starts with all spares ready stands still, exact.

    For exponential repairs of mean 1 h. In useful time the machines in repair are a birth-death
    chain on 0 to K; a failure in state K stops the job for 1/(K + 1) h on average, and leaves it in
    K. The last state of the generator adds those stops up.
    """
    full = pool.spares
    rates = np.zeros((full + 2, full + 2))
    for down in range(full + 1):
        if down < full:
            rates[down, down + 1] = pool.load
        if down:
            rates[down, down - 1] = down
        rates[down, down] = -rates[down].sum()
    rates[full, full + 1] = pool.load / (full + 1)
    return float(expm(rates * useful_h)[0, full + 1])


@pytest.mark.parametrize("pool", hot_swap.POOLS, ids=lambda pool: f"{pool.nodes}-{pool.spares}")
@pytest.mark.parametrize("repair", hot_swap.REPAIRS)
def test_share_of_time_without_enough_machines(pool, repair):
    # All spares are ready at first, so a finite run stands still for a little less than the long
    # run does: by so much, exactly for exponential repairs, and in order of size for others.
    share, finite = hot_swap.stalled_share(pool, repair), finite_h(pool)
    start = pool.stalled - finite / (finite + hot_swap.USEFUL_H)
    assert 0 < start < share.error
    assert abs(share.value - (pool.stalled - start)) < 3 * share.error


@pytest.mark.parametrize("pool", hot_swap.POOLS, ids=lambda pool: f"{pool.nodes}-{pool.spares}")
def test_finite_runs_with_exponential_repairs(pool):
    stalled = hot_swap.stalled_h(pool, "exponential")
    assert abs(stalled.value - finite_h(pool)) < 3 * stalled.error


@pytest.mark.parametrize("pool", hot_swap.POOLS, ids=lambda pool: f"{pool.nodes}-{pool.spares}")
def test_the_finite_form_tends_to_erlangs(pool):
    finite = finite_h(pool, 1e5)
    assert finite / (finite + 1e5) == pytest.approx(pool.stalled, rel=2e-5)


def test_a_takeover_is_the_pause():
    # 40 s, and a shard of 780 GB / 128 at 100 GB/s.
    assert hot_swap.takeover_s() == pytest.approx(40 + 780 / 128 / 100, rel=1e-9)


# --- Meta's MTTF and ETTR -------------------------------------------------------------------------


def test_mean_time_to_failure_of_16_384_gpus():
    exact_h = mttf_s(meta.NODES, meta.RATE_PER_DAY) / 3600
    assert exact_h == pytest.approx(1.80, abs=5e-3)
    assert abs(meta.mttf_h().value - exact_h) < 3 * meta.mttf_h().error


def test_ettr_of_16_384_gpus():
    interval_min = meta.INTERVAL_S / 60
    assert interval_min == pytest.approx(32.9, abs=0.05)
    exact = exact_ettr(meta.INTERVAL_S, meta.SAVE_S, meta.RATE_PER_DAY, meta.NODES, 300.0)
    assert exact == pytest.approx(0.6928, abs=5e-5)
    assert abs(meta.ettr().value - exact) < 3 * meta.ettr().error


# --- Partial experts, beside closed forms ---------------------------------------------------------


def test_lost_tokens_of_one_fault_in_mid_run():
    assert partial_experts.mid_run_plt() == pytest.approx(0.0375, rel=1e-9)


def test_lost_tokens_of_one_fault_at_any_time():
    found = partial_experts.one_fault_plt()
    exact = single_fault_plt(
        partial_experts.EXPERTS,
        partial_experts.PER_SAVE,
        partial_experts.INTERVAL,
        partial_experts.ITERATIONS,
    )

    assert abs(found.value - exact) < 3 * found.error
    assert found.error < 0.02 * exact


def test_an_expert_is_half_a_rotation_old():
    found = partial_experts.staleness()

    assert (
        abs(
            found.value
            - partial_experts.EXPERTS / partial_experts.PER_SAVE * partial_experts.INTERVAL / 2
        )
        < 3 * found.error
    )
    assert found.error < 0.02 * found.value


def test_equation_6_is_not_the_measured_size():
    assert partial_experts.size_of_one_expert() == pytest.approx(0.194, abs=0.0005)


# --- Gemini, and ByteRobust's table 8 -------------------------------------------------------------


def test_a_remote_save_takes_42_minutes():
    assert peer_memory.save_s(peer_memory.MT_NLG) == pytest.approx(530e9 * 12 * 8 / 20e9, rel=1e-12)
    assert round(peer_memory.save_s(peer_memory.MT_NLG) / 60) == 42


def test_a_failure_wastes_105_minutes():
    # Failures fall on the middles of 400 equal parts of a save, whose mean is that of all instants.
    exact_s = wasted_per_failure_s(
        peer_memory.save_s(peer_memory.MT_NLG),
        peer_memory.save_s(peer_memory.MT_NLG),
        peer_memory.save_s(peer_memory.MT_NLG),
    )
    assert peer_memory.mt_nlg().all_s == pytest.approx(exact_s, rel=1e-9)
    # The paper has 2.5 times 42 min, and 42 stands for 41.5 to 42.5.
    assert peer_memory.mt_nlg().all_s / 60 == pytest.approx(105, abs=2.5 * 0.5)


def test_memory_wastes_what_the_papers_formula_says():
    # A shard of a sixteenth at 50 GB/s. The instants lie 1.2 s apart, so that a mean over steps of
    # 60 s is off by half of that at most.
    retrieval_s = 1200e9 / 16 / 50e9
    assert peer_memory.measured("memory").load_s == pytest.approx(retrieval_s, rel=1e-12)
    exact_s = wasted_per_failure_s(peer_memory.ITERATION_S, peer_memory.ITERATION_S, retrieval_s)
    assert peer_memory.measured("memory").all_s == pytest.approx(exact_s, abs=0.6)


def test_recovery_is_more_than_13_times_faster():
    # Eight times as often is what the step was calibrated on.
    assert peer_memory.save_s(peer_memory.MEASURED) / peer_memory.ITERATION_S == pytest.approx(
        8, rel=1e-12
    )
    assert peer_memory.measured("remote").all_s / peer_memory.measured("memory").all_s > 13


def test_retrieval_is_at_least_as_much_faster_as_measured():
    # 16 cards of 400 Gbit/s against a store of 20 Gbit/s: 320 times, no software being free.
    faster = peer_memory.measured("remote").load_s / peer_memory.measured("memory").load_s
    assert faster == pytest.approx(320, rel=1e-12)
    assert 0.75 < 250 / faster < 1


@pytest.mark.parametrize("failed", peer_memory.SURVIVAL)
def test_share_of_failures_answered_from_memory(failed):
    exact = group_survival(16, 2, failed)
    assert exact == pytest.approx(peer_memory.SURVIVAL[failed], abs=5e-6)
    share = peer_memory.answered_from_memory(16, 2, failed)
    assert abs(share.value - exact) < 3 * share.error


@pytest.mark.parametrize("job", peer_memory.TABLE_8, ids=lambda job: job.job)
@pytest.mark.parametrize("kind", ["memory", "own"])
def test_throughput_of_saves_at_every_step(job, kind):
    # Each step was calibrated on the Megatron row of the same job; two points are the tolerance.
    block_s, percent = getattr(job, kind)
    for system in ("full", "peer-memory"):
        computed = peer_memory.throughput_percent(job.step_s, block_s, system)
        assert computed == pytest.approx(100 * relative_throughput(job.step_s, block_s), rel=1e-9)
        assert computed == pytest.approx(percent, abs=2.0)


@pytest.mark.parametrize("job", peer_memory.TABLE_8, ids=lambda job: job.job)
def test_the_calibrated_rows_return_their_inputs(job):
    block_s, percent = job.megatron
    assert peer_memory.throughput_percent(job.step_s, block_s, "full") == pytest.approx(
        percent, rel=1e-9
    )


# --- Copies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("copies", "aggregation", "traffic"),
    [(1, 1, 0.0), (2, 1, 1.0), (3, 1, 2.0), (3, 4, 0.5), (4, 8, 0.375)],
)
def test_k_more_copies_pass_k_times_the_updates_on_or_k_by_n(copies, aggregation, traffic):
    assert replication.traffic(copies, aggregation) == pytest.approx(traffic, rel=1e-12, abs=1e-12)


def test_a_failure_costs_a_second_and_no_update():
    assert replication.recovery_s() == pytest.approx(1.0, rel=1e-9)
    assert replication.updates_lost() == 0.0


# --- Two levels, beside the exact patterns --------------------------------------------------------


@pytest.mark.parametrize("pattern", tiered.PATTERNS)
def test_two_levels(pattern):
    found = tiered.pattern_s(pattern)

    assert two_level_pattern_s(*pattern[:-1]) == pytest.approx(pattern.exact_s, abs=1e-4)
    assert abs(found.value - pattern.exact_s) < 3 * found.error
    assert found.error < 0.01 * pattern.exact_s


def test_the_first_order_optimum_is_within_five_percent():
    found = tiered.optimal_overhead()
    useful_s = tiered.FAR_APART.segments * tiered.FAR_APART.work_s
    exact = two_level_pattern_s(*tiered.FAR_APART[:-1]) / useful_s - 1

    assert exact == pytest.approx(tiered.first_order(), rel=0.05)
    assert found.error < 0.03 * tiered.first_order()
    assert abs(found.value - tiered.first_order()) < 0.05 * tiered.first_order() + 3 * found.error


def test_cheap_levels_gain_a_third_where_failures_are_frequent():
    assert tiered.cheap_levels_gain(8.0) == pytest.approx(0.35, abs=0.05)


def test_no_reading_of_two_and_a_half_seconds_in_four_minutes_gives_two_percent():
    (llama,) = (row for row in tiered.rows() if "Llama" in row.quantity)

    assert llama.computed == pytest.approx(100 * 2.5 / 240, rel=0.002)
    assert llama.published == pytest.approx(2 * llama.computed, rel=0.02)
