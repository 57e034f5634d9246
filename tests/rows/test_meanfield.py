import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import poisson

from cprsim.advice.access_log import read_accesses
from cprsim.errors import UsageError
from cprsim.rows.lost import Lost
from cprsim.rows.meanfield import TRACKERS, MeanField
from cprsim.rows.popularity import Popularity, counts, curve, uniform, zipf
from cprsim.rows.skew import DLRM_PRODUCTION
from cprsim.rows.trackers import MFU, SSU
from tests.rows.baselines import Random, RoundRobin
from tests.rows.exact import play, zipf_by_row

GOWALLA = Path(__file__).parents[2] / "../shared/data/gowalla_1m"
needs_gowalla = pytest.mark.skipif(
    not GOWALLA.exists(), reason="needs the Gowalla check-ins in shared/data"
)
ROWS = 30_000
#: Rows of the seven largest of 26 (facebookresearch/dlrm, tools/visualize.py).
KAGGLE = (10_131_227, 8_351_593, 7_046_547, 5_461_306, 2_202_608, 286_181, 142_572)


@cache
def skewed(name: str) -> tuple[Popularity, Popularity]:
    """In classes, and what the exact simulation is to take."""
    if name == "gowalla":
        counted = read_accesses(GOWALLA / "train.txt.xz")
        each = np.sort(counted)[::-1] / counted.sum()
        return counts(counted), Popularity(np.ones(len(each)), each)
    if name == "production":
        return (curve(DLRM_PRODUCTION, ROWS),) * 2
    exponent = float(name.removeprefix("zipf "))
    return zipf(ROWS, exponent), zipf_by_row(ROWS, exponent)


def batch_of(accesses: float) -> int:
    """Small beside the list and what comes between two saves, as a trainer's are."""
    return max(16, min(96, int(accesses / 100)))


def tracked(name: str, rows: int, fraction: float):
    return MFU(rows) if name == "mfu" else SSU(rows, round(fraction * rows), 2, seed=11)


def exact(name: str, popularity: Popularity, updates: float, fraction: float, intervals: float):
    return play(
        popularity,
        tracked(name, popularity.size, fraction),
        updates=updates,
        fraction=fraction,
        saves=round(intervals / fraction),
        seed=5,
        batch=None if name == "mfu" else batch_of(updates * fraction),
    ).updates


@pytest.mark.parametrize(
    ("fraction", "accesses_a_row"),
    [(1 / 8, 3), (1 / 8, 12), (1 / 3, 3)],
    ids=["eighth", "eighth of a busy table", "third"],
)
@pytest.mark.parametrize("tracker", ["mfu", "ssu"])
@pytest.mark.parametrize(
    "name",
    [
        "zipf 0",
        "zipf 0.5",
        "zipf 0.8",
        "zipf 1.0",
        "zipf 1.2",
        "production",
        pytest.param("gowalla", marks=needs_gowalla),
    ],
)
def test_the_mean_field_is_within_2_percent_of_row_by_row(name, tracker, fraction, accesses_a_row):
    """Poisson scatter of the exact side is 0.6 % after one interval of 30,000 x 3 updates."""
    classes, each = skewed(name)
    updates = accesses_a_row * float(classes.size)
    played = exact(tracker, each, updates, fraction, 2)
    expected = MeanField(classes, updates, fraction).lost(tracker, 2)

    for intervals in (1, 2):
        assert played.average(intervals) == pytest.approx(expected.average(intervals), rel=0.02)


def mean_of_many(make, popularity, fraction, intervals, runs=60):
    """Mean over runs, and its standard error: few hot rows decide these two trackers' luck."""
    found = [
        play(
            popularity,
            make(popularity.size, seed),
            updates=3.0 * popularity.size,
            fraction=fraction,
            saves=round(intervals / fraction),
            seed=seed,
        ).updates.average(intervals)
        for seed in range(runs)
    ]
    return np.mean(found), np.std(found, ddof=1) / math.sqrt(runs)


@pytest.mark.parametrize("fraction", [1 / 8, 1 / 3], ids=["eighth", "third"])
@pytest.mark.parametrize("tracker", ["round-robin", "random"])
@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.2])
def test_trackers_that_look_at_nothing(tracker, fraction, exponent):
    def make(rows, seed):
        return Random(rows, seed) if tracker == "random" else RoundRobin(rows)

    popularity = zipf(2000, exponent)
    mean, error = mean_of_many(make, popularity, fraction, 3)
    expected = MeanField(popularity, 3.0 * 2000, fraction).lost(tracker, 3).average(3)

    assert error < 0.02 * expected  # or the test could tell nothing
    assert mean == pytest.approx(expected, abs=4 * error)


@pytest.mark.parametrize("tracker", ["mfu", "ssu"])
def test_seven_tables_of_criteo_kaggle_at_a_hundredth(tracker):
    """One access a sample each, 0.8 of the samples in an interval as in CPR's emulation."""
    updates = 0.8 * 39_291_958 / 100
    tables = [zipf(rows // 100, 1.0) for rows in KAGGLE]
    played, expected = [], []
    for table in tables:
        # Batches of 64: the smallest table's list has 178 places.
        run = play(
            table,
            tracked(tracker, table.size, 1 / 8),
            updates=updates,
            fraction=1 / 8,
            saves=8,
            seed=2,
            batch=None if tracker == "mfu" else (512 if table.size > 10_000 else 64),
        ).updates
        played.append(run)
        expected.append(MeanField(table, updates, 1 / 8).lost(tracker, 1))
    ones = [1.0] * 7

    together = Lost.together(expected, ones)
    assert Lost.together(played, ones).average(1) == pytest.approx(together.average(1), rel=0.02)


@pytest.mark.parametrize("tracker", TRACKERS)
def test_fraction_1_is_vanilla_exactly(tracker):
    table = MeanField(zipf(1000, 1.0), 5000.0, 1.0)

    assert [table.lost(tracker, 12).relative(m) for m in (0.3, 1, 1.25, 12)] == [1.0] * 4
    assert table.long_run(tracker) == 1.0


@pytest.mark.parametrize("fraction", [1 / 2, 1 / 8, 1 / 32])
def test_closed_forms_of_random_and_round_robin(fraction):
    table = MeanField(zipf(3200, 1.0), 9999.0, fraction)
    time = np.arange(1, round(1 / fraction) + 1) * fraction

    assert table.long_run("random") == pytest.approx(2 - fraction)
    assert table.long_run("round-robin") == pytest.approx(1)
    in_turn = table.lost("round-robin", 1).after
    # A share of rows equal to the time was saved, at times spread evenly.
    assert in_turn == pytest.approx(time * (1 - time) + time * (time - fraction) / 2)


def test_round_robin_where_the_share_does_not_divide_the_table():
    """By brute force: a pointer that moves 3 rows on in a table of 10."""
    age, at, means = np.zeros(10), 0, []
    for _ in range(30):
        age += 1
        age[(at + np.arange(3)) % 10] = 0
        at = (at + 3) % 10
        means.append(0.3 * age.mean())

    lost = MeanField(uniform(10), 50.0, 0.3).lost("round-robin", 9.0)
    assert lost.after == pytest.approx(means)


def test_first_save_of_mfu_by_hand():
    """ln 2 accesses a row: half the rows have any, 15.3 % two or more; a quarter is saved."""
    mean = math.log(2)
    lost = MeanField(uniform(10**6), 4 * 10**6 * mean, 0.25).lost("mfu", 0.25)
    above = poisson.sf(1, mean)
    left = poisson.pmf(1, mean) - (0.25 - above)

    assert lost.after[0] * 4 * mean == pytest.approx(left, rel=1e-6)


def test_second_save_of_mfu_by_brute_force():
    """Two classes, thresholds by hand-written sums over counts up to 60."""
    rows, rates, k = np.array([100.0, 900.0]), np.array([4.0, 1.0]), 250.0
    state = poisson.pmf(np.arange(60), rates[:, np.newaxis])
    after = []
    for _ in range(2):
        left = k
        for count in range(59, 0, -1):
            here = rows @ state[:, count]
            share = min(1.0, left / here)
            left -= share * here
            state[:, 0] += share * state[:, count]
            state[:, count] *= 1 - share
        after.append(rows @ state @ np.arange(60))
        state = np.array(
            [
                np.convolve(p, poisson.pmf(np.arange(60), m))[:60]
                for p, m in zip(state, rates, strict=True)
            ]
        )
    updates = 4 * float(rows @ rates)
    shares = rates / float(rows @ rates)

    lost = MeanField(Popularity(rows, shares), updates, 0.25).lost("mfu", 0.5)
    assert lost.after * updates == pytest.approx(after, rel=1e-6)


def test_first_save_of_ssu_by_hand():
    """One access a row, 1/2 of them seen; 39 % of the rows get on a list of half of them."""
    lost = MeanField(uniform(10**6), 2 * 10**6, 0.5).lost("ssu", 1.0)
    off = math.exp(-0.5)  # unseen; then the unseen accesses, 1/2 a row, are lost

    assert lost.after * 2 == pytest.approx([0.5 * off, 0.5 * off + 0.5 * off**2], rel=1e-9)


def test_a_full_list_of_ssu_holds_as_many_rows_as_it_has_places():
    """Uniform: a row is on it with probability 1/8, and which rows are is pure chance, nearly."""
    table = MeanField(uniform(10**6), 10**9, 1 / 8)

    assert table.long_run("ssu") == pytest.approx(table.long_run("random"), rel=0.01)
    assert table.long_run("ssu") < table.long_run("random")


@pytest.mark.parametrize("tracker", TRACKERS)
@pytest.mark.parametrize("fraction", [1 / 2, 1 / 8])
def test_the_long_run_is_where_a_long_job_gets(tracker, fraction):
    table = MeanField(zipf(1000, 0.6), 5000.0, fraction)
    after = table.lost(tracker, 200).after

    assert after[-1] == pytest.approx((table.long_run(tracker) - fraction) / 2, rel=1e-3, abs=1e-9)


def test_uniform_skew_gives_mfu_what_scatter_gives_it():
    """Never worse than in turn: for rows alike, saving the largest counters is the best there is.

    After the k largest are cleared the sorted counters are, one by one, no larger than after any
    other k; as all rows gain alike, they stay so. The gain over turns is from Poisson scatter:
    it goes where a row has many accesses, and it is whole where all touched rows fit into a save.
    """
    dense, some, sparse = (
        MeanField(uniform(10**6), per_row * 10**6, 1 / 8) for per_row in (3000, 3, 0.5)
    )

    for table in (dense, some, sparse):
        mfu, turns = table.lost("mfu", 10), table.lost("round-robin", 10)
        assert (mfu.after <= turns.after * (1 + 1e-9)).all()
    assert dense.long_run("mfu") == pytest.approx(1, abs=0.005)
    assert dense.lost("mfu", 1.25).relative(1.25) == pytest.approx(
        dense.lost("round-robin", 1.25).relative(1.25), rel=0.02
    )
    assert 0.6 < some.long_run("mfu") < 0.8
    assert sparse.long_run("mfu") == pytest.approx(1 / 8)


def test_where_all_touched_rows_fit_into_a_save_nothing_is_left():
    table = MeanField(zipf(10**6, 1.0), 5e5, 1 / 4, subsample=1)

    for tracker in ("mfu", "ssu"):
        assert table.lost(tracker, 3).after == pytest.approx(0, abs=1e-12)
        assert table.long_run(tracker) == pytest.approx(1 / 4)


def test_a_billion_rows_lose_what_a_million_do():
    """As many accesses a row and the same curve: only its head is longer, and that is saved."""
    few, many = (
        MeanField(curve(DLRM_PRODUCTION, rows), 10.0 * rows, 1 / 8) for rows in (10**6, 10**9)
    )

    for tracker in TRACKERS:
        assert many.long_run(tracker) == pytest.approx(few.long_run(tracker), rel=2e-3)
    assert len(many.popularity.rows) < 200


def test_a_portion_of_less_than_half_a_row_is_refused():
    with pytest.raises(UsageError) as error:
        MeanField(uniform(10), 9.0, 0.04).lost("mfu", 1)
    assert str(error.value) == (
        "fraction 0.04 of 10 rows is less than half a row; save the table whole"
    )


@pytest.mark.parametrize("updates", [2, 7, 50])
@pytest.mark.parametrize("parts", [16, 64])
@pytest.mark.parametrize("exponent", [0.5, 0.7, 1.0])
def test_the_long_run_of_small_fractions_is_where_many_saves_get(exponent, parts, updates):
    """Coarse levels put the threshold far too low here: 2,000 saves say where it is."""
    table = MeanField(zipf(10**5, exponent), updates * 1e5, 1 / parts)
    after = table.lost("mfu", 30).after[-parts:]

    assert table.long_run("mfu") == pytest.approx(2 * after.mean() + 1 / parts, rel=0.02)
