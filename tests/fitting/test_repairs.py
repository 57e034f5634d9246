"""How long nodes are down."""

import math
import tomllib
from pathlib import Path

import numpy as np
import pytest

import cprsim
from cprsim.basics.distributions import Distribution
from cprsim.failures.causes import FailureCause
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.outages import RepairTimes, repair_times
from cprsim.failures.logs.views import histories
from cprsim.fitting.repairs import repair_fit
from cprsim.job.delays import Delay, mean_s
from cprsim.survival.kaplan_meier import KaplanMeier
from tests.failures.logs_by_hand import log_of
from tests.survival.cases import LANL, needs_lanl

HOUR_S = 3600.0


def repair_of(keys: dict[str, object]) -> Delay:
    """The repair of a cause, as a scenario takes it."""
    found = FailureCause(name="any", share=1.0, repair=keys).repair
    assert found is not None
    return found


def told(found: RepairTimes) -> list[tuple[float, bool]]:
    sample = found.sample
    return list(zip(sample.durations_s.tolist(), sample.observed.tolist(), strict=True))


def test_outages_by_hand():
    nan = math.nan
    times, nodes = [10, 12, 20, 30, 40, 50, 60, 70, 80], [0, 0, 1, 1, 0, 2, 2, 3, 3]
    found = repair_times(log_of(times, nodes, [15, 18, 22, 33, 40, 55, nan, 75, 130], 100.0))
    assert found is not None
    # Node 0: 10 to 18, and 40 to 40, at once; node 1: 20 to 22, 30 to 33; node 2: 50 to 55, and
    # from 60 on; node 3: 70 to 75, and 80 to 130, which nobody watches to its end.
    assert told(found) == [
        *((8, True), (2, True), (3, True), (5, True), (40, False), (5, True), (20, False)),
    ]
    assert (found.unknown, found.at_once) == (0, 1)
    lacking = repair_times(log_of(times, nodes, [15, 18, nan, 33, 40, 55, nan, 75, 130], 100.0))
    assert lacking is not None
    # Where ends are missing in the midst, the last may be missing, too.
    assert told(lacking) == [(8, True), (3, True), (5, True), (5, True), (20, False)]
    assert (lacking.unknown, lacking.at_once) == (2, 1)


@pytest.mark.parametrize(
    ("times", "repaired", "durations"),
    [
        ([0, 5, 9], [10, math.nan, 20], [20]),  # down until 10 whatever the second one lacks
        ([0, 5, 8], [10, math.nan, 9], [10]),
        ([5, 5], [math.nan, 9], [4]),  # two rows of one failure, of which one has an end
        ([0, 5], [math.nan, 9], [4]),  # up in between, nobody knows from when
    ],
)
def test_an_end_that_is_unknown_leaves_a_node_down_as_long_as_others_say(
    times: list[float], repaired: list[float], durations: list[float]
):
    log = log_of(times, [0] * len(times), repaired, 100.0)
    found = repair_times(log)
    assert found is not None
    assert told(found) == [(each, True) for each in durations]
    assert found.unknown == (times == [0, 5])
    (up_s,) = histories(log, np.ones(len(log), np.bool_), 1).watched_s
    assert log.until_s - log.start_s - up_s == sum(durations)


def test_a_log_without_repairs_or_without_one_that_took_time_tells_nothing():
    plain = log_of([1, 2], [0, 1], span=3.0)
    assert repair_fit(plain) is None
    assert repair_fit(log_of([1.0, 2.0], [0, 1], [1.0, math.nan], 3.0)) is None


def drawn(law: Distribution, count: int, seed: int, until_s: float) -> FailureLog:
    """Each node fails once, and is repaired by a law."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(0, until_s, count))
    ends = times + law.sample(rng, count)
    return FailureLog(
        times, np.arange(count), 0.0, until_s, repaired_s=np.where(ends > until_s, np.nan, ends)
    )


def test_the_law_of_the_repairs_comes_back():
    """Within 5 / sqrt(n) of its log-mean and log-deviation, with 5 % of the outages open."""
    law = Distribution(distribution="lognormal", mean="60 h", cv=3.0)
    found = repair_fit(drawn(law, 2000, 1, 1200 * HOUR_S))
    assert found is not None
    assert found.is_adequate
    best = found.fits[0].law
    assert best.distribution == "lognormal"
    sigma, wanted = (math.sqrt(math.log1p(cv**2)) for cv in (best.cv or 0.0, 3.0))
    median, middle = (
        math.log(each.expected_s) - s**2 / 2 for each, s in ((best, sigma), (law, wanted))
    )
    assert abs(sigma - wanted) < 5 / math.sqrt(2000)
    assert abs(median - middle) < 5 * wanted / math.sqrt(2000)
    assert found.median_s == pytest.approx(math.exp(middle), rel=0.1)
    assert 0.01 < found.sample.censored / 2000 < 0.2


def test_the_block_is_comments_that_make_a_scenario():
    law = Distribution(distribution="gamma", shape=0.5, mean="10 h")
    found = repair_fit(drawn(law, 500, 2, 1e5 * HOUR_S))
    assert found is not None
    lines = found.block().splitlines()
    assert all(line.startswith("# ") for line in lines)
    table = "\n".join(line[2:] for line in lines[lines.index("# [costs.reschedule]") :])
    costs = {"save": "1 min", "load": "1 min", **tomllib.loads(table)["costs"]}
    scenario = cprsim.Scenario(
        job={"useful_time": "1 d"},
        cluster={"parameter_servers": 2, "trainers": 2, "spares": 2},
        failures={"distribution": "exponential", "mean": "1 d"},
        costs=costs,
        policies={"full": {"system": "full"}},
    )
    assert scenario.cost_model.reschedule_mean_s == pytest.approx(
        found.fits[0].law.expected_s, rel=1e-3
    )


def test_few_outages_are_drawn_from_and_keep_their_mean():
    found = repair_fit(log_of([0.0, 10.0, 20.0], [0, 1, 2], [3600.0, 7210.0, 36020.0], 40000.0))
    assert found is not None
    assert not found.fits
    assert not found.is_adequate
    assert found.notes == ["Repairs: 3 outages of nodes; median 2 h, mean 4.33 h."]
    assert found.document()["median_s"] == pytest.approx(7200)
    drawn_h = [float(each.split()[0]) for each in found.keys()["durations"]]
    assert np.mean(drawn_h) == pytest.approx((1 + 2 + 10) / 3, rel=1e-3)


@needs_lanl
@pytest.mark.slow
def test_repairs_of_lanl_20_keep_the_mean_of_their_tail():
    fitted = cprsim.fit(LANL, "lanl", 20, view="uptime")
    repairs = fitted.repairs
    assert repairs is not None
    sample = repairs.sample
    assert repairs.median_s == KaplanMeier.from_sample(sample).median_s
    assert not sample.censored
    assert repairs.mean_s == pytest.approx(sample.durations_s.mean())
    assert not repairs.is_adequate  # the lognormal law misses the mean by a third
    drawn_h = [float(each.split()[0]) for each in repairs.keys()["durations"]]
    assert np.mean(drawn_h) * HOUR_S == pytest.approx(sample.durations_s.mean(), rel=0.005)
    block = tomllib.loads(fitted.toml())["failures"]
    assert block["distribution"] == "gamma"
    of_causes = {cause: each.mean_s for cause, each in repairs.causes.items()}
    named = {each["name"]: each["repair"] for each in block["causes"]}
    assert len(of_causes.keys() & named.keys()) >= 5
    for cause in of_causes.keys() & named.keys():
        near = 0.1 if "mean" in named[cause] else 0.005  # of a law that is adequate, of durations
        assert mean_s(repair_of(named[cause])) == pytest.approx(of_causes[cause], rel=near)


def test_restarts_are_told_from_repairs_where_the_log_has_severities(tmp_path: Path) -> None:
    """Processes come back after a minute and machines after ten hours: two laws, not one."""
    rng = np.random.default_rng(2)
    rows = ["time_s,node,end_s,severity"]
    at_s = 0.0
    for i in range(120):
        at_s += rng.exponential(40_000)
        of = "process" if i % 2 else "node"
        lasts_s = rng.exponential(60 if of == "process" else 36_000)
        rows.append(f"{at_s:.1f},{i % 7},{at_s + lasts_s:.1f},{of}")
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows) + "\n")
    fitted = cprsim.fit(path, columns={"end": "end_s"})
    assert fitted.repairs is not None
    assert fitted.restarts is not None
    assert fitted.restarts.mean_s == pytest.approx(60, rel=3 / math.sqrt(60))
    assert fitted.repairs.mean_s == pytest.approx(36_000, rel=3 / math.sqrt(60))
    commented = fitted.toml().split("# [costs.restart]")[1]
    keys = tomllib.loads("\n".join(line.removeprefix("# ") for line in commented.splitlines()))
    assert Distribution.model_validate(keys).expected_s == pytest.approx(60, rel=0.4)
    causes = tomllib.loads(fitted.toml())["failures"]["causes"]
    waits_s = {each["severity"]: mean_s(repair_of(each["repair"])) for each in causes}
    assert waits_s["process"] == pytest.approx(60, rel=0.4)
    assert waits_s["node"] == pytest.approx(36_000, rel=0.4)
    assert any(note.startswith("Outages of processes alone: 60; ") for note in fitted.notes)
    assert fitted.document()["restarts"]["n"] == 60
