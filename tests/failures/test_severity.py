"""How much of the memory of the nodes hit survives: drawn by number, or told by a log."""

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from cprsim.basics.streams import COHORT, Cause, stream
from cprsim.failures.causes import SeverityWeights
from cprsim.failures.cohorts import SeverityRows
from cprsim.failures.hits import Hit
from cprsim.failures.model import FailureModel
from cprsim.failures.processes import kinds_of
from cprsim.failures.shared import CohortStreams
from cprsim.failures.spec import Failures
from cprsim.failures.timeline import AbsoluteTimeline, Cursor
from cprsim.job.platform import Cluster
from cprsim.job.severity import SEVERITIES, Severity
from cprsim.job.workload import Job
from cprsim.scenario.mapping import apply_override
from cprsim.sim.cursor import cursor_of
from tests.failures.played import lives, played, timelines

HOUR = 3600.0
CLUSTER = Cluster(parameter_servers=4, trainers=2)
EVERYONE = ((0, 1, 2, 3), (0, 1))
JOB = Job.model_validate({"useful_time": "100 h"})
MIXED = {"process": 0.6, "node": 0.35, "cluster": 0.05}
UPTIME = "{0} 0 {1} 5 n{1} 1 {2} {3} NULL\n{0} 0 {1} 5 n{1} 0 {3} {4} NULL\n"
LOGS = {
    # Nodes 0 to 5, one of which is down every five hours; the last two at once.
    "csv": "time_s,node\n"
    + "".join(f"{18000 * i},{i % 6}\n" for i in range(1, 40))
    + f"{18000 * 39},4\n",
    "lanl": "System,nodes,nodenumz,Prob Started,Prob Fixed\n"
    + "".join(f"8,8,{i % 8},{1 + i // 20}/{1 + i % 20}/2004 {i % 24}:00,\n" for i in range(200)),
    "fta": "".join(
        UPTIME.format(100 * lap + node, node, at := 90_000 * lap + 5000 * node, at + 60, at + 90)
        for lap in range(20)
        for node in range(8)
    ),
    "spot": f'{{"metadata": {{"gap_seconds": 3000}}, "data": [{", ".join(["8, 7, 8, 6"] * 30)}]}}',
}
LIVES = {"distribution": "weibull", "shape": 2.0, "mean": "100 h", "per": "node"}
SOURCES: dict[str, dict[str, object]] = {
    "job": {"distribution": "gamma", "shape": 0.675, "mean": "10 h"},
    "exactly": {"exactly": 40},
    "preset": {"preset": "lanl-20"},
    "lives": LIVES,
    "ages": LIVES | {"ages": "stationary"},
    "bursts": LIVES | {"bursts": {"mean": "40 h", "rack": 3, "sizes": {"1": 1, "3": 1}}},
    "csv": {"trace": "log"},
    "lanl": {"trace": "log", "reader": "lanl", "system": 8},
    "fta": {"trace": "log", "reader": "fta"},
    "spot": {"trace": "log", "reader": "spot"},
}
every_source = pytest.mark.parametrize("source", SOURCES)


def model(failures: dict, **more: object) -> FailureModel:
    checked = FailureModel(Failures.model_validate(failures | more), CLUSTER, JOB)
    checked.check()
    return checked


@pytest.fixture
def of(tmp_path: Path, monkeypatch):
    """A failure model of a source, where its log lies."""
    monkeypatch.chdir(tmp_path)

    def make(source: str, **more: object) -> FailureModel:
        if source in LOGS:
            Path("log").write_text(LOGS[source])
        return model(SOURCES[source], **more)

    return make


def drawn(weights: SeverityWeights, count: int, at=(0, 0), row: int = 0) -> list[Severity]:
    rows = SeverityRows(kinds_of(weights), CLUSTER, CohortStreams(*at))
    return [SEVERITIES[place] for place in rows.of_failures(np.array([row]), count)[0]]


class Told(SeverityRows):
    """Severities that are told, not drawn; `node` after the last of them."""

    def __init__(self, *told: Severity, cluster: Cluster = CLUSTER) -> None:
        every = SeverityWeights(**dict.fromkeys(SEVERITIES, 1.0))
        super().__init__(kinds_of(every), cluster, CohortStreams(0, 0))
        self._told = [SEVERITIES.index(each) for each in told]

    def causes(self, rows: np.ndarray, failures: int) -> np.ndarray:
        told = [*self._told, *[SEVERITIES.index("node")] * failures][:failures]
        return np.tile(told, (len(rows), 1))


def log_of(times_s, hits, *told: Severity, period_s: float = math.inf) -> AbsoluteTimeline:
    log = AbsoluteTimeline(times_s, hits, period_s)
    log.severities = Told(*told)
    return log


# --- Weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        (MIXED, (0.6, 0.35, 0.05)),
        ({"process": 6, "cluster": 2}, (0.75, 0.0, 0.25)),
        ({"node": 7}, (0.0, 1.0, 0.0)),
        ({"process": 1e308, "node": 1e308}, (0.5, 0.5, 0.0)),
        ({"process": 5e-324, "node": 0}, (1.0, 0.0, 0.0)),
    ],
)
def test_only_the_ratios_of_weights_count(weights: dict, shares: tuple[float, ...]) -> None:
    found = SeverityWeights.model_validate(weights).shares()

    assert tuple(found) == SEVERITIES
    assert tuple(found.values()) == pytest.approx(shares, rel=1e-12)


@every_source
def test_every_source_tells_its_shares(of, source: str) -> None:
    assert of(source).process.severity_shares == {"process": 0.0, "node": 1.0, "cluster": 0.0}
    assert of(source, severity=MIXED).process.severity_shares == pytest.approx(MIXED, rel=1e-12)


def test_severities_stay_where_another_source_takes_the_place_of_one() -> None:
    tables = {"failures": SOURCES["bursts"] | {"severity": {"node": 1}}}

    apply_override(tables, "failures.exactly=2")
    apply_override(tables, "failures.severity.process=3")

    assert tables == {"failures": {"exactly": 2, "severity": {"node": 1, "process": 3}}}


# --- Draws ---------------------------------------------------------------------------------------


def test_severities_have_a_stream_of_their_own_and_do_not_depend_on_the_order() -> None:
    weights = SeverityWeights.model_validate(MIXED)
    rng = stream(3, 2, Cause.SEVERITY)
    blocks = [rng.random((COHORT, columns))[7] for columns in (8, 8, 16, 32)]
    uniform = np.concatenate(blocks)[:41]
    by_hand = ["process" if u < 0.6 else "node" if u < 0.95 else "cluster" for u in uniform]

    assert drawn(weights, 41, at=(3, 2), row=7) == by_hand
    assert len({cause.value for cause in Cause}) == len(Cause.__members__)


@every_source
def test_severities_move_no_other_draw(of, source: str) -> None:
    """Without failures of the cluster, which replace more nodes, all else stays as it is."""
    plain, mixed = (
        played(cursor_of(each.timeline(0, 1)), 1000.0)
        for each in (of(source), of(source, severity={"process": 1, "node": 1}))
    )

    assert {hit.severity for _, hit in plain} == {"node"}
    assert [(at_s, hit._replace(severity="node")) for at_s, hit in mixed] == plain
    assert {hit.severity for _, hit in mixed} == {"process", "node"}


@every_source
def test_every_policy_meets_the_same_severities(of, source: str) -> None:
    """A failure of a fixed instant has its own, whatever was absorbed; others go by number."""
    fixed = source in LOGS or source == "exactly"
    failures = of(source, severity={"process": 1, "node": 1, "cluster": 1})
    timeline = failures.timeline(2, 4)
    runs = [played(cursor_of(timeline), downtime_s, 20) for downtime_s in (0.0, 30.0, 25_000.0)]
    again = played(cursor_of(failures.timeline(2, 4)), 25_000.0, 20)
    other = played(cursor_of(failures.timeline(2, 5)), 25_000.0, 20)
    keyed = [
        {at_s if fixed else i: hit.severity for i, (at_s, hit) in enumerate(run)} for run in runs
    ]

    assert again == runs[2]
    assert [hit.severity for _, hit in other] != [hit.severity for _, hit in again]
    for one, two in pairwise(keyed):
        shared = one.keys() & two.keys()
        assert len(shared) >= 4
        assert {key: one[key] for key in shared} == {key: two[key] for key in shared}
    assert {hit[:2] for run in runs for _, hit in run if hit.severity == "cluster"} == {EVERYONE}


# --- Failures of the cluster, worked by hand -----------------------------------------------------


def test_a_failure_of_the_cluster_takes_every_node_and_leaves_the_other_victims() -> None:
    job = SOURCES["job"] | {"hits": {"weights": {"parameter_servers": 1, "trainers": 1}}}
    plain = played(cursor_of(model(job).timeline(0, 0)), 0.0)
    mixed = played(cursor_of(model(job, severity=MIXED | {"cluster": 1.0}).timeline(0, 0)), 0.0)
    kinds = {hit.severity for _, hit in mixed}

    assert kinds == set(SEVERITIES)
    for (at_s, victims), (same_s, hit) in zip(plain, mixed, strict=True):
        assert same_s == at_s
        assert hit[:2] == (EVERYONE if hit.severity == "cluster" else victims[:2])


def test_absorbed_failures_keep_their_severities() -> None:
    hits = [Hit((0,), ()), Hit((1,), ()), Hit((), (1,)), Hit((2,), ())]
    severities: list[Severity] = ["process", "cluster", "process", "cluster"]
    timeline = log_of([10.0, 20.0, 30.0, 40.0], hits, *severities)

    assert played(cursor_of(timeline), 0.0) == [
        (10.0, Hit((0,), (), "process")),
        (20.0, Hit(*EVERYONE, "cluster")),
        (30.0, Hit((), (1,), "process")),
        (40.0, Hit(*EVERYONE, "cluster")),
    ]
    # The ones at 20 and 40 s fall into downtimes of 15 s.
    assert played(cursor_of(timeline), 15.0) == [
        (10.0, Hit((0,), (), "process")),
        (30.0, Hit((), (1,), "process")),
    ]


def test_a_log_that_comes_again_has_new_severities() -> None:
    hits = [Hit((0,), ()), Hit((1,), ())]
    circle = log_of([1.0, 2.0], hits, "node", "process", period_s=10.0)
    severities = [hit.severity for _, hit in played(cursor_of(circle), 0.0, most=4)]

    assert severities == ["node", "process", "node", "node"]


def graded(bursts: Sequence[tuple[float, set[int]]], *told: Severity) -> Cursor:
    """Nodes 0 and 1 are servers, 2 and 3 trainers; all live 100 s."""
    return lives(
        100.0, bursts, severities=Told(*told, cluster=Cluster(parameter_servers=2, trainers=2))
    )


def test_lives_bursts_and_failures_of_the_cluster_worked_by_hand() -> None:
    cursor = graded([(30.0, {0}), (50.0, {1}), (200.0, {2})], "process", "cluster")

    assert played(cursor, 5.0, most=5) == [
        (30.0, Hit((0,), (), "process")),
        # It strikes server 1, and everyone: nobody's first life, and not that of server 0 from
        # 35 s, comes to its end.
        (50.0, Hit((0, 1), (0, 1), "cluster")),
        (155.0, Hit((0, 1), (0, 1))),
        (200.0, Hit((), (0,))),
        (260.0, Hit((0, 1), (1,))),
    ]
    assert cursor.absorbed == 0


def test_nobody_fails_while_the_whole_cluster_is_down() -> None:
    cursor = graded([(30.0, {0}), (120.0, {3}), (135.0, {1})], "cluster", "process")
    cursor.strike()
    cursor.resume(31.0)  # nobody is replaced yet

    assert cursor.next_s == 120.0  # first lives would have ended at 100 s
    # All are down, trainer 1 is hit once more.
    assert cursor.strike() == Hit((), (1,), "process")
    cursor.resume(121.0)
    cursor.replace(Hit((0, 1), (0, 1)), 130.0)
    assert played(cursor, 0.0, most=2) == [(135.0, Hit((1,), ())), (230.0, Hit((0,), (0, 1)))]


# --- What policies plan with ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failures", "means"),
    [
        # One failure in five takes all 4 servers and 2 trainers.
        ({"exactly": 5}, (0.8 * 1 + 0.2 * 4, 0.2 * 2, 1.0)),
        ({"exactly": 5, "hits": {"trainers": 2}}, (0.2 * 4, 2.0, 0.2)),
        (
            SOURCES["job"] | {"hits": {"weights": {"parameter_servers": 1, "trainers": 3}}},
            (0.8 * 0.25 + 0.2 * 4, 0.8 * 0.75 + 0.2 * 2, 0.8 * 0.25 + 0.2),
        ),
        (LIVES, (0.8 * 4 / 6 + 0.2 * 4, 0.8 * 2 / 6 + 0.2 * 2, 0.8 * 4 / 6 + 0.2)),
    ],
)
def test_means_with_failures_of_the_cluster_by_hand(
    failures: dict, means: tuple[float, ...]
) -> None:
    mixed = model(failures, severity={"process": 3, "node": 1, "cluster": 1})
    assert mixed.mean_hit == pytest.approx(means, rel=1e-12)
    assert mixed.mtbf_s == model(failures).mtbf_s


@every_source
def test_means_of_every_source_count_failures_of_the_cluster(of, source: str) -> None:
    alone, mixed, all_of_it = (
        of(source, severity={"node": 1 - share, "cluster": share}).mean_hit
        for share in (0.0, 0.25, 1.0)
    )

    assert all_of_it == (4, 2, 1)
    for a, b, c in zip(alone, mixed, all_of_it, strict=True):
        assert b == pytest.approx(0.75 * a + 0.25 * c, rel=1e-12)


def test_no_rounding_takes_down_more_than_there_is() -> None:
    cluster, law = Cluster(parameter_servers=7, trainers=3), {"distribution": "exponential"}
    for n in range(1, 400):
        for weights, hits in (
            ({"cluster": 1.0}, {"parameter_servers": 1 + n % 7, "trainers": n % 3}),
            ({"process": n, "cluster": 7.0}, {"parameter_servers": 7, "trainers": 3}),
        ):
            keys = law | {"mean": "9 h", "severity": weights, "hits": hits}
            assert FailureModel(Failures(**keys), cluster, JOB).mean_hit == (7, 3, 1)


@pytest.mark.slow
def test_what_is_played_is_what_the_means_say() -> None:
    """Exponential lives, bursts and failures of the cluster: a Poisson process with marks."""
    bursts = SOURCES["bursts"]["bursts"]
    failures = {"distribution": "exponential", "mean": "200 h", "per": "node", "bursts": bursts}
    mixed = model(failures, severity={"process": 5, "node": 3, "cluster": 2})
    until_s, runs = 1000 * HOUR, 100
    # Six nodes with a life of 200 h each, and two racks with a burst every 40 h each.
    mean = 1000 * (6 / 200 + 2 / 40)
    by_run = [
        [hit for _, hit in played(cursor_of(each), most=math.inf, until_s=until_s)]
        for each in timelines(mixed, 0, range(runs))
    ]
    counts = np.array([len(run) for run in by_run])
    hits = [hit for run in by_run for hit in run]
    servers = np.array([len(hit.servers) for hit in hits])
    trainers = np.array([len(hit.trainers) for hit in hits])

    assert mixed.mtbf_s == pytest.approx(until_s / mean, rel=1e-12)
    assert len(hits) == pytest.approx(mean * runs, abs=3 * math.sqrt(mean * runs))
    # Fourth central moment of a Poisson law: mean + 3 mean^2.
    deviation = math.sqrt((mean + 2 * mean**2) / runs)
    assert counts.var(ddof=1) == pytest.approx(mean, abs=3 * deviation)
    for seen, told in [
        (servers, mixed.mean_hit.servers),
        (trainers, mixed.mean_hit.trainers),
        (servers > 0, mixed.mean_hit.server_share),
        *(
            (np.array([hit.severity == severity for hit in hits]), share)
            for severity, share in mixed.process.severity_shares.items()
        ),
    ]:
        assert seen.mean() == pytest.approx(told, abs=3 * seen.std() / math.sqrt(seen.size))


# --- Logs that tell ------------------------------------------------------------------------------

TELLING = """\
time_s,node,severity
36000,3,process
72000,5,process
72000,0,node
72010,1,process
108000,2,cluster
144000,1,process
"""


@pytest.fixture
def telling(tmp_path: Path, monkeypatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(TELLING)
    return {"trace": "log.csv"}


def test_the_worst_severity_of_an_instant_wins(telling) -> None:
    told = model(telling)

    assert played(cursor_of(told.timeline(0, 0)), 0.0) == [
        (36000.0, Hit((3,), (), "process")),
        (72000.0, Hit((0,), (1,), "node")),
        (72010.0, Hit((1,), (), "process")),
        (108000.0, Hit(*EVERYONE, "cluster")),
        (144000.0, Hit((1,), (), "process")),
    ]
    assert told.process.severity_shares == {"process": 3 / 5, "node": 1 / 5, "cluster": 1 / 5}
    assert told.mean_hit == pytest.approx((8 / 5, 3 / 5, 1.0))


def test_failures_that_are_made_one_have_the_worst_severity(telling) -> None:
    hits = [
        hit for _, hit in played(cursor_of(model(telling, coalesce="1 min").timeline(0, 0)), 0.0)
    ]

    assert hits[1] == Hit((0, 1), (1,), "node")
    assert len(hits) == 4
