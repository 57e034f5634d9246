"""Lives that came into sight late: every estimator against other software, and against truth."""

import tomllib
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

import cprsim
from cprsim.basics.distributions import Distribution
from cprsim.errors import LogError
from cprsim.survival.fitted_laws import fit, fit_all, judge, simulated
from cprsim.survival.kaplan_meier import KaplanMeier, hazard, log_rank
from cprsim.survival.sample import Sample
from tests.survival.cases import ENTRY, PARTS, D, T, spread_of


def test_the_curve_is_that_of_lifelines():
    """`KaplanMeierFitter().fit(T, D, entry=ENTRY)` of lifelines 0.30.3."""
    curve = KaplanMeier.from_sample(PARTS)

    assert curve.at_risk.tolist() == [26, 25, 24, 22, 23, 20, 18, 11, 6, 2, 1]
    frozen = [
        *(0.9615384615384612, 0.9230769230769231, 0.8846153846153845, 0.8444055944055942),
        *(0.8076923076923076, 0.7673076923076922, 0.7246794871794873, 0.6587995337995339),
        *(0.5489996114996116, 0.2744998057498058, 0.0),
    ]
    assert curve.survival == pytest.approx(frozen, rel=1e-12)


def test_rates_are_those_of_lifelines():
    """1 / `PiecewiseExponentialFitter([12.9 + 1e-7, 26.5 + 1e-7]).fit(T, D, entry=ENTRY).params_`,
    since of lifelines a failure at a limit belongs to the bin that begins there."""
    found = hazard(PARTS, bins=3)

    assert found.edges_s.tolist() == [0.0, 12.9, 26.5, 33.9]
    frozen = 0.012841086071726937, 0.015686278205177602, 0.0867052057649059
    assert found.rate == pytest.approx(frozen, rel=1e-6)


def test_the_log_rank_test_is_the_score_test_of_coxs_model():
    """Where no two fail at one age. statsmodels 0.14, with `x` two columns of group 1 and 2::

    m = PHReg(T, x, status=D, entry=ENTRY)
    m.score(np.zeros(2)) @ np.linalg.inv(-m.hessian(np.zeros(2))) @ m.score(np.zeros(2))
    """
    group = np.arange(40) % 3
    found = log_rank([Sample(T[group == g], D[group == g], ENTRY[group == g]) for g in range(3)])

    assert found is not None
    assert found.freedom == 2
    assert found.chi2 == pytest.approx(1.9033134601522657, rel=1e-9)


def test_at_an_age_the_one_that_fails_is_watched_and_the_one_that_comes_is_not():
    """As R has it: a life is at risk over (entry, time]."""
    curve = KaplanMeier.from_sample(
        Sample(np.array([5.0, 5.0, 9.0]), np.array([True, False, True]), np.array([0.0, 2.0, 5.0]))
    )
    assert curve.at_risk.tolist() == [2, 1]
    assert curve.survival.tolist() == [0.5, 0.0]


def drawn(law: Distribution, nodes: int, rng: np.random.Generator) -> Sample:
    """Lives of a law, of those that last until their watch begins, two thirds of which late."""
    lasted = law.sample(rng, 4 * nodes)
    entered = rng.uniform(0, 1.5 * law.expected_s, 4 * nodes) * (rng.random(4 * nodes) < 2 / 3)
    seen = lasted > entered
    lasted, entered = lasted[seen][:nodes], entered[seen][:nodes]
    cut = entered + rng.exponential(law.expected_s, len(lasted))
    return Sample(np.minimum(lasted, cut), lasted <= cut, entered)


@pytest.mark.parametrize(
    "keys",
    [
        {"distribution": "weibull", "shape": 0.6},
        {"distribution": "weibull", "shape": 2.0},
        {"distribution": "gamma", "shape": 2.5},
        {"distribution": "lognormal", "cv": 1.2},
        {"distribution": "exponential"},
    ],
)
def test_the_law_that_was_drawn_is_found(keys):
    """Without the ages its mean is far too long."""
    law = Distribution.model_validate({"mean": "100 h", **keys})
    sample = drawn(law, 3000, np.random.default_rng(6))
    found = fit(sample, law.distribution)
    low, high = found.mean_interval_s

    assert low < law.expected_s < high
    if found.spread_interval is not None:
        low, high = found.spread_interval
        assert low < spread_of(law) < high
    unaware = fit(Sample(sample.durations_s, sample.observed), law.distribution)
    assert unaware.law.expected_s > 1.1 * law.expected_s
    assert found.ks < 0.06
    assert judge(sample, found).adequate


def test_simulated_lives_last_until_they_are_watched_and_fit_the_same_law():
    law = fit(PARTS, "weibull").law
    every = [*islice(simulated(PARTS, law, np.random.default_rng(2)), 60)]

    assert all((each.entered_s == ENTRY).all() for each in every)
    whole = Sample(
        np.concatenate([each.durations_s for each in every]),
        np.concatenate([each.observed for each in every]),
        np.tile(ENTRY, 60),
    )
    again = fit(whole, "weibull")
    assert again.mean_interval_s[0] < law.expected_s < again.mean_interval_s[1]


def test_ages_of_0_change_nothing():
    plain = Sample(T, D)
    given = Sample(T, D, np.zeros(40))
    assert not plain.late
    assert fit_all(plain) == fit_all(given)


def test_laws_whose_likelihood_has_no_top_are_left_out():
    """Lives that last as often to twice the age at which they came into sight, whatever that is:
    the shorter the mean of a gamma law, the better it fits."""
    rng = np.random.default_rng(0)
    entered = rng.uniform(1, 50, 200)
    sample = Sample(entered * np.exp(rng.exponential(1.0, 200)), np.ones(200, bool), entered)

    names = {found.law.distribution for found in fit_all(sample)}
    assert "exponential" in names
    assert "gamma" not in names
    with pytest.raises(LogError, match="has no maximum"):
        fit(sample, "gamma")


def test_the_picture_draws_laws_of_lives_that_get_to_where_the_curve_begins():
    from cprsim.figures.log_page import log_page

    late = Sample(T + 50, D, ENTRY + 50)
    fits = fit_all(late)
    figure = log_page(late, fits)

    said = " ".join(" ".join(text.get_text() for text in figure.findobj(Text)).split())
    assert "29 censored (72.5 %), 40 watched from a later age" in said
    (lines,) = (axes.lines for axes in figure.axes[:1])
    laws = [line for line in lines if line.get_linestyle() != "None" and len(line.get_xdata()) > 99]
    assert len(laws) == len(fits)
    for line in laws:
        x, y = line.get_data()
        assert np.all(y[x < 50] == 1)
        assert y[-1] < 0.7


def test_the_block_draws_from_the_curve_where_lives_came_late(tmp_path: Path) -> None:
    """Of two kinds of lives, no law fits: the durations that are drawn are those of the curve."""
    rng = np.random.default_rng(3)
    lasts_s = np.where(rng.random(4000) < 0.5, 100.0, 9000.0) * rng.uniform(0.9, 1.1, 4000)
    came_s = rng.uniform(0, 9000, 4000) * (rng.random(4000) < 0.9)
    seen = came_s < lasts_s
    rows = [
        f"{at:.2f},1,{entry:.2f}" for at, entry in zip(lasts_s[seen], came_s[seen], strict=True)
    ]
    path = tmp_path / "lives.csv"
    path.write_text("\n".join(["duration,event,entry", *rows]) + "\n")
    fitted = cprsim.fit(path)
    assert not fitted.verdict.adequate
    keys = tomllib.loads(fitted.toml())["failures"]
    mean_s = Distribution.model_validate(
        {key: keys[key] for key in ("distribution", "durations")}
    ).expected_s
    assert lasts_s[seen].mean() > 1.2 * lasts_s.mean()  # long lives are seen more often
    assert mean_s == pytest.approx(lasts_s.mean(), rel=0.1)
