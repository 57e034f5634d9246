import tomllib
from pathlib import Path

import numpy as np
import pytest

import cprsim
from cprsim.errors import UsageError
from cprsim.failures.logs.log import FailureLog
from cprsim.survival.kaplan_meier import KaplanMeier
from tests.failures.played import job_of
from tests.survival.cases import (
    GRID5000,
    HOUR,
    LANL,
    lanl_uptimes,
    needs_grid5000,
    needs_lanl,
)

pytestmark = pytest.mark.usefixtures("folder")


def gamma_log(failures: int = 400, seed: int = 0, **more) -> FailureLog:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.gamma(0.7, 1000.0, failures))
    nodes = rng.integers(8, size=failures)
    return FailureLog(times, nodes, times[0], times[-1] - times[0], population=8, **more)


def write_intervals(lines: list[str]) -> str:
    Path("intervals.txt").write_text("\n".join(lines) + "\n")
    return "intervals.txt"


def scenario_of(toml: str) -> cprsim.Scenario:
    return job_of(tomllib.loads(toml)["failures"])


# what a fit says


def test_the_document_has_what_the_contract_names():
    document = cprsim.fit(gamma_log()).document()

    assert document["n"] == 399
    assert document["censored"] == document["ties"] == 0
    assert document["mean_s"] == pytest.approx(np.diff(gamma_log().times_s).mean())
    assert {fit["distribution"] for fit in document["fits"]} == {
        "exponential",
        "gamma",
        "weibull",
        "lognormal",
    }
    best = document["fits"][0]
    assert document["best"] == best["distribution"]
    assert best["aic"] == min(fit["aic"] for fit in document["fits"])
    assert {"mean_s", "ks", "rmse", "aic"} <= best.keys()
    assert document["adequate"] is True
    assert document["dependence"]["clustered"] is False
    assert document["bursts"] is None


def test_clusters_are_spoken_of():
    rng = np.random.default_rng(2)
    rate = np.where(np.arange(600) % 100 < 50, 1.0, 6.0)
    times = np.cumsum(rng.exponential(rate))
    fitted = cprsim.fit(FailureLog(times, np.zeros(600, int), 0.0, times[-1]))

    assert fitted.dependence.clustered
    assert any(note.startswith("Failures come in clusters") for note in fitted.notes)
    assert fitted.document()["dependence"]["clustered"] is True


@pytest.mark.slow
def test_bursts_of_a_rack_are_fitted_apart_and_end_no_life():
    """Lives of 1e6 s on 60 nodes in racks of 6, and a burst of 3 every 1e6 s in each rack."""
    rng = np.random.default_rng(4)
    span, rows = 2e7, []
    for node in range(60):
        rows += [(at, node) for at in rng.uniform(0, span, rng.poisson(span / 1e6))]
    for rack in range(10):
        for at in rng.uniform(0, span, rng.poisson(span / 1e6)):
            rows += [(at + i, rack * 6 + n) for i, n in enumerate(rng.choice(6, 3, False))]
    times, nodes = (np.array(each) for each in zip(*sorted(rows), strict=True))
    log = FailureLog(times, nodes, 0.0, span, population=60, racks=nodes // 6)

    fitted = cprsim.fit(log, view="uptime", coalesce="1 min")
    both = cprsim.fit(log, view="uptime")

    # About 1,200 lives and 200 bursts: means known to 3 % and 7 %.
    assert fitted.best.law.expected_s == pytest.approx(1e6, rel=0.1)
    assert fitted.bursts.law.mean_s == pytest.approx(1e6, rel=0.2)
    assert fitted.bursts.law.sizes.keys() == {3}
    # A node dies by itself every 1e6 s and in half of the bursts of its rack.
    assert both.best.law.expected_s == pytest.approx(1e6 / 1.5, rel=0.1)
    assert both.bursts is None

    failures = scenario_of(fitted.toml()).failures
    assert failures.per == "node"
    assert failures.ages == "stationary"
    assert failures.bursts.rack == 6
    assert failures.bursts.mean_s == pytest.approx(fitted.bursts.law.mean_s, rel=1e-5)


# the block for a scenario


def test_an_adequate_law_goes_into_a_scenario():
    fitted = cprsim.fit(gamma_log())

    failures = scenario_of(fitted.toml()).failures

    assert failures.distribution == fitted.best.law.distribution
    assert failures.mean_s == pytest.approx(fitted.best.law.expected_s, rel=1e-5)
    assert failures.shape == pytest.approx(fitted.best.law.shape, rel=1e-5)
    assert failures.per == "job"
    assert fitted.toml().startswith("# log: 399 times between failures of the whole system.\n")


def test_uptimes_make_a_block_per_node():
    assert scenario_of(cprsim.fit(gamma_log(4000), view="uptime").toml()).failures.per == "node"


def bursty(n: int = 400) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.where(rng.random(n) < 0.9, rng.exponential(60, n), rng.exponential(6e5, n))


def write_log(times: np.ndarray, row: str = "{!r},{}", header: str = "time_s,node") -> str:
    """A log of failures of eight nodes in turn, in a form of one's own."""
    rows = (row.format(at, i % 8) for i, at in enumerate(times.tolist()))
    Path("failures.csv").write_text("\n".join([header, *rows]) + "\n")
    return "failures.csv"


def test_a_log_without_an_adequate_law_is_replayed():
    fitted = cprsim.fit(write_log(np.cumsum(bursty())), window="0.25:1")
    failures = scenario_of(fitted.toml()).failures

    assert not fitted.verdict.adequate
    assert fitted.notes[0].startswith(
        f"No law is adequate; of the best, {fitted.best.law.distribution}: "
    )
    assert failures.trace == str(Path("failures.csv").resolve())
    assert (failures.reader, failures.window) == ("csv", (0.25, 1))


def test_a_log_of_other_columns_is_replayed_by_their_names():
    """The block runs, and plays the failures of the log in its own words, from the first one."""
    times = np.cumsum(bursty())
    own = write_log(1.7e9 + np.round(1000 * times) / 1000)
    known = scenario_of(cprsim.fit(own).toml())
    expected = cprsim.run(known, replications=1).summary.loc["full"]
    log = write_log(1.7e12 + 1000 * times, "{:.0f},web-{}", "fell,box")

    fitted = cprsim.fit(log, columns={"time": "fell", "node": "box"})
    scenario = scenario_of(fitted.toml())

    assert not fitted.verdict.adequate
    assert scenario.failures.columns.mapping() == {"time": "fell", "node": "box"}
    assert scenario.failures.reader == "csv"
    assert scenario.failure_model.mtbf_s == pytest.approx(known.failure_model.mtbf_s, rel=1e-9)
    found = cprsim.run(scenario, replications=1).summary.loc["full"]
    assert found["failures"] == expected["failures"] > 1


def test_columns_that_are_found_are_found_again_in_a_scenario():
    times = np.cumsum(bursty())
    fitted = cprsim.fit(write_log(1.7e9 + times, "{!r};web-{}", "Start Time;Host"))
    scenario = scenario_of(fitted.toml())

    assert scenario.failures.columns is None
    assert scenario.failure_model.mtbf_s == pytest.approx(np.ptp(times) / 400, rel=0.01)
    assert fitted.document()["reader"] == "csv"
    assert fitted.notes[-1] == "Read 400 rows, kept all of them."
    assert fitted.document()["columns"] == {"time": "Start Time", "node": "Host"}
    assert fitted.notes[-2] == (
        "Columns: time 'Start Time' (epoch seconds), node 'Host' (8 names, numbered as they first "
        "come)."
    )


def test_durations_without_an_adequate_law_are_drawn_as_they_are():
    lasted = bursty().tolist()

    fitted = cprsim.fit(write_intervals([repr(each) for each in lasted]), "intervals")
    failures = scenario_of(fitted.toml()).failures

    assert not fitted.verdict.adequate
    assert failures.distribution == "empirical"
    assert list(failures.durations_s) == pytest.approx(lasted, rel=1e-5)


def test_a_replayed_log_starts_with_its_first_failure_whatever_its_clock():
    """Seconds of a calendar: by the log's own clock the job would be over long before."""
    times = 1.7e9 + np.cumsum(bursty())
    scenario = scenario_of(cprsim.fit(write_log(times)).toml())

    assert scenario.failure_model.mtbf_s == pytest.approx(np.ptp(times) / 400, rel=0.01)
    assert cprsim.run(scenario, replications=1).summary.loc["full", "failures"] > 1


def test_a_job_on_some_nodes_of_a_csv_log_draws_their_gaps():
    """Its nodes can't be replayed to another cluster: half of them may not be there."""
    fitted = cprsim.fit(write_log(np.cumsum(bursty(2000))), view="job", nodes=4)
    failures = scenario_of(fitted.toml()).failures

    assert not fitted.verdict.adequate
    assert failures.distribution == "empirical"
    assert failures.law.expected_s == pytest.approx(fitted.view.sample.mtbf_s, rel=0.02)


def test_censored_durations_without_an_adequate_law_are_drawn_from_their_curve():
    lasted = bursty(2000)
    cut = np.random.default_rng(2).exponential(3e5, 2000)
    pairs = zip(lasted.tolist(), cut.tolist(), strict=True)
    lines = [f"{min(a, b)!r},{int(a > b)}" for a, b in pairs]

    fitted = cprsim.fit(write_intervals(lines), "intervals")
    failures = scenario_of(fitted.toml()).failures

    assert not fitted.verdict.adequate
    curve = KaplanMeier.from_sample(fitted.view.sample)
    assert failures.law.expected_s == pytest.approx(curve.typical(10_000).mean(), rel=0.05)
    assert np.median(failures.durations_s) == pytest.approx(
        KaplanMeier.from_sample(fitted.view.sample).median_s, rel=0.01
    )


def test_nodes_that_fail_together_have_no_adequate_life():
    """Eight nodes that always fail at once: their lives, one by one, would stop a job eight times
    as often."""
    times = np.repeat(np.cumsum(np.random.default_rng(0).exponential(1e5, 300)), 8)
    log = FailureLog(times, np.tile(np.arange(8), 300), times[0], np.ptp(times), population=8)

    fitted = cprsim.fit(log, view="uptime")

    assert fitted.best.verdict.adequate
    assert not fitted.verdict.adequate
    assert fitted.verdict.reason == (
        "nodes fail together: 2,400 failures come in 299 bursts of a minute, independent ones "
        "would come in 2,390"
    )


def test_nodes_that_fail_by_themselves_may_do_so_close_together():
    assert cprsim.fit(gamma_log(4000), view="uptime").verdict.adequate


def test_sizes_of_what_fails_at_once_are_told():
    times = np.repeat(np.cumsum(np.random.default_rng(5).exponential(1e5, 60)), 3)
    log = FailureLog(times + np.tile([0, 5, 9], 60), np.tile([0, 1, 2], 60), 0.0, times[-1] + 9)

    fitted = cprsim.fit(log, coalesce="30 s")

    assert [each.view.sample.n for each in (cprsim.fit(log), fitted)] == [179, 59]
    assert fitted.document()["nodes_at_once"] == {"3": 60}
    assert "Down at one instant: 3 nodes 60 x; 3 in the mean." in fitted.notes
    assert fitted.document()["mean_nodes_hit"] == 3
    assert tomllib.loads(fitted.toml())["failures"]["hits"] == {"parameter_servers": 3}
    assert fitted.notes[-2:] == [
        "Left out:",
        "  120 failures coalesced with the one before them (--coalesce)",
    ]


# arguments that make no sense


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        *(
            (
                given,
                "reader, system and columns are for files; leave them out for a log in memory",
            )
            for given in ({"system": 5}, {"columns": {"node": "host"}})
        ),
        ({"view": "job"}, "view 'job' needs nodes: how many the job runs on"),
    ],
)
def test_arguments_that_make_no_sense(arguments, text):
    """Others are in refusals.toml."""
    with pytest.raises(UsageError) as caught:
        cprsim.fit(gamma_log(), **arguments)
    assert str(caught.value) == text


@needs_lanl
def test_lanl_20_in_the_second_half_of_its_life():
    document = cprsim.fit(LANL, "lanl", 20, window="0.5:1").document()
    fits = {fit["distribution"]: fit for fit in document["fits"]}

    assert (document["n"], document["ties"], document["nodes"]) == (669, 17, 512)
    assert document["mean_s"] / HOUR == pytest.approx(24.2, abs=0.05)
    assert document["median_s"] / HOUR == pytest.approx(12.9, abs=0.05)
    assert fits["gamma"]["shape"] == pytest.approx(0.614, abs=0.0005)
    assert fits["gamma"]["mean_s"] / fits["gamma"]["shape"] / HOUR == pytest.approx(39.5, abs=0.05)
    assert fits["gamma"]["ks"] == pytest.approx(0.025, abs=0.0005)
    rmse = {name: round(100 * each["rmse"], 2) for name, each in fits.items()}
    assert rmse == {"gamma": 0.5, "weibull": 1.05, "exponential": 4.08, "lognormal": 4.87}
    assert (document["best"], document["adequate"]) == ("gamma", True)


# the real logs, against the figures of issue 3


@needs_lanl
@pytest.mark.slow
def test_uptimes_of_the_nodes_of_lanl_18():
    sample, byhand = cprsim.fit(LANL, "lanl", 18, view="uptime").view.sample, lanl_uptimes(18)

    assert sorted(sample.durations_s.tolist()) == sorted(byhand.durations_s.tolist())
    assert sample.censored == byhand.censored


@needs_grid5000
def test_grid5000_has_bursts_and_no_adequate_law():
    """40-74 % of its failures come with another one: coalesce them before a fit."""
    fitted = cprsim.fit(GRID5000, "fta")

    assert not fitted.verdict.adequate
    assert fitted.fits[0].ks > 0.3
    assert fitted.fits[0].rmse < 0.05
    assert fitted.dependence.clustered
    assert scenario_of(fitted.toml()).failures.trace == str(GRID5000.resolve())


@needs_lanl
@pytest.mark.slow
def test_lives_of_lanl_20_are_held_against_the_rate_of_failures():
    """The figures that docs/failures.md tells."""
    fitted = cprsim.fit(LANL, "lanl", 20, view="uptime")
    time = fitted.view.node_time
    lognormal = next(each for each in fitted.fits if each.law.distribution == "lognormal")

    assert time is not None
    assert round(time.after_first_s / 86400) == 239
    assert round(time.of_all_s / 86400) == 283
    assert round(lognormal.law.expected_s / 86400) == 6045
    assert "lognormal has a mean of" in lognormal.verdict.reason
    assert not lognormal.verdict.adequate
    assert fitted.verdict.adequate
    assert fitted.best.law.distribution == "gamma"
    page = (Path(__file__).parents[2] / "docs/failures.md").read_text(encoding="utf-8")
    assert "says 6,045 days, where nodes fail every 239 to 283" in page
    told = [note for note in fitted.notes if note.startswith("Failures follow")]
    assert "\n".join(told) in page


@pytest.mark.slow
def test_parameters_are_found_again_within_their_intervals():
    """Gamma 0.7 and mean 700 s: of 100 intervals 95 hold each, give or take 2.2."""
    held = {"shape": 0, "mean": 0}
    for seed in range(100):
        rng = np.random.default_rng(seed)
        times = np.cumsum(rng.gamma(0.7, 1000.0, 300))
        log = FailureLog(times, np.zeros(300, int), times[0], times[-1] - times[0])
        fits = {each.law.distribution: each for each in cprsim.fit(log).fits}
        low, high = fits["gamma"].spread_interval
        held["shape"] += low < 0.7 < high
        low, high = fits["gamma"].mean_interval_s
        held["mean"] += low < 700.0 < high

    assert min(held.values()) >= 95 - 3 * 2.2
