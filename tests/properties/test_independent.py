"""Whole ledgers beside those of simulators that share no code with the engine.

Failures come at random instants, so nothing falls on the same one: `test_same_instant` and the
clock that ticks in `test_properties` are for that.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cprsim
from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import Cause, CohortDraws, stream
from cprsim.contract.ledger import Ledger
from cprsim.scenario import Scenario
from cprsim.sim.engine import play
from tests.drawn.numbers import Draws
from tests.properties import (
    copies_and_spares,
    full_and_partial,
    shard_by_shard,
    tiers_by_hand,
)
from tests.properties.copies_and_spares import CopiesAndSpares
from tests.properties.full_and_partial import FullAndPartial
from tests.properties.one_run import Strike
from tests.properties.shard_by_shard import NobodyLeftError, ShardByShard
from tests.properties.tiers_by_hand import SEVERITIES, Local, Mirror, Remote, TiersByHand


@pytest.fixture
def cases(request: pytest.FixtureRequest) -> int:
    """Return how many jobs a test plays; the quick tier plays fewer."""
    return 60 if request.config.option.quick else 300


def played(
    log: Path, lines: Iterable[str], policy: dict[str, Any], seed: int = 0, **tables: Any
) -> Ledger:
    """The engine's ledger on failures that are `lines` of a log."""
    log.write_text("\n".join(lines), encoding="utf-8")
    failures = {"trace": str(log)} | tables.pop("failures", {})
    scenario = Scenario(failures=failures, policies={"it": policy}, **tables)
    return play(scenario, "it", seed, 0)


def seconds(**values: float) -> dict[str, str]:
    return {key: f"{value!r} s" for key, value in values.items()}


def assert_alike(ledger: Ledger, expected: dict[str, float], job: object) -> None:
    whole = {each.name: 0.0 for each in fields(Ledger)} | expected
    # Rounding of sums of some hundred times, each at most the wall clock.
    near = pytest.approx(whole, rel=1e-9, abs=1e-9 * ledger.wall)
    assert asdict(ledger) == near, f"of {job}"


def some_times(rng: np.random.Generator, until_s: float, most: int) -> list[float]:
    return [float(at_s) for at_s in sorted(rng.uniform(1.0, until_s, rng.integers(1, most + 1)))]


def strikes_on(
    rng: np.random.Generator, servers: int, until_s: float, most: int
) -> tuple[Strike, ...]:
    """Failures of one server, or of two."""

    def strike(at_s: float) -> Strike:
        hit = rng.choice(servers, rng.choice([1, 1, 1, 2]), replace=False)
        return Strike(at_s, tuple(hit.tolist()))

    return tuple(strike(at_s) for at_s in some_times(rng, until_s, most))


def lines_of(strikes: Iterable[Strike]) -> list[str]:
    """Of a log."""
    return ["time_s,node", *(f"{each.at_s!r},{one}" for each in strikes for one in each.servers)]


# --- Accepted loss -------------------------------------------------------------------------------


def draw_shards(rng: np.random.Generator) -> shard_by_shard.Job:
    useful_s, servers, trainers = rng.integers([300, 3, 2], [1500, 6, 6]).tolist()

    def strike(at_s: float) -> shard_by_shard.Strike:
        node = int(rng.integers(servers + trainers))
        if node < servers:
            return shard_by_shard.Strike(at_s, servers=(node,))
        return shard_by_shard.Strike(at_s, trainers=(node - servers,))

    return shard_by_shard.Job(
        useful_s=float(useful_s),
        servers=servers,
        trainers=trainers,
        interval_s=float(rng.integers(20, 200)),
        snapshot_s=float(rng.choice([0, 1, 4])),
        save_s=float(rng.choice([0.5, 10, 45])),
        detect_s=float(rng.choice([0, 1, 15])),
        reschedule_s=float(rng.choice([0, 5, 20, 60])),
        load_s=float(rng.choice([0, 4, 90])),
        strikes=tuple(strike(at_s) for at_s in some_times(rng, 1.2 * useful_s, 15)),
    )


def play_shards(log: Path, job: shard_by_shard.Job) -> Ledger:
    nodes = [
        (each.at_s, node)
        for each in job.strikes
        for node in (*each.servers, *(job.servers + trainer for trainer in each.trainers))
    ]
    return played(
        log,
        ["time_s,node", *(f"{at_s!r},{node}" for at_s, node in nodes)],
        {"system": "accepted-loss"} | seconds(interval=job.interval_s, snapshot=job.snapshot_s),
        job=seconds(useful_time=job.useful_s),
        cluster={"parameter_servers": job.servers, "trainers": job.trainers},
        costs=seconds(
            save=job.save_s, load=job.load_s, detect=job.detect_s, reschedule=job.reschedule_s
        ),
    )


def test_accepted_loss_is_what_shards_tell_one_by_one(tmp_path: Path, cases: int) -> None:
    rng = np.random.default_rng(1)
    seen = Counter[str]()
    for _ in range(cases):
        job = draw_shards(rng)
        try:
            expected = ShardByShard(job).run()
        except NobodyLeftError:
            continue
        assert_alike(play_shards(tmp_path / "log.csv", job), expected, job)
        seen.update(key for key, value in expected.items() if value)
    for entry in ("pls", "updates_lost", "slowdown", "stall", "detect", "absorbed", "saves"):
        assert seen[entry] >= cases / 10, entry


# --- Replication ---------------------------------------------------------------------------------


DELAY = {"distribution": "weibull", "shape": 0.6, "mean": "60 s"}  # short and long ones


def draw_copies(rng: np.random.Generator, delays: Draws) -> copies_and_spares.Job:
    useful_s, servers, copies = rng.integers([300, 4, 2], [1500, 9, 4]).tolist()

    strikes = strikes_on(rng, servers, 2.0 * useful_s, 15)
    return copies_and_spares.Job(
        useful_s=float(useful_s),
        servers=servers,
        copies=copies,
        spares=int(rng.integers(3)),
        interval_s=float(rng.integers(20, 200)),
        save_s=float(rng.choice([1, 10])),
        detect_s=float(rng.choice([0, 1, 3])),
        takeover_s=float(rng.choice([0, 2])),
        load_s=float(rng.choice([0, 4, 30])),
        copy_s=float(rng.choice([0, 2, 40])),
        during_recovery=bool(rng.random() < 0.7),
        delays_s=tuple(delays[i] for i in range(len(strikes))),
        strikes=strikes,
    )


def play_copies(log: Path, job: copies_and_spares.Job, seed: int) -> Ledger:
    policy = {"system": "replication", "copies": job.copies, "slowdown": 0}
    return played(
        log,
        lines_of(job.strikes),
        policy | seconds(interval=job.interval_s, takeover=job.takeover_s),
        seed,
        failures={"during_recovery": job.during_recovery},
        job=seconds(useful_time=job.useful_s),
        cluster={"parameter_servers": job.servers, "spares": job.spares},
        costs={"reschedule": DELAY}
        | seconds(
            save=job.save_s, load_full=job.load_s, load_partial=job.copy_s, detect=job.detect_s
        ),
    )


def test_copies_and_spares_are_what_servers_tell_one_by_one(tmp_path: Path, cases: int) -> None:
    rng = np.random.default_rng(2)
    seen = Counter[str]()
    law = Distribution(**DELAY)
    for seed in range(cases):
        job = draw_copies(rng, Draws(CohortDraws(law.sample, seed, 0, Cause.RESCHEDULE), 0))
        expected = CopiesAndSpares(job).run()
        assert_alike(play_copies(tmp_path / "log.csv", job, seed), expected, job)
        seen.update(key for key, value in expected.items() if value)
    for entry in ("lost", "load", "reschedule", "detect", "absorbed", "saves"):
        assert seen[entry] >= cases / 10, entry


# --- Full and partial recovery --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("holds_nodes", [False, True])
def test_a_law_per_job_is_that_of_lives_of_its_nodes(holds_nodes: bool) -> None:
    """Exponential ones: of nodes that are away nobody fails, by whatever the rest is drawn."""
    runs = 1500
    means = {
        per: cprsim.run(
            Scenario(
                job={"useful_time": "20 h"},
                cluster={"parameter_servers": 4, "holds_nodes": holds_nodes},
                costs={"save": "3 min", "load": "4 min", "detect": "1 min", "reschedule": "30 min"},
                failures={"distribution": "exponential", "mean": mean, "per": per}
                | {"while_waiting": True},
                policies={"full": {"system": "full"}, "partial": {"system": "partial"}},
            ),
            replications=runs,
            seed=seed,
            engine="sim",
        ).replications.groupby("policy")[["wall_s", "failures", "pls"]]
        for seed, (per, mean) in enumerate([("job", "2 h"), ("node", "8 h")])
    }
    gap = means["job"].mean() - means["node"].mean()
    error = np.sqrt((means["job"].var() + means["node"].var()) / runs)
    assert (gap.abs() <= 4 * error + 1e-12).all(axis=None), gap / error


def in_vain(seed: int, cause: Cause, chance: float) -> Iterator[bool]:
    """Of each save, or load, in turn."""
    rng = stream(seed, 0, cause)
    while True:
        yield bool(rng.random() < chance)


def away(
    seed: int, until_s: float, every_s: float, law: Distribution
) -> Iterator[tuple[float, float]]:
    """Outages that begin by then: from when to when."""
    gaps = stream(seed, 0, Cause.OUTAGE)
    lengths, now_s = stream(seed, 0, Cause.OUTAGE, entity=1), 0.0
    while now_s < until_s:
        start_s = now_s + gaps.exponential(every_s)
        now_s = start_s + float(law.sample(lengths, 1)[0])
        yield start_s, now_s


def draw_recoveries(
    rng: np.random.Generator, seed: int, delays: Draws, chances: dict[str, float]
) -> full_and_partial.Job:
    useful_s, servers = rng.integers([300, 2], [1500, 7]).tolist()
    strikes = strikes_on(rng, servers, 2.0 * useful_s, 40)
    return full_and_partial.Job(
        useful_s=float(useful_s),
        servers=servers,
        partial=bool(rng.random() < 0.5),
        held=bool(rng.random() < 0.5),
        retry=bool(rng.random() < 0.5),
        final_save=bool(rng.random() < 0.5),
        interval_s=float(rng.integers(20, 200)),
        save_s=float(rng.choice([1, 10])),
        detect_s=float(rng.choice([0, 1, 15])),
        load_s=float(rng.choice([0, 4, 30])),
        delays_s=tuple(delays[i] for i in range(len(strikes))),
        strikes=strikes,
        voids=in_vain(seed, Cause.SAVE_VOID, chances["save_fails"]),
        failed=in_vain(seed, Cause.LOAD_FAILED, chances["load_fails"]),
    )


def play_recoveries(
    log: Path, job: full_and_partial.Job, seed: int, storage: dict[str, Any]
) -> Ledger:
    return played(
        log,
        lines_of(job.strikes),
        {"system": "partial" if job.partial else "full"}
        | {"after_void": "retry" if job.retry else "skip"}
        | seconds(interval=job.interval_s),
        seed,
        failures={"while_waiting": job.held},
        job={"final_save": job.final_save} | seconds(useful_time=job.useful_s),
        cluster={"parameter_servers": job.servers, "holds_nodes": job.held},
        storage=storage,
        costs={"reschedule": DELAY}
        | seconds(save=job.save_s, load=job.load_s, detect=job.detect_s),
    )


def test_full_and_partial_recovery_are_what_they_are_by_hand(tmp_path: Path, cases: int) -> None:
    """Nodes that are held can fail meanwhile; saves turn out void, and loads fail."""
    rng = np.random.default_rng(5)
    seen = Counter[str]()
    law = Distribution(**DELAY)
    for seed in range(2 * cases):
        chances = {key: float(rng.choice([0, 0.05, 0.5])) for key in ("save_fails", "load_fails")}
        delays = Draws(CohortDraws(law.sample, seed, 0, Cause.RESCHEDULE), 0)
        job, storage = draw_recoveries(rng, seed, delays, chances), dict[str, Any](chances)
        if rng.random() < 0.5:
            job = replace(job, outages=tuple(away(seed, 1e5, 300.0, law)))
            storage["outages"] = {"every": "300 s", "lasts": DELAY}
        run = FullAndPartial(job)
        expected = run.run()
        assert_alike(play_recoveries(tmp_path / "log.csv", job, seed, storage), expected, job)
        seen.update(key for key, value in expected.items() if value)
        seen.update(f"{kind} in vain" for kind in run.in_vain)
    vain = ("save in vain", "load in vain")
    for entry in ("lost", "load", "reschedule", "detect", "absorbed", "saves", "pls", *vain):
        assert seen[entry] >= cases / 5, entry


# --- Two tiers -----------------------------------------------------------------------------------


def draw_tiers(rng: np.random.Generator, near: type[Local | Mirror]) -> tiers_by_hand.Job:
    useful_s = float(rng.integers(300, 1500))
    local = near is Local
    interval_s = rng.uniform(5.0, 60.0)
    load_s = float(rng.choice([0, 2, 25]))

    def strike(at_s: float) -> tiers_by_hand.Strike:
        severity = str(rng.choice(SEVERITIES, p=[0.5, 0.35, 0.15]))
        return tiers_by_hand.Strike(at_s, int(rng.integers(4)), severity)

    return tiers_by_hand.Job(
        useful_s=useful_s,
        servers=4,
        near=Local(interval_s, float(rng.choice([1, 3])), load_s)
        if local
        else Mirror(float(rng.choice([1, 3.5, 20])), int(rng.integers(3)), load_s),
        remote=Remote(
            interval_s=interval_s * rng.uniform(1.0, 5.0),
            snapshot_s=float(rng.choice([0, 1, 4])) if local else 0.0,
            save_s=float(rng.choice([0.5, 10, 45, 150])),
            load_s=float(rng.choice([0, 4, 30])),
        ),
        detect_s=float(rng.choice([0, 1, 3])),
        reschedule_s=float(rng.choice([0, 5, 20])),
        during_recovery=bool(rng.random() < 0.7),
        strikes=tuple(strike(at_s) for at_s in some_times(rng, 3.0 * useful_s, 25)),
    )


def policy_of(job: tiers_by_hand.Job) -> dict[str, Any]:
    near, remote = job.near, job.remote
    if isinstance(near, Mirror):
        times = seconds(iteration=near.step_s, retrieval=near.load_s, interval=remote.interval_s)
        return {"system": "peer-memory", "copies": 2, "behind": near.behind} | times
    background = seconds(
        interval=remote.interval_s,
        save=remote.save_s,
        load=remote.load_s,
        snapshot=remote.snapshot_s,
    )
    return {
        "system": "tiered",
        "local": seconds(interval=near.interval_s, save=near.save_s, load=near.load_s),
        "remote": {"blocking": False} | background,
    }


def play_tiers(log: Path, job: tiers_by_hand.Job) -> Ledger:
    return played(
        log,
        [
            "time_s,node,severity",
            *(f"{each.at_s!r},{each.server},{each.severity}" for each in job.strikes),
        ],
        policy_of(job),
        failures={"during_recovery": job.during_recovery},
        job=seconds(useful_time=job.useful_s),
        cluster={"parameter_servers": job.servers},
        costs=seconds(
            save=job.remote.save_s,
            load=job.remote.load_s,
            detect=job.detect_s,
            reschedule=job.reschedule_s,
        ),
    )


@pytest.mark.slow
@pytest.mark.parametrize("near", [Local, Mirror])
def test_two_tiers_are_what_they_are_by_hand(
    tmp_path: Path, cases: int, near: type[Local | Mirror]
) -> None:
    rng = np.random.default_rng(3)
    seen = Counter[str]()
    for _ in range(cases):
        job = draw_tiers(rng, near)
        expected = TiersByHand(job).run()
        assert_alike(play_tiers(tmp_path / "log.csv", job), expected, job)
        seen.update(key for key, value in expected.items() if value)
    blocking = ("save", "stall") if near is Local else ()
    for entry in ("lost", "load", "reschedule", "detect", "absorbed", "stored", *blocking):
        assert seen[entry] >= cases / 10, entry


# --- By hand -------------------------------------------------------------------------------------


def accepted_loss(log: Path, lines: list[str], trainers: int, **costs: str) -> Ledger:
    """1,000 s on four servers and trainers from number 4 on, with no save."""
    return played(
        log,
        ["time_s,node", *lines],
        {"system": "accepted-loss", "interval": "5000 s"},
        job={"useful_time": "1000 s"},
        cluster={"parameter_servers": 4, "trainers": trainers},
        costs={"save": "8 s", "load": "2 s"} | costs,
    )


def test_a_server_that_fails_meanwhile_keeps_no_trainer_down(tmp_path: Path) -> None:
    # One of two trainers is down from 100 to 120, and a useful second takes 2 s. The server that
    # fails at 110 is filled by 630, which slows nobody.
    run = accepted_loss(
        tmp_path / "log.csv", ["100,4", "110,0"], 2, reschedule="20 s", load="500 s"
    )

    assert run.slowdown == pytest.approx(10.0, rel=1e-12)
    assert run.wall == pytest.approx(1010.0, rel=1e-12)


def test_a_trainer_lost_with_a_server_is_back_before_that_is_filled(tmp_path: Path) -> None:
    run = accepted_loss(
        tmp_path / "log.csv", ["100,0", "100,4"], 2, reschedule="20 s", load="500 s"
    )

    assert run.slowdown == pytest.approx(10.0, rel=1e-12)  # half the trainers for 20 s


def test_two_lost_trainers_slow_the_third_only_while_both_are_down(tmp_path: Path) -> None:
    # From 100 to 150 and from 200 to 250 a useful second takes 3/2 s, which leaves 16 2/3 s of 50
    # over; in between, with both down, 3 s, and 33 1/3 s.
    run = accepted_loss(tmp_path / "log.csv", ["100,4", "150,5"], 3, reschedule="100 s")

    assert run.slowdown == pytest.approx(2 * 50 / 3 + 100 / 3, rel=1e-12)


def test_a_restart_waits_until_the_machines_are_there_and_no_longer(tmp_path: Path) -> None:
    # Servers 0 and 4 fail at 100, too many for the one spare; noticed at 120, and 200 s later both
    # machines are there, at 320. Server 1 fails at 150: both copies of shard 0 are gone. Noticed at
    # 170, it takes the third machine, which came at 300, after as much waiting: 150 s.
    run = played(
        tmp_path / "log.csv",
        ["time_s,node", "100,0", "100,4", "150,1"],
        {"system": "replication", "copies": 2, "slowdown": 0, "takeover": "0 s"},
        job={"useful_time": "1000 s"},
        cluster={"parameter_servers": 8, "spares": 1},
        costs={"save": "8 s", "load": "2 s", "reschedule": "200 s", "detect": "20 s"},
    )

    assert run.lost == 130.0
    assert run.detect == 40.0
    assert run.reschedule == 150.0
    assert run.wall == 320.0 + 2.0 + 1000.0
