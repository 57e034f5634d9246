"""What policies take beside time: counted by hand on jobs whose saves are known."""

import math

import pytest

import cprsim
from cprsim.basics.units import format_bytes

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


def test_what_was_rolled_back_was_forwarded_as_well():
    # Both copies of shard 0 go, and the job returns to its start.
    strikes = {
        "distribution": "deterministic",
        "mean": "9 h",
        "hits": {"parameter_servers": "100%"},
    }
    found = summary({"it": {"system": "replication", "interval": "5 h"}}, strikes)
    trained_s = 36_000 * (1 + found.loc["it", "lost"])

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
