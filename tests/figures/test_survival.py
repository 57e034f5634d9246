"""Oracles: Kaplan-Meier, and the laws of `distributions`."""

import re
from functools import cache

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from cprsim.figures.log_page import log_page
from cprsim.figures.style import INK, LAW_COLOURS
from cprsim.survival.fitted_laws import Fit, fit_all
from cprsim.survival.kaplan_meier import KaplanMeier, hazard
from cprsim.survival.sample import Sample
from tests.figures.reading import Drawn, heading, key, notes, words
from tests.survival.cases import BEARINGS, CONTROLS, HOUR, MIXED

YEAR = 8766 * HOUR


def drawn_from(shape: float, count: int) -> Sample:
    return Sample.complete(np.random.default_rng(1).gamma(shape, 24 * HOUR / shape, count))


def watched_briefly() -> Sample:
    """Lives of 300 years in the mean, watched for up to 5: 99 % are censored."""
    rng = np.random.default_rng(1)
    lasted, watched = rng.exponential(300 * YEAR, 10_000), rng.uniform(0.1, 5, 10_000) * YEAR
    return Sample(np.minimum(lasted, watched), lasted <= watched)


def censored(count: int) -> Sample:
    return Sample(HOUR * np.arange(1.0, count + 1), np.zeros(count, dtype=np.bool_))


SAMPLES = {
    "gaps": drawn_from(0.6, 669),
    "early": drawn_from(0.1, 400),
    "wear-out": drawn_from(20, 400),
    "many": drawn_from(0.6, 23_739),
    "ten": drawn_from(1, 10),
    "nine": drawn_from(1, 9),
    "one": drawn_from(1, 1),
    "none failed": censored(9),
    "one censored": censored(1),
    "briefly": watched_briefly(),
    "controls": Sample(CONTROLS.durations_s * HOUR, CONTROLS.observed),
    "mixed": Sample(MIXED.durations_s, MIXED.observed),
    "ties": Sample.complete(HOUR * np.repeat([1.0, 2.0, 5.0], [3, 20, 40])),
}
TITLES = {"gaps": "lanl_$x$.csv.gz, system 20, window 0.5:1", "ten": "A long title, " * 12}
FITTED = [case for case, sample in SAMPLES.items() if sample.failures >= 10]


@cache
def fits(case: str) -> list[Fit]:
    return fit_all(SAMPLES[case]) if case in FITTED else []


drawn = Drawn(
    lambda case: log_page(SAMPLES[case], fits(case), TITLES.get(case, "")),
    {case: (case,) for case in SAMPLES},
)


def law_lines(axes: Axes) -> dict[str, Line2D]:
    """The line of each law, by its colour."""
    names = {colour: name for name, colour in LAW_COLOURS.items()}
    found = {to_hex(line.get_color()).upper(): line for line in axes.lines}
    return {names[colour]: line for colour, line in found.items() if colour in names}


def data_line(axes: Axes) -> Line2D:
    (line,) = (line for line in axes.lines if to_hex(line.get_color()).upper() == INK)
    return line


@pytest.mark.parametrize("case", SAMPLES)
def test_steps_are_the_kaplan_meier_curve(case: str) -> None:
    axes = drawn(case).axes[0]
    curve, line = KaplanMeier.from_sample(SAMPLES[case]), data_line(axes)
    times, shares = line.get_xdata(), line.get_ydata()
    assert line.get_drawstyle() == "steps-post"
    assert shares[0] == 1
    assert shares[1:].tolist() == curve.at(times[1:]).tolist()
    assert times[-1] == curve.last_s
    if len(curve.times_s) <= 1000:
        assert times[1:-1].tolist() == curve.times_s.tolist()
    else:  # fewer steps, none of them higher than can be seen
        assert np.abs(np.diff(shares)).max() < 0.002
        assert set(times[1:]) <= set(curve.times_s)


def test_the_band_is_that_of_the_curve() -> None:
    axes = drawn("mixed").axes[0]
    curve = KaplanMeier.from_sample(SAMPLES["mixed"])
    low, high = curve.band()
    (band,) = axes.collections
    corners = band.get_paths()[0].vertices
    assert np.isnan(low).tolist() == [False] * (len(low) - 1) + [True]  # the curve ends at 0
    for time, below, above in list(zip(curve.times_s, low, high, strict=True))[:-1]:
        ends = corners[np.isclose(corners[:, 0], time, rtol=1e-12)][:, 1]
        assert np.isclose(ends, below, rtol=1e-9).any()
        assert np.isclose(ends, above, rtol=1e-9).any()


@pytest.mark.parametrize("case", FITTED)
def test_each_law_has_its_own_survival_and_the_best_is_emphasised(case: str) -> None:
    axes = drawn(case).axes[0]
    lines = law_lines(axes)
    assert set(lines) == {found.law.distribution for found in fits(case)}
    for found in fits(case):
        line = lines[found.law.distribution]
        expected = found.law.survival(line.get_xdata())
        assert line.get_ydata() == pytest.approx(expected, rel=1e-12, abs=1e-300)
        rate = law_lines(drawn(case).axes[1])[found.law.distribution]
        assert rate.get_ydata() == pytest.approx(found.law.hazard(rate.get_xdata()), nan_ok=True)
    best = lines.pop(fits(case)[0].law.distribution)
    assert best.get_linestyle() == "-"
    assert all(line.get_linestyle() != "-" for line in lines.values())
    assert all(line.get_linewidth() < best.get_linewidth() for line in lines.values())


def test_marks_of_censored_durations_stand_on_the_curve() -> None:
    sample = SAMPLES["mixed"]
    (marks,) = (line for line in drawn("mixed").axes[0].lines if line.get_marker() == "|")
    assert set(marks.get_xdata()) <= set(sample.durations_s[~sample.observed])
    assert (
        marks.get_ydata().tolist() == KaplanMeier.from_sample(sample).at(marks.get_xdata()).tolist()
    )
    assert len(marks.get_xdata()) >= 8
    for case, some in (("briefly", True), ("gaps", False)):
        marks = [line for line in drawn(case).axes[0].lines if line.get_marker() == "|"]
        assert bool(marks) == some
        assert all(len(line.get_xdata()) <= 61 for line in marks)


@pytest.mark.parametrize("case", FITTED)
def test_bins_are_those_of_the_hazard_estimate(case: str) -> None:
    axes = drawn(case).axes[1]
    found = hazard(SAMPLES[case])
    band, rate = (stairs.get_data() for stairs in axes.patches)
    assert rate.values.tolist() == found.rate.tolist()
    assert rate.edges[1:].tolist() == found.edges_s[1:].tolist()
    assert rate.edges[0] == max(axes.get_xlim()[0], 0)
    assert band.values.tolist() == found.upper.tolist()
    assert band.baseline == pytest.approx(np.maximum(found.lower, axes.get_ylim()[0]), rel=1e-12)
    assert axes.get_ylim()[1] > found.upper.max()


def test_words_of_a_complete_sample() -> None:
    sample = Sample.complete(BEARINGS.durations_s * HOUR)
    figure = log_page(sample, fit_all(sample), "Bearings")
    assert notes(figure).startswith("Bearings. 23 durations, none censored; mean 72.2 h.")
    # Lieblein and Zelen (1956): 72.22
    assert "duration, h" in words(figure)
    assert "failures per h" in words(figure)
    said = " ".join(key(figure))
    assert "weibull, mean 72.5 h, shape 2.1" in said  # 2.102, scale 81.9 (Lawless 2003, ex. 5.2.2)
    assert "exponential, mean 72.2 h" in said
    assert said.count("KS ") == 4


def test_words_of_a_censored_sample() -> None:
    """37 of 96 failed; Nelson (1982) counts the time of all of them."""
    watched_h = CONTROLS.durations_s.sum() / 37 / 24
    assert (
        "96 durations, 59 censored (61.5 %); mean (time watched for each failure) "
        f"{watched_h:.3g} d" in notes(drawn("controls"))
    )
    assert any(each.startswith("censored") for each in key(drawn("controls")))
    assert not any(each.startswith("censored") for each in key(drawn("gaps")))


def test_without_failures_or_fits_what_there_is_is_drawn() -> None:
    said = words(drawn("none failed"))
    assert "9 durations, 9 censored (100 %); nothing failed" in " ".join(said)
    assert "nothing failed" in said
    assert "nothing failed" not in words(drawn("nine"))
    assert not any("KS" in text for text in words(drawn("nine")))


def test_a_law_that_is_far_off_is_no_good_fit():
    def title(durations):
        sample = Sample.complete(durations)
        return heading(log_page(sample, fit_all(sample), "log"))

    rng = np.random.default_rng(5)
    near = rng.gamma(2.0, 3600.0, 400)
    # No law of one hump has two thirds within two seconds and the others at a day.
    far = np.concatenate([rng.uniform(1, 2, 400), rng.uniform(86000, 87000, 200)])
    assert re.fullmatch(r"\w+ fits best by AIC: up to [\d.]+ % off the log", title(near))
    assert title(far).startswith("No law is within 10.0 % of the log; ")


def test_a_law_that_is_taken_for_being_near_is_not_called_the_best_by_aic():
    sample = Sample.complete(np.random.default_rng(5).gamma(2.0, 3600.0, 400))
    best, *others = fit_all(sample)
    figure = log_page(sample, [others[0], best, *others[1:]], "log")
    law = others[0].law.distribution.capitalize()

    assert heading(figure).startswith(f"{law} is taken, though not best by AIC: up to ")
