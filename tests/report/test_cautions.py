"""What is told beside numbers that rest on little."""

from typing import Any

import pytest

import cprsim
from cprsim.advice import warning
from cprsim.report.decision import decision_lines
from cprsim.report.tables import notes
from cprsim.runs.cautions import of_log

JOB: dict[str, Any] = {
    "job": {"useful_time": "10 d"},
    "cluster": {"parameter_servers": 2, "trainers": 1},
    "costs": {"save": "5 min", "load": "5 min", "reschedule": "5 min", "detect": "0 s"},
    "policies": {"full": {"system": "full"}, "partial": {"system": "partial"}},
}
AS_IT_STANDS = (
    "The log is replayed as it is: every replication has its failures at its instants. So "
    "intervals, and what is called sure, are of this one history, not of what may come; cprsim fit "
    "finds a law in it, whose histories differ."
)
ENDS = (
    "Its last failure is 27.8 h after its start, and the job trains for 10 d: after it nothing "
    "fails."
)
BEGINS = (
    "Its first failure is 20139 d after its start, and the job trains for 10 d: before it nothing "
    'fails. To start with it, set failures.window = "0:1", as cprsim fit --toml does.'
)


def scenario(**failures: Any) -> cprsim.Scenario:
    return cprsim.Scenario(**JOB, failures=failures)


def exponential(mean: str) -> cprsim.Scenario:
    return scenario(distribution="exponential", mean=mean)


@pytest.fixture
def replayed(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("time_s,node\n40000,1\n100000,2\n")
    return scenario(trace=str(log))


def told(job: cprsim.Scenario, replications: int) -> list[str]:
    return list(notes(cprsim.run(job, replications=replications, seed=1)))


@pytest.mark.parametrize(
    ("repair", "spares", "said"), [("8 h", 0, True), ("8 h", 1, False), (None, 0, False)]
)
def test_repairs_that_win_over_the_time_to_reschedule_are_told(repair, spares, said):
    cause = {"name": "disk", "share": 1.0} | ({} if repair is None else {"repair": repair})
    failures = {"distribution": "exponential", "mean": "1 d", "causes": [cause]}
    cluster = {**JOB["cluster"], "spares": spares}
    job = cprsim.Scenario(**{**JOB, "cluster": cluster}, failures=failures)
    found = [each for each in told(job, 30) if each.startswith("Without spare machines")]
    assert len(found) == said


def test_few_failures_are_told_with_how_many_there_were():
    rare = exponential("1000 d")
    met = int(cprsim.run(rare, replications=300, seed=1).of("full")["failures"].sum())

    assert 1 < met < 20
    assert told(rare, 300) == [
        f"{met} failures in 300 replications: ± is too narrow, and means are more likely too low; "
        "play more (--replications), or ask cprsim advise, whose intervals allow for what few have "
        "met."
    ]
    never, none = told(exponential("1e9 d"), 3)
    assert never == "No save within the 10 d of training: full every 2635 d, partial every 2635 d."
    assert none.startswith("No failure in 3 replications: ± is too ")


def test_enough_failures_and_none_at_all_are_no_reason_to_warn():
    assert told(exponential("2 d"), 20) == []
    assert told(exponential("100 d"), 1) == []  # which has no ±
    assert told(scenario(exactly=0), 20) == []
    assert told(scenario(exactly=2), 3) == []  # of how many there are nothing is left to chance


def test_a_log_that_is_replayed_is_one_history(replayed, tmp_path):
    assert told(replayed, 5) == [AS_IT_STANDS, ENDS]
    advice = cprsim.advise(replayed, systems=["full", "partial"])
    assert [each for each in warning.warnings(advice) if each in (AS_IT_STANDS, ENDS)] == [
        AS_IT_STANDS,
        ENDS,
    ]
    # A log that outlasts the job has an end that nobody meets.
    log = tmp_path / "long.csv"
    log.write_text("time_s,node\n40000,1\n1000000,2\n")
    assert list(of_log(scenario(trace=str(log)))) == [AS_IT_STANDS]


def test_a_log_that_begins_after_the_job_is_told_with_the_way_out(tmp_path):
    """Times since 1970, in a column that counts from the start of the job."""
    log = tmp_path / "late.csv"
    log.write_text("time_s,node\n1740000000,1\n1740100000,2\n")
    assert list(of_log(scenario(trace=str(log)))) == [AS_IT_STANDS, BEGINS]
    assert list(of_log(scenario(trace=str(log), window="0:1"))) == [AS_IT_STANDS, ENDS]


RESCHEDULE = (
    "costs.reschedule is not given: failed nodes are replaced at once. Set it, e.g. "
    'reschedule = "12 min".'
)
DETECT = 'costs.detect is not given: failures are noticed at once. Set it, e.g. detect = "30 s".'
NIC = (
    "cluster.nic is not given: network cards limit nothing, neither saves and loads nor copies "
    'between servers. Set it, e.g. nic = "25 Gbit/s".'
)


@pytest.mark.parametrize(
    ("costs", "cluster", "missing"),
    [
        ({}, {}, [RESCHEDULE, DETECT, NIC]),
        ({"reschedule": "0 s", "detect": "0 s"}, {"nic": "1 GB/s"}, []),
        ({"detect": "1 s"}, {"nic": "1 GB/s"}, [RESCHEDULE]),
        ({"reschedule": "1 s", "save": "1 min", "load": "1 min"}, {}, [DETECT]),
    ],
)
def test_costs_that_are_not_given_are_named(costs, cluster, missing):
    job = cprsim.Scenario(
        **JOB
        | {
            "cluster": JOB["cluster"] | cluster,
            "costs": costs,
            "model": {"embedding": "1 TB"},
            "storage": {"write": "1 GB/s", "read": "1 GB/s"},
            "failures": {"distribution": "exponential", "mean": "2 d"},
        }
    )
    assert told(job, 20) == missing
    advice = cprsim.advise(job, systems=["full"])
    assert [each for each in advice.warnings if each in (RESCHEDULE, DETECT, NIC)] == missing


def test_a_job_without_failures_needs_no_costs_of_them():
    job = JOB | {"costs": {"save": "1 s", "load": "1 s"}, "failures": {"exactly": 0}}
    assert told(cprsim.Scenario(**job), 20) == []


FAR = (
    "This is first order, which leaves out failures in saves, in recoveries and in lost "
    "computation: overheads beyond 20.00 % are too low, the more the larger they are. Run cprsim "
    "advise without --closed-form."
)


@pytest.mark.parametrize(("mean", "off"), [("20 h", False), ("3 h", True)])
def test_first_order_says_where_it_is_off(mean, off):
    decision = cprsim.decide(exponential(mean), target_pls=0.1)
    shown = [line for line in decision_lines(decision) if line.startswith("This is first order")]

    assert shown == ([FAR] if off else [])


def test_a_job_whose_saves_take_longer_than_its_mtbf_is_hopeless():
    decision = cprsim.decide(exponential("4 min"), target_pls=0.1)

    assert list(decision_lines(decision))[-1] == (
        "This job is hopeless: a save takes 5 min, and the job fails every 4 min. Make failures "
        "rarer, or saves faster."
    )


def test_policies_that_exceed_the_memory_are_one_line():
    tables = JOB | {
        "model": {"embedding": "20 GB", "optimizer": "adagrad"},
        "cluster": {"parameter_servers": 2, "memory": "30 GB"},
        "policies": {
            "full": {"system": "full"},
            "copied": {"system": "replication", "copies": 2},
            "snapshots": {"system": "accepted-loss"},
        },
    }
    job = cprsim.Scenario(**tables, failures={"exactly": 1})

    assert told(job, 3) == [
        "Not enough memory: copied needs 40 GB on each parameter server, which has 30 GB; "
        "snapshots needs 40 GB on each parameter server, which has 30 GB."
    ]
