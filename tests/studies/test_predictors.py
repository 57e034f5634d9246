"""Which measure foretells a drop that was made of one of them."""

import numpy as np
import pytest
from scipy import stats

from cprsim.trainer.studies import findings
from cprsim.trainer.studies.predictors import contest, explained_share, rank_correlation
from tests.studies.made_up import study


def test_ranks_are_spearmans_and_the_variance_that_of_least_squares() -> None:
    rng = np.random.default_rng(0)
    measure, drops = rng.uniform(0.1, 1, 9), rng.uniform(0, 0.02, 9)

    assert rank_correlation(measure, drops) == pytest.approx(stats.spearmanr(measure, drops)[0])
    left = np.linalg.lstsq(measure[:, np.newaxis], drops)[1][0]
    assert explained_share(measure, drops) == pytest.approx(
        1 - left / np.square(drops - drops.mean()).sum()
    )


def test_a_measure_that_is_the_same_everywhere_foretells_nothing() -> None:
    drops = np.array([0.01, 0.02, 0.03])
    # A hundredth of the largest is a tie: 1.023 and 1.024 are no order.
    assert rank_correlation(np.array([1.023, 1.023, 1.024]), drops) == 0
    assert explained_share(np.ones(3), drops) == pytest.approx(0)
    assert explained_share(np.zeros(3), drops) < 0
    assert rank_correlation(np.zeros(3), drops) == 0


def test_the_measure_that_drops_were_made_of_is_best_and_noise_is_none() -> None:
    rng = np.random.default_rng(1)
    cause = np.linspace(0.1, 1, 6) * np.ones((10, 1))
    drops = 0.01 * cause + rng.normal(0, 2e-4, cause.shape)
    noise = np.abs(rng.normal(0, 1, cause.shape))

    found = contest({"cause": cause, "noise": noise}, drops)
    again = contest({"cause": cause, "noise": noise}, drops)

    assert found == again
    assert (found.explain, found.rank, found.points) == (("cause",), ("cause",), 6)
    assert found.best == "cause explains most of it (1.00), cause ranks it best (1.00)"
    twins = contest({"cause": cause, "twin": 2 * cause}, drops)
    assert twins.best == (
        "undecided which of cause and twin explains most of it, undecided which of cause and twin "
        "ranks it best"
    )
    reverse = contest({"wrong": cause[:, ::-1]}, drops)
    assert reverse.best == "none explains any of it, none ranks it"


def test_a_contest_is_of_points_that_lose_samples_and_of_measures_that_are_known() -> None:
    runs = findings.with_drops(study(noise=1e-4), "it")

    found = findings.contests(runs)

    # Two lossy policies at the same failures are too few; all points are 2 x 2, and 2 of several.
    assert list(found) == ["all points"]
    assert found["all points"].points == 6
    assert [each.measure for each in found["all points"].predictors] == ["pls", "updates_lost"]
    known = findings.contests(runs.assign(change_lost=runs["pls"]))["all points"]
    assert [each.measure for each in known.predictors][-1] == "change_lost"
