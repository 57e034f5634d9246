"""ECRec's cost laws against the rows of its paper that they weren't calibrated on.

`cpr_ecrm.md`, sections 2.4 and 2.5: figures 5 and 12, digitised to 0.3 points and 0.3 min.
"""

import math

import pytest

from cprsim.formulas.ecrec import (
    RebuildConstants,
    coding_slowdown,
    commit_slowdown,
    load_s,
    rebuild_constants,
    rebuild_s,
    replication_slowdown,
    save_s,
)

GB = 1e9
MINUTE = 60.0
SERVERS = 5


def whole(rows_scale, width_scale=1.0):
    """ECRec's slowdown in % of the useful time."""
    embedding = coding_slowdown(rows_scale, width_scale) + commit_slowdown(rows_scale, width_scale)
    return 100 * (embedding + replication_slowdown())


def test_ablation():
    # calibrated: 18.2 % in all, 5.2 % without replication, 2.6 % without commit besides
    assert whole(1) == pytest.approx(18.2)
    assert 100 * (coding_slowdown(1) + commit_slowdown(1)) == pytest.approx(5.2)
    assert 100 * coding_slowdown(1) == pytest.approx(2.6)


@pytest.mark.parametrize(
    ("rows_scale", "by_hand", "k4", "k2"),
    [
        (2, 18.2 + 4.8 / 2, 20.4, 20.6),  # calibrated
        (4, 18.2 + 4.8 * 3 / 4, 21.9, 22.0),
        (8, 18.2 + 4.8 * 7 / 8, 22.0, 22.0),
    ],
)
def test_figure_5(rows_scale, by_hand, k4, k2):
    assert whole(rows_scale) == pytest.approx(by_hand)
    for row in (k4, k2):
        assert whole(rows_scale) == pytest.approx(row, abs=0.5)


def test_wider_rows():
    # Rows and width both doubled. 28.2 against 27: farther off than the other models, 1.2 points.
    assert whole(2, 2) == pytest.approx(13 + 2 * (5.2 + 2.4))
    assert whole(2, 2) == pytest.approx(27, abs=1.5)


def test_ecrm_cuts_the_overhead_of_checkpoints():
    # No replication and no commit, 880 GB, against 32.8 % of a checkpoint every 30 min: "88 %".
    assert 100 * coding_slowdown(4) == pytest.approx(2.6 + 1.8)
    assert 100 * (1 - coding_slowdown(4) / 0.328) == pytest.approx(88, abs=2)


def test_growth_is_shared_in_proportion():
    for rows_scale in (1, 2, 100):
        assert coding_slowdown(rows_scale) == pytest.approx(commit_slowdown(rows_scale))
    assert whole(math.inf) == pytest.approx(23.0)
    assert coding_slowdown(4, 0.5) == pytest.approx(coding_slowdown(4) / 2)


@pytest.mark.parametrize(
    ("size_gb", "k", "minutes"),
    [
        (1760, 2, 17.8),  # calibrated
        (1760, 4, 33.7),  # calibrated
        (220, 2, 3.2),  # calibrated
        (220, 4, 4.7),  # by the text's ratio; the bar, 4.5, is missed by 0.7
        (440, 4, 9.5),
        (440, 2, 5.5),
        (880, 4, 18.1),
        (880, 2, 9.8),
    ],
)
def test_figure_12(size_gb, k, minutes):
    found = rebuild_s(size_gb * GB / SERVERS, k) / MINUTE
    assert found == pytest.approx(minutes, abs=max(0.5, 0.1 * minutes))


def test_rebuild_constants():
    # Minutes: 704 GB more to read take 15.9; 308 GB more with two reads each, 14.6.
    part = rebuild_constants()
    read = 15.9 / 704
    write = 14.6 / 308 - 2 * read
    assert part.read_bytes_per_s == pytest.approx(GB / (MINUTE * read))
    assert part.write_bytes_per_s == pytest.approx(GB / (MINUTE * write))
    assert part.fixed_s == pytest.approx(MINUTE * (3.2 - 44 * 14.6 / 308))
    assert (read, write, part.fixed_s / MINUTE) == pytest.approx((0.0226, 0.0022, 1.11), abs=5e-3)


def test_rebuild_at_its_ends():
    assert rebuild_s(0.0, 4) == pytest.approx(66.9, abs=0.05)
    part = rebuild_constants()
    more = rebuild_s(GB, 3) - rebuild_s(GB, 2)
    assert more == pytest.approx(GB / part.read_bytes_per_s)


def test_rebuild_with_constants_of_ones_own():
    # 10 s, 3 shards of 4 GB at 2 GB/s, one written at 8 GB/s
    own = RebuildConstants(10.0, 2 * GB, 8 * GB)
    assert rebuild_s(4 * GB, 3, own) == 10 + 6 + 0.5


# Interval in min, model in GB, overhead in %, and how far the law is from it in points.
@pytest.mark.parametrize(
    ("interval", "size_gb", "percent", "off"),
    [
        (30, 1760, 64.8, 0),  # calibrated
        (30, 880, 32.8, 0.06),
        (30, 440, 16.7, 0.19),
        (30, 220, 8.9, 0),  # calibrated
        (60, 1760, 31.4, 1.0),
        (60, 880, 15.4, 1.03),
        (60, 440, 8.0, 0.44),
        (60, 220, 4.6, -0.15),
    ],
)
def test_checkpoints_in_figure_5(interval, size_gb, percent, off):
    # By hand 8.9 % and 55.9 points more for 1540 GB more, halved for 60 min.
    by_hand = (8.9 + 55.9 * (size_gb - 220) / 1540) * 30 / interval
    found = 100 * save_s(size_gb * GB) / (interval * MINUTE)
    assert found == pytest.approx(by_hand)
    assert found - percent == pytest.approx(off, abs=0.006)


def test_a_save_of_nothing():
    # 2.67 min for 220 GB, 16.77 min more for 1540 GB more
    assert save_s(0.0) == pytest.approx(MINUTE * (2.67 - 16.77 * 220 / 1540))
    assert load_s(0.0) == 0.0


def test_a_load_in_figure_12():
    # 1760 GB: the mean of bars of 11.1 and 11.4 min, calibrated
    assert load_s(1760 * GB) == pytest.approx(MINUTE * (11.1 + 11.4) / 2)


# Minutes until a job that saves every 60 or 30 min has made up for a failure.
@pytest.mark.parametrize(
    ("size_gb", "every_60", "every_30"),
    [
        (220, (1.1, 31.4, 61.2), (1.5, 16.4, 31.6)),
        (440, (3.0, 33.3, 63.1), (2.8, 17.8, 32.8)),
        (880, (5.7, 36.0, 65.8), (5.7, 21.0, 35.9)),
        (1760, (11.4, 41.6, 71.5), (11.1, 26.4, 41.2)),
    ],
)
def test_checkpoints_in_figure_12(size_gb, every_60, every_30):
    load = load_s(size_gb * GB) / MINUTE
    for interval, printed in ((60, every_60), (30, every_30)):
        redone = [0, interval / 2, interval]  # best, on average and at worst
        assert [load + each for each in redone] == pytest.approx(printed, abs=0.5)
