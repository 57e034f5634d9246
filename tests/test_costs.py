"""Oracles: bytes over bandwidth by hand, sizes that the benchmarks publish."""

import math

import pytest

from cprsim.basics.distributions import Distribution
from cprsim.job.costs import CostModel, Costs
from cprsim.job.platform import Cluster, Storage
from cprsim.job.presets import PRESETS
from cprsim.job.tiers import REMOTE, Tier
from cprsim.job.workload import Job, Model
from cprsim.scenario import Scenario
from cprsim.sim.engine import play

PEERS = Tier("peers", "peers")


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


#: What is done, of a model: seconds follow.
SAVE, SAVE_TO_PEERS = ("save", REMOTE), ("save", PEERS)
ALL, LOST, LOST_3 = (("load", REMOTE, *what) for what in (("all", 1), ("lost", 1), ("lost", 3)))
COPY, COPY_3 = (("load", PEERS, "none", nodes) for nodes in (1, 3))
HOST, SLOW_PEERS = Tier("host", "host", write=5e9, read=2e9), Tier("peers", "peers", read=1e8)
FAST = Tier("fast", "peers", save_s=2.0, load_s=3.0)
MEASURED = {"save": "7 s", "load": "3 s"}

#: By case: tables in place of those of `costs`, and the seconds that they give, worked by hand.
CASES = {
    # Bytes over the narrowest link: 10 GB through each card at 1 GB/s, or 40 GB into the store.
    "a save by card": ({"storage": store("8 GB/s")}, {SAVE: 10}),
    "card and store are full": ({"storage": store("4 GB/s")}, {SAVE: 10}),
    "a save by store": ({"storage": store("2 GB/s")}, {SAVE: 20}),
    "a slow store": ({"storage": store("100 MB/s")}, {SAVE: 400}),
    "loads by card": ({"storage": store("1 PB/s", "8 GB/s")}, {ALL: 10, LOST: 10, LOST_3: 10}),
    "loads by store": ({"storage": store("1 PB/s", "2 GB/s")}, {ALL: 20, LOST: 10, LOST_3: 15}),
    "slow loads": ({"storage": store("1 PB/s", "500 MB/s")}, {ALL: 80, LOST: 20, LOST_3: 60}),
    "no cards": (
        {"cluster": {"parameter_servers": 4}, "storage": store("2 GB/s", "5 GB/s")},
        {SAVE: 20, ALL: 8, LOST: 2},
    ),
    "a dense part, of no shard": (
        {"model": {"embedding": "40 GB", "dense": "4 GB"}, "storage": store("2 GB/s", "2 GB/s")},
        {SAVE: 22, ALL: 22, LOST: 10},
    ),
    "optimizer state, of its shard": (
        {"model": {"embedding": "40 GB", "optimizer": "20 GB"}},
        {SAVE: 15, LOST: 15},
    ),
    "copies need no store": ({"storage": store("1 kB/s", "1 kB/s")}, {COPY: 10, COPY_3: 10}),
    "everything, whoever is lost": (
        {"storage": store("1 PB/s", "2 GB/s")},
        {("load", REMOTE, "all", 0): 20},
    ),
    "a share of the bytes": (
        {},
        {
            (*SAVE, 1.0, 0.25): 2.5,
            (*SAVE, 0.5, 0.25): 1.25,
            (*LOST, 1.5): 15,
        },
    ),
    # Peers are reached over cards, and a tier of the host over none.
    "tiers": (
        {},
        {
            SAVE_TO_PEERS: 10,
            ("save", HOST): 2,
            ("load", HOST, "all", 2): 5,
            ("load", SLOW_PEERS, "all", 2): 100,
            ("save", FAST): 2,
            ("load", FAST, "all", 0): 3,
        },
    ),
    # What is measured wins over what is derived, and a special load over the general one.
    "measured": ({"costs": MEASURED}, {SAVE: 7, ALL: 3, ("load", REMOTE, "lost", 2): 3}),
    "measured in part": (
        {"costs": {"load_partial": "3 s"}, "storage": store("8 GB/s", "2 GB/s")},
        {SAVE: 10, ALL: 20, LOST: 3},
    ),
    "measured apart": ({"costs": {"load": "3 s", "load_full": "9 s"}}, {ALL: 9, LOST: 3}),
    "measured without sizes": ({"model": None, "storage": None, "costs": MEASURED}, {COPY: 3}),
    "measured nothing": ({"costs": {"save": "0 s", "load": "0 s"}}, {SAVE: 0, ALL: 0}),
}


@pytest.mark.parametrize("case", CASES)
def test_saves_and_loads_take_what_is_worked_out_by_hand(case):
    tables, seconds = CASES[case]
    model = costs(**tables)
    found = {did: model.seconds(getattr(model, did[0])(*did[1:])) for did in seconds}

    assert found == pytest.approx(seconds, rel=1e-12)


def test_where_nothing_is_lost_or_measured_no_link_is_used():
    model = costs()

    nothing = (("load", REMOTE, "lost", 0), ("load", PEERS, "none", 0), ("load", PEERS, "all", 0))
    assert [model.load(*what).volume for _, *what in nothing] == [0.0, 0.0, 0.0]
    assert model.save(FAST).uses == model.load(FAST, "all", 0).uses == ()


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

    assert rows.rule == rule


# Training and its traffic


def traffic(network: str, **cluster) -> CostModel:
    cluster = {"trainers": 16, "parameter_servers": 4, "nic": "800 MB/s"} | cluster
    return costs(job={"useful_time": "10 h", "network": network}, cluster=cluster)


@pytest.mark.parametrize(
    ("model", "given", "seconds"),
    [
        # 0.5 GB/s a server and 0.125 GB/s a trainer through cards of 0.8 GB/s.
        (traffic("2 GB/s"), (0.0, 0.0), 1.0),
        (traffic("2 GB/s"), (0.0, 1.2e9), 1.0),  # 0.5 + 0.3 into each server: the card is just full
        (traffic("2 GB/s"), (0.0, 2e9), 1.25),
        (traffic("2 GB/s"), (0.0, 4e9), 1.875),
        (traffic("2 GB/s"), (0.1, 0.0), 1.1),  # the policy's own slowdown, if the network is faster
        (traffic("2 GB/s"), (0.1, 2e9), 1.25),
        (traffic("2 GB/s"), (0.5, 2e9), 1.5),
        # 0.2 GB/s a server, but 0.4 GB/s a trainer: more than its card.
        (traffic("800 MB/s", trainers=2, nic="320 MB/s"), (0.0, 0.0), 1.25),
        (costs(), (0.0, 8e9), 2.0),  # no job.network: servers send to each other all the same
    ],
)
def test_what_is_sent_slows_training_once_a_card_is_full(model, given, seconds):
    assert model.seconds(model.training(*given)) == pytest.approx(seconds, rel=1e-12)


def test_without_cards_sending_more_costs_nothing():
    wide = costs(job={"useful_time": "10 h", "network": "2 GB/s"}, cluster={"parameter_servers": 4})

    assert wide.seconds(wide.training(0.0, 1e12)) == 1.0
    assert math.isinf(wide.capacities["server.in"])


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
