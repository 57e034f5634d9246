"""Whether some nodes of a log fail far more often than others."""

import json
import math
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import cprsim
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_failures import worst_share
from cprsim.failures.logs.outages import merged
from cprsim.failures.logs.views import histories
from cprsim.fitting.frailty_fit import simulated
from cprsim.fitting.log_fit import LogFit
from cprsim.sim.cursor import cursor_of
from cprsim.survival.fitted_laws import law_of
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Sample
from tests.failures.logs_by_hand import log_of
from tests.failures.played import job_of
from tests.survival.cases import LANL, STEPFUN, needs_lanl, needs_stepfun

SERVERS = 215  #: of which the trace has those that failed; its SOURCE.md says so
HOUR_S = 3600.0


def jobs_own_log(nodes: int, span_s: float, **failures: object) -> FailureLog:
    """The failures of one job by a scenario, nodes back at once, as its log would have them."""
    scenario = job_of({"per": "node"} | failures, nodes - 1, 1)
    timeline = scenario.failure_model.timeline(7, 0)
    cursor, times, struck = cursor_of(timeline), [], []
    while cursor.next_s < span_s:
        now_s, hit = cursor.next_s, cursor.strike()
        times.append(now_s)
        struck.append(hit.servers[0] if hit.servers else nodes - 1)
        cursor.replace(hit, now_s)
        cursor.resume(now_s)
    return FailureLog(np.array(times), np.array(struck), 0.0, span_s, population=nodes)


@pytest.mark.slow
def test_a_scenarios_frailty_is_found_in_its_log():
    """Of 400 nodes, each parameter within 5 / sqrt(n): simulate, log, fit."""
    nodes = 400
    law = {"distribution": "weibull", "mean": "1000 h", "shape": 0.7, "frailty": 1.0}

    fitted = cprsim.fit(jobs_own_log(nodes, 4000 * HOUR_S, **law), view="uptime")

    found, near = fitted.frailty, 5 / math.sqrt(nodes)
    assert found is not None
    assert found.is_wanted
    assert found.found.variance == pytest.approx(1.0, rel=near)
    assert found.found.law.shape == pytest.approx(0.7, rel=near)
    assert found.found.law.expected_s == pytest.approx(1000 * HOUR_S, rel=near)
    assert found.frail[0] <= found.share <= found.frail[1]
    assert found.share > found.alike[1]
    block = tomllib.loads(fitted.toml())["failures"]
    assert block["frailty"] == found.key
    assert block["distribution"] == "weibull"
    assert fitted.law == found.found.law


@pytest.mark.slow
def test_nodes_that_are_alike_get_none():
    law = {"distribution": "weibull", "mean": "1000 h", "shape": 0.7}

    fitted = cprsim.fit(jobs_own_log(200, 4000 * HOUR_S, **law), view="uptime")

    found = fitted.frailty
    assert found is not None
    assert not found.found.is_sure
    assert found.alike[0] <= found.share <= found.alike[1]
    assert "frailty" not in tomllib.loads(fitted.toml())["failures"]


def test_few_nodes_or_failures_tell_nothing():
    law = {"distribution": "exponential", "mean": "1000 h"}
    few = jobs_own_log(19, 40_000 * HOUR_S, **law)

    assert cprsim.fit(few, view="uptime").frailty is None
    assert cprsim.fit(few).frailty is None  # nor do gaps of the whole system


def test_histories_by_hand():
    """Node 0 down 10 to 14, 13 to 15 and 40 to 50; node 1 from 0 on, for 5; node 2 never."""
    log = log_of([0, 10, 13, 40], [1, 0, 0, 0], [5, 14, 15, 50], 100.0, population=3)

    found = histories(log, np.ones(4, bool), 3)
    elsewise = histories(log, np.array([True, False, True, False]), 3)

    assert found.first_s.tolist() == [10.0, 0.0, 100.0]
    assert found.failed.tolist() == [True, True, False]
    lives = list(zip(found.node, found.lasted_s, found.observed, strict=True))
    assert lives == [(0, 25.0, True), (0, 50.0, False), (1, 95.0, False)]
    assert found.failures == 3
    assert elsewise.failed.tolist() == [False, True, False]
    assert elsewise.observed.tolist() == [False, False, False]


def test_logs_are_simulated_as_renewal_theory_has_them():
    """Up for 3, down for 1 on average: of 50 nodes in 400, 100 failures each, 4 between them."""
    outages = KaplanMeier.from_sample(Sample.complete([0.5, 1.5]))
    law = law_of("exponential", 3.0, None)

    failures, samples = simulated(law, 0.0, np.full(50, 400.0), outages, seed=1, logs=20)

    # The variance of a count is time x variance / mean³ of a cycle (Cox 1962, section 4.2).
    one = 400 * (9 + 0.25) / 4**3
    start = 0.25 * (9 + 0.25) / 4  # up at first, not of any age of a cycle: a fraction of a failure
    assert failures.mean() == pytest.approx(100, abs=start + 4 * math.sqrt(one / 1000))
    assert failures.shape == (20, 50)
    assert len(samples) == 20
    assert sum(each.failures for each in samples) == failures.sum() - np.count_nonzero(failures)


@pytest.mark.slow
@needs_lanl
@pytest.mark.parametrize(
    ("system", "is_sure"),
    [(3, False), *(pytest.param(each, True, marks=pytest.mark.slow) for each in (4, 8))],
)
def test_the_worst_node_of_lanl_is_of_another_kind(system: int, is_sure: bool):
    """Alike nodes don't concentrate failures so, nor does a frailty give one node so many."""
    fitted = cprsim.fit(LANL, system=system, view="uptime")

    found = fitted.frailty
    assert found is not None
    assert found.found.is_sure == is_sure
    assert found.share > found.alike[1]
    assert found.worst > found.frail_worst[1]
    assert not found.is_wanted
    assert "frailty" not in fitted.toml().split("[failures]")[1]
    told = (
        "The worst node alone has" if is_sure else "more than by chance, but a frailty is not sure"
    )
    assert any(told in note for note in fitted.notes)


@needs_lanl
@pytest.mark.slow
def test_without_its_worst_nodes_lanl_20_has_a_frailty():
    fitted = cprsim.fit(LANL, system=20, view="uptime", exclude_worst=3)

    found = fitted.frailty
    assert found is not None
    assert found.is_wanted
    assert found.frail[0] <= found.share <= found.frail[1]
    assert found.worst <= found.frail_worst[1]
    assert fitted.document()["best"] == fitted.law.distribution == found.found.law.distribution
    assert fitted.document()["exclude_worst"] == 3
    page = (Path(__file__).parents[2] / "docs/failures.md").read_text(encoding="utf-8")
    frail = [note for note in fitted.notes if "frailty" in note]
    assert "\n".join(frail) in page
    assert fitted.toml().split("[failures]")[1].split("\nlog = ")[0].strip() in page


def raw_share() -> float:
    """Of faults that find a server up, on the worst tenth of all servers, counted by hand."""
    import gzip

    with gzip.open(STEPFUN, "rt", encoding="utf-8") as file:
        events = json.load(file)
    open_faults, failures = Counter[str](), Counter[str]()
    # At the same time what ends comes last: an outage that begins as another ends is one with it.
    for event in sorted(events, key=lambda e: (e["event_time"], e["event_type"] == "fault_end")):
        node = event["node_id"]
        if event["event_type"] == "fault_start":
            failures[node] += open_faults[node] == 0
            open_faults[node] += 1
        else:
            open_faults[node] = max(open_faults[node] - 1, 0)
    counts = sorted(failures.values(), reverse=True) + [0] * (SERVERS - len(failures))
    whole, part = divmod(SERVERS / 10, 1)
    return (sum(counts[: int(whole)]) + part * counts[int(whole)]) / sum(counts)


@pytest.mark.slow
@needs_stepfun
@pytest.mark.slow
def test_servers_of_stepfun_fail_in_clusters_of_their_own():
    """The worst tenth has 41 % of the failures, which looks like a frailty, and is none.

    With exponential lives it would take one: alike, they give the worst tenth half of that. But
    failures of a server follow its own within hours. A Weibull law has that, and then servers that
    are alike give the worst tenth as much, and a frailty adds nothing to the likelihood.
    """
    fitted = cprsim.fit(STEPFUN, view="uptime", population=SERVERS)

    found = fitted.frailty
    assert found is not None
    assert found.share == pytest.approx(raw_share(), rel=0.02)
    assert found.alike[0] <= found.share <= found.alike[1]
    assert not found.found.is_sure
    assert found.found.gain < 1
    assert found.found.alike.shape < 0.5


@needs_stepfun
@pytest.mark.parametrize(("variance", "reproduced"), [(0.0, False), (1.2, True)])
def test_exponential_lives_need_a_frailty_for_stepfun(variance: float, reproduced: bool):
    """One server fails each 220 days; 1.2 is what their counts vary by beyond chance.

    By moments: (variance - mean) / mean² of the failures per server.
    """
    log = cprsim.failures.logs.source.LogSource.from_options(STEPFUN, population=SERVERS).failures()
    rows, _ = merged(log.nodes, log.times_s, log.repaired_s)
    counts = np.bincount(log.nodes[rows], minlength=SERVERS)
    mean = counts.mean()
    if variance:
        assert (counts.var() - mean) / mean**2 == pytest.approx(variance, abs=0.1)
    law = law_of("exponential", float(log.span_s / mean), None)

    failures, _ = simulated(law, variance, np.full(SERVERS, log.span_s), None, seed=3)

    low, high = np.quantile([worst_share(each) for each in failures], [0.025, 0.975])
    assert (low <= worst_share(counts) <= high) == reproduced


@pytest.mark.slow
def test_the_document_has_what_the_notes_say():
    law = {"distribution": "exponential", "mean": "1000 h", "frailty": 1.0}
    fitted = cprsim.fit(jobs_own_log(100, 4000 * HOUR_S, **law), view="uptime")

    document = json.loads(json.dumps(fitted.document()))["frailty"]

    assert isinstance(fitted, LogFit)
    assert document["nodes"] == 100
    assert document["sure"]
    assert document["adequate"]
    low, high = document["frailty_ci95"]
    assert low < document["frailty"] < high
    share = f"has {100 * document['worst_tenth']:.0f} % of the outages"
    assert any(share in note for note in fitted.notes)
