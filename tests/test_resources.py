"""What policies take beside time: counted by hand on jobs whose saves are known."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import cprsim
from cprsim.basics.units import format_bytes
from cprsim.runs import runner
from cprsim.runs.digest import Digest
from cprsim.runs.restarts import restarts

GB = 1e9


def summary(policies: dict, failures: dict | None = None, **tables):
    """10 h on 4 servers and 12 trainers; 40 GB of embeddings, 200 MB/s of updates."""
    scenario = cprsim.Scenario(
        **{
            "job": {"useful_time": "10 h", "network": "200 MB/s"},
            "model": {"embedding": "40 GB"},
            "cluster": {"parameter_servers": 4, "trainers": 12},
            "costs": {"save": "1 min", "load": "1 min"},
            "failures": failures or {"exactly": 0},
            "policies": policies,
        }
        | tables
    )
    return cprsim.run(scenario, replications=5).summary


def test_every_save_is_written_to_the_store():
    found = summary({"full": {"system": "full", "interval": "3 h"}})

    assert found.loc["full", "store_bytes"] == 3 * 40 * GB
    assert found.loc["full", "peer_bytes"] == 0


def test_portions_write_what_they_save():
    tables = [{"rows": 10_000_000, "dim": 16, "skew": {"zipf": 1.0}}, {"rows": 10_000, "dim": 16}]
    cpr = {"system": "cpr-mfu", "interval": "4 h", "fraction": 0.25}
    found = summary(
        {"cpr": cpr},
        model={"tables": tables, "tracked_tables": 1},
        job={"useful_time": "10 h", "samples": 10**8},
    )

    # Nine saves of a quarter of the large table and all of the small one.
    assert found.loc["cpr", "store_bytes"] == pytest.approx(9 * (2_500_000 + 10_000) * 64)


def test_copies_are_forwarded_once_more_for_each():
    copies = {f"of {n}": {"system": "replication", "copies": n} for n in (1, 2, 3)}
    found = summary(copies)

    assert found["peer_bytes"].tolist() == [0, 36_000 * 0.2 * GB, 36_000 * 0.4 * GB]
    assert found["memory_overhead"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("slowdown", [0, 0.25, 1.0])
def test_what_was_rolled_back_was_forwarded_as_well(slowdown):
    # Both copies of shard 0 go, and the job returns to its last save.
    strikes = {
        "distribution": "deterministic",
        "mean": "9 h",
        "hits": {"parameter_servers": "100%"},
    }
    copies = {"system": "replication", "interval": "2 h", "slowdown": slowdown}
    found = summary({"it": copies}, strikes)
    trained_s = 36_000 * (1 + found.loc["it", "lost"] / (1 + slowdown))

    assert found.loc["it", "lost"] > 0
    assert found.loc["it", "peer_bytes"] == pytest.approx(trained_s * 0.2 * GB)


def test_machines_that_stand_ready_are_paid_for():
    cluster = {"parameter_servers": 4, "trainers": 12, "spares": 2}
    found = summary({"full": {"system": "full", "interval": "4 h"}}, cluster=cluster)

    assert found.loc["full", "spares"] == 2
    assert found.loc["full", "machine_overhead"] == pytest.approx((1 + 2 / 600) * 18 / 16 - 1)


def test_without_a_model_bytes_are_not_known():
    found = summary({"full": {"system": "full", "interval": "3 h"}}, model=None)
    nothing = summary({"full": {"system": "full", "interval": "30 h"}}, model=None)

    assert math.isnan(found.loc["full", "store_bytes"])
    assert nothing.loc["full", "store_bytes"] == 0


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (2.16e9, "2.16 GB"), (1e15, "1 PB"), (math.nan, "?")],
)
def test_sizes_for_people(size, text):
    assert format_bytes(size) == text


# --- Lost updates trained again -------------------------------------------------------------------


JOB = {
    "job": {"useful_time": "10 h"},
    "cluster": {"parameter_servers": 4, "trainers": 4},
    "costs": {"save": "6 min", "load": "6 min"},
    "failures": {"distribution": "deterministic", "mean": "8 h", "ages": "new"},
    "policies": {
        "full": {"system": "full", "interval": "2 h"},
        "partial": {"system": "partial", "interval": "2 h"},
    },
}


@pytest.mark.parametrize("engine", ["sim", "batch"])
def test_lost_updates_trained_again_by_hand(engine):
    # Saves end 2.1, 4.2 and 6.3 h after the start; the failure at 8 h finds 1.7 h of training
    # since the last. One more save comes after it, and the load takes 0.1 h.
    found = cprsim.run(cprsim.Scenario(**JOB), replications=2, engine=engine).summary

    # Full recovery trains all of it again, 1.7 h.
    assert found.loc["full", "updates_lost"] == 0
    assert found.loc["full", "overhead"] == pytest.approx((0.4 + 0.1 + 1.7) / 10)
    assert found.loc["full", "overhead_retrained"] == found.loc["full", "overhead"]
    # Of four shards one loses it, as many updates as the job makes in 1.7 h / 4.
    assert found.loc["partial", "updates_lost"] == pytest.approx(1.7 / 4 / 10)
    assert found.loc["partial", "overhead"] == pytest.approx((0.4 + 0.1) / 10)
    assert found.loc["partial", "overhead_retrained"] == pytest.approx((0.5 + 1.7 / 4) / 10)


# --- Restarts -------------------------------------------------------------------------------------


#: Failures cost nothing and go on during recovery, so that they are Poisson, 8 in the mean.
PLAIN = {
    "job": {"useful_time": "80 h"},
    "cluster": {"parameter_servers": 4},
    "costs": {"save": "0 s", "load": "0 s"},
    "failures": {"distribution": "exponential", "mean": "10 h"},
    "policies": {"none lost": {"system": "replication", "slowdown": 0, "takeover": "0 s"}},
}


def plain() -> cprsim.Scenario:
    return cprsim.Scenario(**PLAIN)


def test_restarts_are_poisson_where_failures_cost_nothing():
    result = cprsim.run(plain(), replications=4000, seed=3, engine="batch")
    (found,) = restarts(result, 12).values()
    law = stats.poisson(8.0)

    assert (found.p50, found.p95, found.p99) == tuple(law.ppf([0.5, 0.95, 0.99]))
    error = np.sqrt(law.cdf(12) * law.sf(12) / 4000)
    assert found.within == pytest.approx(law.cdf(12), abs=3 * error)
    counted = (result.of("none lost")["failures"] <= 12).mean()
    assert found.within == counted
    assert found.low < found.within < found.high


def test_starts_that_never_get_to_a_save_worked_by_hand():
    """Failures each 50 min; a save of 6 min is due at 60 min of training, which a start keeps.

    The first start saves nothing, the next three do, and the fifth ends before its save is due.
    """
    tables = PLAIN | {
        "job": {"useful_time": "4 h"},
        "costs": {"save": "6 min", "load": "0 s"},
        "failures": {"distribution": "deterministic", "mean": "50 min", "ages": "new"},
        "policies": {"it": {"system": "partial", "interval": "60 min"}},
    }
    result = cprsim.run(cprsim.Scenario(**tables), replications=3)
    (found,) = restarts(result, 1).values()

    # Saves end at 66, 132, 198 min; failures are at 50, 100, 150, 200 and 250 min.
    assert (found.p50, found.no_save) == (5.0, 2.0)
    slow = tables | {"job": {"useful_time": "100 min"}}
    slow["policies"] = {"it": {"system": "partial", "interval": "95 min"}}
    (found,) = restarts(cprsim.run(cprsim.Scenario(**slow), replications=3), 1).values()
    # The save from 95 to 101 min is cut at 100 min, and ends after that.
    assert found.no_save == 2.0


def test_a_digest_says_the_same(monkeypatch):
    kept = cprsim.run(plain(), replications=3000, engine="batch")
    monkeypatch.setattr(runner, "MOST_ROWS", 1)
    digested = cprsim.run(plain(), replications=3000, engine="batch")

    assert isinstance(digested.kept, Digest)
    assert restarts(digested, 9) == restarts(kept, 9)


def test_the_command_says_whether_they_are_enough(tmp_path, called):
    path = tmp_path / "plain.toml"
    path.write_text(plain().to_toml(), encoding="utf-8")
    asked = ["run", str(path), "--replications", "50", "--max-restarts", "100"]
    assert "Restarts of the job, one a failure" in called(*asked).out
    told = json.loads(called(*asked, "--json").out)["policies"]["none lost"]["restarts"]
    assert told["within"]["mean"] == 1.0
    assert told["max_restarts"] == 100


def test_advise_takes_them_as_a_limit():
    """Of Poisson failures, 8 in the mean, 95 % of all runs need 13 at most."""
    enough, too_few = (
        cprsim.advise(plain(), systems=["replication"], max_restarts=most) for most in (14, 11)
    )
    assert enough.best is not None
    assert too_few.best is None
    assert any("over 11 restarts" in (each.why or "") for each in too_few.found)
    assert enough.document()["limits"]["max_restarts"] == 14
