"""Oracles: bytes over bandwidth by hand, sizes that the benchmarks publish."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from cprsim.basics.distributions import Distribution
from cprsim.job.costs import CostModel, Costs
from cprsim.job.platform import Cluster, Storage
from cprsim.job.presets import PRESETS
from cprsim.job.tiers import REMOTE, Tier
from cprsim.job.transfer import Transfer
from cprsim.job.workload import Job, Model
from cprsim.scenario import Scenario
from cprsim.sim.engine import play

Transferred = Callable[[CostModel], Transfer]


def costs(**tables) -> CostModel:
    """Four servers hold 40 GB, so 10 GB each; cards of 1 GB/s; no other limit, nothing measured."""
    tables = {
        "job": {"useful_time": "10 h"},
        "model": {"embedding": "40 GB"},
        "cluster": {"trainers": 16, "parameter_servers": 4, "nic": "1 GB/s"},
        "storage": {"write": "1 PB/s", "read": "1 PB/s"},
        "costs": {},
    } | tables
    return CostModel(
        Costs.model_validate(tables["costs"]),
        Job.model_validate(tables["job"]),
        Model.model_validate(tables["model"]) if tables["model"] else None,
        Cluster.model_validate(tables["cluster"]),
        Storage.model_validate(tables["storage"]) if tables["storage"] else None,
    )


def store(write: str, read: str = "1 PB/s") -> dict[str, str]:
    return {"write": write, "read": read}


def save(*of) -> Transferred:
    return lambda model: model.save(*of)


def load(*of) -> Transferred:
    return lambda model: model.load(*of)


def training(*of) -> Transferred:
    return lambda model: model.training(*of)


def traffic(network: str, **cluster) -> dict[str, Any]:
    """Tables of training that moves so much."""
    cluster = {"trainers": 16, "parameter_servers": 4, "nic": "800 MB/s"} | cluster
    return {"job": {"useful_time": "10 h", "network": network}, "cluster": cluster}


PEERS, HOST = Tier("peers", "peers"), Tier("host", "host", write=5e9, read=2e9)
FAST = Tier("fast", "peers", save_s=2.0, load_s=3.0)
NO_CARD, READ_5 = {"cluster": {"parameter_servers": 4}}, ("2 GB/s", "5 GB/s")
DENSE = {
    "model": {"embedding": "40 GB", "dense": "4 GB"},
    "storage": store("2 GB/s", "2 GB/s"),
}
STATE = {"model": {"embedding": "40 GB", "optimizer": "20 GB"}}
MEASURED = {"costs": {"save": "7 s", "load": "3 s"}}
PARTIAL = {"costs": {"load_partial": "3 s"}, "storage": store("8 GB/s", "2 GB/s")}
TRAFFIC = traffic("2 GB/s")
#: Tables, a transfer under them, and how long it takes by hand.
TRANSFERS = {
    # Derived: bytes over the narrowest link. 10 GB of a save go through each card at 1 GB/s.
    "store of more than the cards": ({"storage": store("8 GB/s")}, save(REMOTE), 10.0),
    "store and cards alike": ({"storage": store("4 GB/s")}, save(REMOTE), 10.0),
    "40 GB into a store of less": ({"storage": store("2 GB/s")}, save(REMOTE), 20.0),
    "slow store": ({"storage": store("100 MB/s")}, save(REMOTE), 400.0),
    # Each replacement's card is the limit, or what all of them get out of the store.
    **{
        f"{lost} of {read}": ({"storage": store("1 PB/s", read)}, load(REMOTE, *of), seconds)
        for read, all_s, one_s, three_s in (
            ("8 GB/s", 10.0, 10.0, 10.0),
            ("2 GB/s", 20.0, 10.0, 15.0),
            ("500 MB/s", 80.0, 20.0, 60.0),
        )
        for lost, of, seconds in (
            ("everything", ("all", 1), all_s),
            ("everything, with no server lost,", ("all", 0), all_s),
            ("one shard", ("lost", 1), one_s),
            ("three shards", ("lost", 3), three_s),
            ("no shard", ("lost", 0), 0.0),
        )
    },
    "no card": (NO_CARD | {"storage": store("2 GB/s")}, save(REMOTE), 20.0),
    "no card, everything": (NO_CARD | {"storage": store(*READ_5)}, load(REMOTE, "all", 1), 8.0),
    "no card, a shard": (NO_CARD | {"storage": store(*READ_5)}, load(REMOTE, "lost", 1), 2.0),
    # The dense part belongs to no shard, optimizer state does.
    "dense part saved": (DENSE, save(REMOTE), 22.0),
    "dense part loaded": (DENSE, load(REMOTE, "all", 1), 22.0),
    "dense part in no shard": (DENSE, load(REMOTE, "lost", 1), 10.0),
    "optimizer state saved": (STATE, save(REMOTE), 15.0),
    "optimizer state of a shard": (STATE, load(REMOTE, "lost", 1), 15.0),
    # A copy from peers needs no store.
    "one copy": ({"storage": store("1 kB/s", "1 kB/s")}, load(PEERS, "none", 1), 10.0),
    "three copies": ({"storage": store("1 kB/s", "1 kB/s")}, load(PEERS, "none", 3), 10.0),
    "no copy": ({}, load(PEERS, "none", 0), 0.0),
    # What is measured wins, a special load over the general one; the rest stays derived.
    "measured save": (MEASURED, save(REMOTE), 7.0),
    "measured load": (MEASURED, load(REMOTE, "all", 1), 3.0),
    "measured load of shards": (MEASURED, load(REMOTE, "lost", 2), 3.0),
    "measured load of shards alone": (PARTIAL, load(REMOTE, "lost", 1), 3.0),
    "save beside that": (PARTIAL, save(REMOTE), 10.0),
    "load of everything beside that": (PARTIAL, load(REMOTE, "all", 1), 20.0),
    "measured load of everything": (
        {"costs": {"load": "3 s", "load_full": "9 s"}},
        load(REMOTE, "all", 1),
        9.0,
    ),
    "general load beside that": (
        {"costs": {"load": "3 s", "load_full": "9 s"}},
        load(REMOTE, "lost", 1),
        3.0,
    ),
    "copy without a model": (
        MEASURED | {"model": None, "storage": None},
        load(PEERS, "none", 1),
        3.0,
    ),
    "measured nothing": ({"costs": {"save": "0 s"}}, save(REMOTE), 0.0),
    "measured load of nothing": ({"costs": {"load": "0 s"}}, load(REMOTE, "all", 1), 0.0),
    # Tiers: peers over cards, the host over none, measured ones over no link.
    "save to peers": ({}, save(PEERS), 10.0),
    "save to the host": ({}, save(HOST), 2.0),
    "load from the host": ({}, load(HOST, "all", 2), 5.0),
    "load from slow peers": ({}, load(Tier("peers", "peers", read=1e8), "all", 2), 100.0),
    "those who are up have what they return to": ({}, load(PEERS, "all", 0), 0.0),
    "save to a measured tier": ({}, save(FAST), 2.0),
    "load from a measured tier": ({}, load(FAST, "all", 0), 3.0),
    # A share of the bytes.
    "quarter of what is written": ({}, save(REMOTE, 1.0, 0.25), 2.5),
    "quarter of a half": ({}, save(REMOTE, 0.5, 0.25), 1.25),
    "half as much more read": ({}, load(REMOTE, "lost", 1, 1.5), 15.0),
    # Training, useful seconds of 1: 0.5 GB/s a server, 0.125 GB/s a trainer, cards of 0.8.
    "training": (TRAFFIC, training(), 1.0),
    "0.5 + 0.3 GB/s into a card of 0.8": (TRAFFIC, training(0.0, 1.2e9), 1.0),
    "1 GB/s into a card of 0.8": (TRAFFIC, training(0.0, 2e9), 1.25),
    "1.5 GB/s into a card of 0.8": (TRAFFIC, training(0.0, 4e9), 1.875),
    "slowdown of the policy's own": (TRAFFIC, training(0.1), 1.1),
    "card slower than that": (TRAFFIC, training(0.1, 2e9), 1.25),
    "card faster than that": (TRAFFIC, training(0.5, 2e9), 1.5),
    # 0.2 GB/s a server, but 0.4 GB/s a trainer: more than its card.
    "trainers' cards": (traffic("800 MB/s", trainers=2, nic="320 MB/s"), training(), 1.25),
    "servers alone": ({}, training(0.0, 8e9), 2.0),
    "traffic without cards": (
        NO_CARD | {"job": {"useful_time": "10 h", "network": "2 GB/s"}},
        training(0.0, 1e12),
        1.0,
    ),
}


@pytest.mark.parametrize("name", TRANSFERS)
def test_a_transfer_takes_what_its_bytes_take_over_the_narrowest_link(name: str) -> None:
    tables, transfer, seconds = TRANSFERS[name]
    model = costs(**tables)

    assert model.seconds(transfer(model)) == pytest.approx(seconds, rel=1e-12)


def test_what_is_measured_draws_on_no_link():
    model = costs()

    assert model.save(FAST).uses == model.load(FAST, "all", 0).uses == ()
    assert math.isinf(costs(**NO_CARD).capacities["server.in"])


# Other costs


@pytest.mark.parametrize(
    ("reschedule", "mean_s"),
    [("20 min", 1200.0), ({"distribution": "lognormal", "mean": "20 min", "cv": 1.5}, 1200.0)],
)
def test_rescheduling_is_a_duration_or_a_law_of_one(reschedule, mean_s):
    model = costs(costs={"reschedule": reschedule})

    assert model.reschedule_mean_s == mean_s
    assert isinstance(model.costs.reschedule, Distribution) == isinstance(reschedule, dict)


@pytest.mark.parametrize(("given", "lacks"), [("model", "[storage]"), ("storage", "[model]")])
def test_what_is_neither_measured_nor_derivable_is_named(given, lacks):
    absent = {"model": None} if given == "storage" else {"storage": None}

    assert costs(**absent).missing() == [
        f"costs.{cost}: is missing and can't be derived without {lacks}; "
        f'write e.g. {cost} = "2 min", or give [model] and [storage]'
        for cost in ("save", "load")
    ]


# Models


@pytest.mark.parametrize(
    ("preset", "rows", "dim", "shown"),
    [  # facebookresearch/dlrm; CPR, MLSys 2021, section 5.1 gives 2.16 GB for Kaggle as recalled
        ("criteo-kaggle", 33_762_577, 16, "2.16 GB"),
        ("criteo-terabyte", 49_126_297, 64, "12.58 GB"),
    ],
)
def test_presets_have_the_rows_and_sizes_of_the_benchmarks(preset, rows, dim, shown):
    model = Model(preset=preset)

    assert len(PRESETS[preset].rows) == 26
    assert PRESETS[preset].dim == dim
    assert sum(PRESETS[preset].rows) == rows
    assert model.shard_bytes == rows * dim * 4
    assert f"{model.shard_bytes / 1e9:.2f} GB" == shown


def test_the_dense_part_of_a_preset_is_its_two_networks():
    # Kaggle: 13-512-256-64-16 and 367-512-256-1, weights and biases, float32.
    bottom = (13 * 512 + 512) + (512 * 256 + 256) + (256 * 64 + 64) + (64 * 16 + 16)
    top = (367 * 512 + 512) + (512 * 256 + 256) + (256 * 1 + 1)

    assert Model(preset="criteo-kaggle").dense_bytes == 4 * (bottom + top) == 4 * 475_985


def test_a_preset_takes_other_sizes_beside_its_rows():
    model = Model.model_validate({"preset": "criteo-kaggle", "optimizer": "1 GB", "dense": "5 MB"})

    assert model.shard_bytes == 33_762_577 * 16 * 4 + 1e9
    assert model.checkpoint_bytes == model.shard_bytes + 5e6


@pytest.mark.parametrize(
    ("table", "size"),
    [
        ({"rows": 1_000_000, "dim": 16}, 64e6),  # float32
        ({"rows": 1_000_000, "dim": 16, "dtype": "float64"}, 128e6),
        ({"rows": 1_000_000, "dim": 16, "dtype": "float16"}, 32e6),
        ({"rows": 1_000_000, "dim": 16, "dtype": "bfloat16"}, 32e6),
        ({"rows": 1_000_000, "dim": 16, "dtype": "int8"}, 16e6),
        ({"rows": 1_000_000, "dim": 16, "optimizer_slots": 2}, 192e6),
    ],
)
def test_tables_have_the_size_of_their_elements(table, size):
    other = {"rows": 10, "dim": 2}
    model = Model.model_validate({"tables": [table, other], "dense": "1 kB"})

    assert model.shard_bytes == size + 80
    assert model.checkpoint_bytes == size + 80 + 1000


@pytest.mark.parametrize(
    ("optimizer", "of_float32", "of_float16"),
    [
        ("sgd", 64e6, 32e6),
        ("adagrad", 128e6, 64e6),  # a value for each of 16 M elements
        ("rowwise-adagrad", 68e6, 36e6),  # 4 B for each of 1 M rows
        ("adam", 192e6, 96e6),  # two values
    ],
)
def test_optimizer_state_follows_from_the_name(optimizer, of_float32, of_float16):
    table = {"rows": 1_000_000, "dim": 16}
    sizes = [
        Model.model_validate({"tables": [table | more], "optimizer": optimizer}).shard_bytes
        for more in ({}, {"dtype": "float16"}, {"optimizer_slots": 1})
    ]

    assert sizes == [of_float32, of_float16, 128e6]  # slots of a table come first


@pytest.mark.parametrize(
    ("optimizer", "size"),
    [("sgd", 10e9), ("adagrad", 20e9), ("adam", 30e9), ("7 GB", 17e9), (None, 10e9)],
)
def test_optimizer_state_of_rows_whose_number_is_unknown(optimizer, size):
    given = {} if optimizer is None else {"optimizer": optimizer}

    assert Model.model_validate({"embedding": "10 GB"} | given).shard_bytes == size


def test_a_named_optimizer_replaces_that_of_a_preset():
    rows = 200_000_000  # of 128 float32, with Adagrad's state in the preset
    state = {"sgd": 0, "adagrad": 512, "rowwise-adagrad": 4, "adam": 1024}
    for optimizer, of_a_row in state.items():
        model = Model.model_validate({"preset": "ecrec-criteo", "optimizer": optimizer})
        assert model.shard_bytes == rows * (512 + of_a_row)
    assert Model(preset="ecrec-criteo").shard_bytes == rows * 1024
    kaggle = Model.model_validate({"preset": "criteo-kaggle", "optimizer": "adam"})
    assert kaggle.dense_bytes == 3 * 4 * 475_985  # its networks are trained by the same


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ({}, "sgd"),
        ({"optimizer": "sgd"}, "sgd"),
        ({"optimizer": "adagrad"}, "adagrad"),
        ({"optimizer": "rowwise-adagrad"}, "adagrad"),
        ({"optimizer": "adam"}, "sgd"),
        ({"optimizer": "1 GB"}, "sgd"),
        ({"optimizer": "adagrad", "optimizer_rule": "sgd"}, "sgd"),
    ],
    ids=str,
)
def test_how_far_updates_move_a_row_follows_from_the_optimizer(keys, rule):
    rows = Model.model_validate({"preset": "criteo-kaggle", **keys}).rows
    assert rows is not None

    assert rows.rule == rule


# On the simulated cluster


def job(policy: dict, **storage) -> Scenario:
    """1000 s of training that moves 0.8 GB/s through each server's card of 1 GB/s; no failures."""
    return Scenario(
        job={"useful_time": "1000 s", "network": "3.2 GB/s"},
        model={"embedding": "40 GB"},
        cluster={"trainers": 16, "parameter_servers": 4, "nic": "1 GB/s"},
        storage={"write": "1 PB/s", "read": "1 PB/s"} | storage,
        failures={"exactly": 0},
        policies={"it": policy},
    )


@pytest.mark.parametrize(
    ("write", "slower_s"),
    [
        # Out of a card go 0.8 GB/s of training and 10 GB of a save, that alone would go at 1 GB/s:
        # each gets half, 0.5 GB/s. The save takes 20 s, in which training does 0.5 / 0.8 x 20 s =
        # 12.5 s of work: 7.5 s slower, and there are two saves, after 400 s and 800 s of training.
        ("1 PB/s", 2 * 7.5),
        # The store gives each server 0.4 GB/s: 25 s a save, training on the other 0.6 GB/s of its
        # 0.8 does 18.75 s of work in them.
        ("1.6 GB/s", 2 * 6.25),
        # 0.2 GB/s is what training leaves anyway.
        ("800 MB/s", 0.0),
        ("400 MB/s", 0.0),
    ],
)
def test_a_background_save_takes_its_share_of_the_card_from_training(write, slower_s):
    policy = {"system": "async", "interval": "400 s", "snapshot": "5 s"}
    ledger = play(job(policy, write=write), "it", seed=0, replication=0)

    assert ledger.slowdown == pytest.approx(slower_s, rel=1e-12, abs=1e-9)
    assert ledger.stall == 10.0
    assert ledger.save == 0.0
    assert ledger.saves == 2
    assert ledger.wall == pytest.approx(1010 + slower_s, rel=1e-12)
