"""Presets: laws from the literature, and from logs that are fitted here again."""

import pytest

import cprsim
from cprsim.failures.presets import PRESETS
from cprsim.scenario.mapping import apply_override
from cprsim.survival.fitted_laws import fit as fit_law
from tests.survival.cases import HOUR, LANL, needs_lanl, needs_titan, titan_lives


def scenario(**failures) -> cprsim.Scenario:
    return cprsim.Scenario(
        job={"useful_time": "100 h"},
        cluster={"parameter_servers": 8, "trainers": 4},
        costs={"save": "1 min", "load": "1 min"},
        failures=failures,
        policies={"full": {"system": "full"}},
    )


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_all_that_a_scenario_needs(name):
    found = scenario(preset=name)

    assert 0 < found.failure_model.mtbf_s < float("inf")
    assert len(PRESETS[name].source) > 40


@pytest.mark.parametrize("name", PRESETS)
def test_a_resolved_scenario_has_the_preset_and_its_keys(name):
    mapping = scenario(preset=name).mapping()

    assert mapping["failures"]["preset"] == name
    assert mapping["failures"]["distribution"] == PRESETS[name].keys["distribution"]
    assert cprsim.Scenario(**mapping).mapping() == mapping


def test_what_stands_beside_a_preset_wins():
    failures = scenario(preset="cpr-production", mean="14 h").failures

    assert (failures.mean_s, failures.shape) == (14 * HOUR, 0.675)


def test_the_cpr_law_has_the_published_medians():
    """Means of 14 and 30 h, medians of 8 and 17 h: within 1 %."""
    for mean, median in (("14 h", 8.0), ("30 h", 17.0)):
        law = scenario(preset="cpr-production", mean=mean).failures.law
        assert law.survival([median * HOUR])[0] == pytest.approx(0.5, abs=0.005)


@pytest.mark.parametrize(("name", "rate"), [("rsc-1", 6.50), ("rsc-2", 2.34)])
def test_meta_s_clusters_fail_as_often_as_published(name, rate):
    model = scenario(preset=name).failure_model

    assert 1000 * 86400 / (model.mtbf_s * 12) == pytest.approx(rate, rel=1e-5)


def test_a_preset_can_be_set_over_a_law_and_a_law_over_a_preset():
    law = {"failures": {"distribution": "gamma", "mean": "5 h", "shape": 2.0, "per": "job"}}
    apply_override(law, "failures.preset=lanl-20")
    assert law["failures"] == {"preset": "lanl-20"}

    apply_override(law, "failures.distribution=exponential")
    assert law["failures"] == {"distribution": "exponential"}

    other = {"failures": {"preset": "lanl-20"}}
    apply_override(other, "failures.exactly=2")
    assert other["failures"] == {"exactly": 2}


def test_a_mean_can_be_set_beside_a_preset():
    mapping = {"failures": {"preset": "lanl-20"}}
    apply_override(mapping, "failures.mean=5 h")

    assert scenario(**mapping["failures"]).failures.mean_s == 5 * HOUR


@needs_lanl
@pytest.mark.parametrize(
    ("name", "system", "window"), [("lanl-20", 20, "0.5:1"), ("lanl-18", 18, None)]
)
def test_the_lanl_laws_are_what_fit_finds(name, system, window):
    best = cprsim.fit(LANL, "lanl", system, window=window).best.law
    failures = scenario(preset=name).failures

    assert failures.distribution == best.distribution
    assert failures.mean_s == pytest.approx(best.expected_s, rel=1e-5)
    assert failures.shape == pytest.approx(best.shape, rel=1e-5)


@needs_titan
def test_the_titan_law_is_what_fit_finds():
    gamma = fit_law(titan_lives("old"), "gamma").law
    failures = scenario(preset="titan-old").failures

    assert failures.mean_s == pytest.approx(gamma.expected_s, rel=1e-5)
    assert failures.shape == pytest.approx(gamma.shape, rel=1e-5)
