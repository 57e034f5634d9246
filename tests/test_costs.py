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


# Derived: bytes over the narrowest link


@pytest.mark.parametrize(
    ("write", "seconds"),
    [
        ("8 GB/s", 10.0),  # 10 GB through each card at 1 GB/s; the store could take 8
        ("4 GB/s", 10.0),  # both are full
        ("2 GB/s", 20.0),  # 40 GB into the store at 2 GB/s
        ("100 MB/s", 400.0),
    ],
)
def test_a_save_takes_as_long_as_the_card_or_the_store(write, seconds):
    model = costs(storage=store(write))

    assert model.seconds(model.save(REMOTE)) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("read", "full", "one", "three"),
    [
        ("8 GB/s", 10.0, 10.0, 10.0),  # each replacement's card is the limit
        ("2 GB/s", 20.0, 10.0, 15.0),  # 40 GB, 10 GB and 30 GB out of the store
        ("500 MB/s", 80.0, 20.0, 60.0),
    ],
)
def test_a_load_reads_all_shards_or_the_lost_ones(read, full, one, three):
    model = costs(storage=store("1 PB/s", read))

    assert model.seconds(model.load(REMOTE, "all", 1)) == pytest.approx(full, rel=1e-12)
    assert model.seconds(model.load(REMOTE, "lost", 1)) == pytest.approx(one, rel=1e-12)
    assert model.seconds(model.load(REMOTE, "lost", 3)) == pytest.approx(three, rel=1e-12)


def test_the_store_alone_limits_where_there_is_no_card():
    model = costs(cluster={"parameter_servers": 4}, storage=store("2 GB/s", "5 GB/s"))

    assert model.seconds(model.save(REMOTE)) == pytest.approx(20.0)
    assert model.seconds(model.load(REMOTE, "all", 1)) == pytest.approx(8.0)
    assert model.seconds(model.load(REMOTE, "lost", 1)) == pytest.approx(2.0)


def test_the_dense_part_is_saved_and_loaded_with_everything_but_belongs_to_no_shard():
    model = costs(model={"embedding": "40 GB", "dense": "4 GB"}, storage=store("2 GB/s", "2 GB/s"))

    assert model.seconds(model.save(REMOTE)) == pytest.approx(22.0)
    assert model.seconds(model.load(REMOTE, "all", 1)) == pytest.approx(22.0)
    assert model.seconds(model.load(REMOTE, "lost", 1)) == pytest.approx(10.0)


def test_optimizer_state_belongs_to_its_shard():
    model = costs(model={"embedding": "40 GB", "optimizer": "20 GB"})

    assert model.seconds(model.save(REMOTE)) == pytest.approx(15.0)
    assert model.seconds(model.load(REMOTE, "lost", 1)) == pytest.approx(15.0)


def test_a_copy_from_peers_needs_no_store():
    model = costs(storage=store("1 kB/s", "1 kB/s"))

    assert model.seconds(model.load(PEERS, "none", 1)) == pytest.approx(10.0)
    assert model.seconds(model.load(PEERS, "none", 3)) == pytest.approx(10.0)


def test_a_rollback_loads_what_it_says():
    model = costs(storage=store("1 PB/s", "2 GB/s"))

    assert model.seconds(model.load(REMOTE, "all", 0)) == pytest.approx(20.0)
    assert model.seconds(model.load(REMOTE, "all", 1)) == pytest.approx(20.0)
    assert model.seconds(model.load(REMOTE, "lost", 3)) == pytest.approx(15.0)
    assert model.seconds(model.load(PEERS, "none", 3)) == pytest.approx(10.0)  # from peers, by card
    assert model.load(REMOTE, "lost", 0).volume == model.load(PEERS, "none", 0).volume == 0.0


# Measured


def test_what_is_measured_wins_over_what_is_derived():
    model = costs(costs={"save": "7 s", "load": "3 s"})

    assert model.seconds(model.save(REMOTE)) == 7.0
    assert (
        model.seconds(model.load(REMOTE, "all", 1))
        == model.seconds(model.load(REMOTE, "lost", 2))
        == 3.0
    )


def test_what_is_measured_of_one_kind_leaves_the_others_derived():
    model = costs(costs={"load_partial": "3 s"}, storage=store("8 GB/s", "2 GB/s"))

    assert model.seconds(model.save(REMOTE)) == pytest.approx(10.0)
    assert model.seconds(model.load(REMOTE, "all", 1)) == pytest.approx(20.0)
    assert model.seconds(model.load(REMOTE, "lost", 1)) == 3.0


def test_a_special_load_wins_over_the_general_one():
    model = costs(costs={"load": "3 s", "load_full": "9 s"})

    assert model.seconds(model.load(REMOTE, "all", 1)) == 9.0
    assert model.seconds(model.load(REMOTE, "lost", 1)) == 3.0


def test_a_copy_takes_a_measured_partial_load_where_no_model_says_its_size():
    model = costs(model=None, storage=None, costs={"save": "7 s", "load": "3 s"})

    assert model.seconds(model.load(PEERS, "none", 1)) == 3.0


def test_a_measured_nothing_is_measured():
    model = costs(costs={"save": "0 s", "load": "0 s"})

    assert model.seconds(model.save(REMOTE)) == model.seconds(model.load(REMOTE, "all", 1)) == 0.0


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


# Training and its traffic


def traffic(network: str, **cluster) -> CostModel:
    cluster = {"trainers": 16, "parameter_servers": 4, "nic": "800 MB/s"} | cluster
    return costs(job={"useful_time": "10 h", "network": network}, cluster=cluster)


@pytest.mark.parametrize(
    ("forwarded", "seconds"),
    [
        (0.0, 1.0),
        (1.2e9, 1.0),  # 0.5 + 0.3 GB/s into each server: the card is just full
        (2e9, 1.25),  # 1 GB/s through a card of 0.8
        (4e9, 1.875),
    ],
)
def test_what_servers_send_to_each_other_slows_training_once_a_card_is_full(forwarded, seconds):
    model = traffic("2 GB/s")  # 0.5 GB/s a server, 0.125 GB/s a trainer
    training = model.training(peer_bytes_per_s=forwarded)

    assert model.seconds(training) == pytest.approx(seconds, rel=1e-12)


def test_the_trainers_cards_count_as_well():
    # 0.2 GB/s a server, but 0.4 GB/s a trainer: more than its card.
    model = traffic("800 MB/s", trainers=2, nic="320 MB/s")

    assert model.seconds(model.training()) == pytest.approx(1.25, rel=1e-12)


def test_a_slowdown_of_the_policys_own_counts_where_the_network_is_faster():
    model = traffic("2 GB/s")

    assert model.seconds(model.training(0.1)) == pytest.approx(1.1)
    assert model.seconds(model.training(0.1, 2e9)) == pytest.approx(1.25)
    assert model.seconds(model.training(0.5, 2e9)) == pytest.approx(1.5)


def test_servers_send_to_each_other_even_where_trainers_are_not_known_to():
    model = costs()  # 1 GB/s a card, no job.network

    assert model.seconds(model.training(peer_bytes_per_s=8e9)) == pytest.approx(2.0)


def test_without_traffic_or_without_cards_sending_more_costs_nothing():
    wide = costs(job={"useful_time": "10 h", "network": "2 GB/s"}, cluster={"parameter_servers": 4})

    assert wide.seconds(wide.training(0.0, 1e12)) == 1.0
    assert math.isinf(wide.capacities["server.in"])


# Tiers


def test_a_tier_of_peers_is_reached_over_cards_and_one_of_the_host_over_none():
    model, host = costs(), Tier("host", "host", write=5e9, read=2e9)

    assert model.seconds(model.save(PEERS)) == pytest.approx(10.0)
    assert model.seconds(model.save(host)) == pytest.approx(2.0)
    assert model.seconds(model.load(host, "all", 2)) == pytest.approx(5.0)
    assert model.seconds(model.load(Tier("peers", "peers", read=1e8), "all", 2)) == 100.0
    assert model.load(PEERS, "all", 0).volume == 0.0  # who is up has what it returns to


def test_a_tier_with_measured_costs_draws_on_no_link():
    model, fast = costs(), Tier("fast", "peers", save_s=2.0, load_s=3.0)

    assert model.save(fast).uses == model.load(fast, "all", 0).uses == ()
    assert (model.seconds(model.save(fast)), model.seconds(model.load(fast, "all", 0))) == (2, 3)


def test_writing_and_reading_a_share_of_the_bytes_takes_that_share_of_the_time():
    model = costs()

    assert model.seconds(model.save(REMOTE, 1.0, 0.25)) == pytest.approx(2.5)
    assert model.seconds(model.save(REMOTE, 0.5, 0.25)) == pytest.approx(1.25)
    assert model.seconds(model.load(REMOTE, "lost", 1, 1.5)) == pytest.approx(15.0)


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
