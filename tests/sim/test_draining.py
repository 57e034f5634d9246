"""Nodes that are announced to fail move to spare machines before they do."""

import math
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cprsim.contract import Drain, Draining, EmergencySave, Loss, Notice, Plan, Save
from cprsim.contract.expected import expected
from cprsim.contract.ledger import Ledger
from cprsim.errors import RunError
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of
from cprsim.sim.engine import play
from cprsim.testing import Recording
from tests.sim.means import assert_mean, more_s

CERTAIN = {"lead": "20 s", "recall": 1.0}
ROWS = {"tables": [{"rows": 10**6, "dim": 16}]}


def scenario(failures: dict[str, Any], **more: Any) -> Scenario:
    """A job of 1000 s on four servers that saves for 5 s each 100 s, and drains a node in 8 s."""
    cluster = {"parameter_servers": 4, "spares": 1} | more.pop("cluster", {})
    costs = {"save": "5 s", "load": "10 s", "reschedule": "30 s", "drain": "8 s"}
    policy = {"system": "full", "interval": "100 s", "on_notice": "drain"} | more.pop("policy", {})
    return Scenario(
        job={"useful_time": "1000 s"} | more.pop("job", {}),
        cluster=cluster,
        costs={k: v for k, v in (costs | more.pop("costs", {})).items() if v is not None},
        failures=failures,
        policies={"it": policy},
        **more,
    )


def log(folder: Path, *lines: str) -> dict[str, Any]:
    """Failures by lines of their second and their node, all of them announced."""
    text = "\n".join(["time_s,node,severity", *lines, ""])
    (folder / "log.csv").write_text(text, encoding="utf-8")
    return {"trace": str(folder / "log.csv"), "notice": CERTAIN}


def played(it: Scenario, seed: int = 0) -> tuple[Ledger, dict[str, list[tuple[float, float]]]]:
    """A run, and its spans by cause."""
    seen, spans = Recording(), {}
    ledger = play(it, "it", seed, 0, seen)
    for span in seen.spans:
        spans.setdefault(span.cause, []).append((span.start_s, span.end_s))
    return ledger, spans


def test_a_false_alarm_takes_a_spare_as_well():
    notice = {"lead": "20 s", "false_alarms": "10 / 1000 s"}
    ledger, spans = played(scenario({"exactly": 0, "notice": notice}))

    drains = spans["reschedule"]
    assert len(drains) > 3
    assert all(end_s - start_s == pytest.approx(8) for start_s, end_s in drains)
    assert ledger.wall == pytest.approx(1000 + 8 * len(drains) + 5 * ledger.saves)
    apart = [after[0] - before[1] for before, after in pairwise(drains)]
    assert min(apart) >= 30  # until the spare is made good


def test_a_failure_ends_a_drain_that_is_under_way():
    """Of lives of nodes another may come first: the one that was announced is still ahead."""
    law = {"distribution": "exponential", "mean": "200 s", "per": "node"}
    it = scenario(law | {"notice": {"lead": "15 s", "recall": 0.6}}, cluster={"spares": 4})
    cut = 0
    for seed in range(30):
        ledger, spans = played(it, seed)
        drained = [end_s - start_s for start_s, end_s in spans.get("reschedule", [])]
        cut += sum(each < 7.999 for each in drained)
        assert ledger.reschedule == pytest.approx(sum(drained))
    assert cut


@pytest.mark.parametrize("per", ["job", "node"])
def test_draining_moves_no_failure(per):
    """The next one is a gap, or a life of the machine that takes over, after the deadline."""
    law = {"distribution": "gamma", "shape": 2.0, "mean": "150 s", "per": per, "ages": "new"}
    it = scenario(
        law | {"notice": CERTAIN | {"recall": 0.5}}, cluster={"parameter_servers": 1, "spares": 1}
    )
    checked = 0
    for seed in range(20):
        cursor = cursor_of(it.failure_model.timeline(seed, 0))
        first_s = cursor.next_s
        cursor.replace(cursor.strike(), first_s)
        cursor.resume(first_s)
        seen = Recording()
        play(it, "it", seed, 0, seen)
        struck_s = [at_s for at_s, _ in seen.failures]
        held = [span for span in seen.spans if span.cause == "reschedule"]
        before = [span for span in held if struck_s and span.end_s <= struck_s[0]]
        if len(before) == 1 and before[0].end_s <= first_s:
            assert struck_s[0] == cursor.next_s
            checked += 1
    assert checked


@pytest.mark.parametrize(
    ("lead", "spares", "answer", "note"),
    [
        ("8 s", 1, Draining(8.0, EmergencySave(Save(), 5.0)), None),
        (
            "7 s",
            1,
            EmergencySave(Save(), 5.0),
            "a notice of 7 s is too short to drain a node in, which takes 8 s and a step before "
            "it; everything is saved",
        ),
        (
            "4 s",
            1,
            None,
            "a notice of 4 s is too short to drain a node in, which takes 8 s and a step before "
            "it; notices are ignored",
        ),
        (
            "20 s",
            0,
            EmergencySave(Save(), 5.0),
            "no spare machine (cluster.spares) is ready to drain a node to; everything is saved",
        ),
    ],
)
def test_what_answers_follows_from_lead_and_spares(lead, spares, answer, note):
    it = scenario({"exactly": 0, "notice": {"lead": lead}}, cluster={"spares": spares})

    assert it.plan("it").on_notice == answer
    assert it.plan("it").note == note


def test_a_drain_takes_what_a_shard_takes_over_the_cards():
    """A million rows of 16 float32 on four servers, at 4 MB/s: 16 MB take 4 s."""
    it = scenario(
        {"exactly": 0, "notice": CERTAIN},
        costs={"drain": None},
        cluster={"nic": "4 MB/s"},
        model=ROWS,
        storage={"write": "1 GB/s", "read": "1 GB/s"},
    )
    assert it.plan("it").on_notice.takes_s == pytest.approx(4.0)


def test_the_interval_is_that_of_failures_that_are_not_drained():
    law = {"distribution": "exponential", "mean": "2000 s"}
    it = scenario(law | {"notice": CERTAIN | {"recall": 0.75}}, policy={"interval": "optimal"})

    assert it.plan("it").interval_s == pytest.approx(math.sqrt(2 * 4 * 2000 * 5))
    found, plan = expected(it.plan("it"), it.context), it.plan("it")
    alone = scenario(law | {"mean": "8000 s"}, policy={"interval": f"{plan.interval_s!r} s"})
    without = expected(alone.plan("it"), alone.context)
    assert found.overhead == pytest.approx(without.overhead + 0.75 / 2000 * 8)


@pytest.mark.slow
def test_makespan_is_that_of_the_failures_that_are_not_drained():
    """What 200,000 s more of training take, of which each drain holds some up.

    A failure that nobody drains comes after a geometric number of gaps, of which each that is
    drained has so much less for training: `(M - r drain) / (1 - r)` of it in the mean, and by the
    renewal form of full recovery `(M / (1 - r) + wait + load) (exp((W + C) / that) - 1)` for each
    interval. A notice that comes in a save is told at its end, with time left to drain. Neglected
    are gaps too short for that, of 3e-3 of the failures.
    """
    interval_s, save_s, wait_s, load_s, mtbf_s, recall, drain_s = 1000, 60, 60, 40, 8000, 0.6, 20
    law = {"distribution": "exponential", "mean": f"{mtbf_s} s", "during_recovery": False}
    notice = {"lead": f"{drain_s + save_s + 1} s", "recall": recall}
    costs = {"save": f"{save_s} s", "load": f"{load_s} s", "reschedule": f"{wait_s} s"}
    costs["drain"] = f"{drain_s} s"
    keys = {"costs": costs, "cluster": {"spares": 4}, "policy": {"interval": f"{interval_s} s"}}
    it = partial(scenario, law | {"notice": notice}, **keys)

    apart_s = (mtbf_s - recall * drain_s) / (1 - recall)
    # Spares take over at once: what is waited for is nothing but the load.
    each_s = (mtbf_s / (1 - recall) + load_s) * math.expm1((interval_s + save_s) / apart_s)
    exact_s = 200_000 / interval_s * each_s
    assert_mean(more_s(it, (50_000, 250_000), 80, 5), exact_s, within=0.002)


HITS = {"distribution": "exponential", "mean": "1000 s", "hits": {"parameter_servers": 2}}


@pytest.mark.parametrize(
    "failures",
    [HITS, {"distribution": "exponential", "mean": "1000 s", "severity": {"cluster": 1.0}}],
    ids=["more nodes than spares", "the whole cluster"],
)
def test_what_can_not_be_drained_is_planned_for(failures):
    """By Young's interval, where a save isn't in time either."""
    notice = {"notice": {"lead": "9 s", "recall": 0.9}}
    slow = {"save": "10 s"}
    optimal = {"interval": "optimal"}
    it = scenario(failures | notice, costs=slow, policy=optimal)
    plan, ignoring = it.plan("it"), scenario(failures, costs=slow, policy=optimal).plan("it")

    assert plan.interval_s == ignoring.interval_s
    assert plan.on_notice is None
    assert plan.note == (
        "no failure takes so few nodes that 1 spare machine can take their places; notices are "
        "ignored"
    )


def test_estimates_drain_the_kinds_of_failures_that_spares_are_enough_for():
    """Half of the failures take the whole cluster: they are felt as if nobody announced any."""
    law = {"distribution": "exponential", "mean": "1000 s"}
    mixed = law | {"severity": {"node": 0.5, "cluster": 0.5}}
    notice = {"notice": {"lead": "9 s", "recall": 1.0}}
    it, ignoring = scenario(mixed | notice, costs={"save": "10 s"}), scenario(mixed)
    drained, felt = (expected(each.plan("it"), each.context) for each in (it, ignoring))
    whole = scenario(law | {"severity": {"cluster": 1.0}})
    cluster = expected(whole.plan("it"), whole.context)

    assert drained.lost == pytest.approx(felt.lost / 2)
    assert drained.load == pytest.approx(cluster.load / 2)
    assert drained.detect == pytest.approx(felt.detect / 2)


def test_where_all_is_announced_it_is_told_that_nothing_else_is_saved_for():
    law = {"distribution": "exponential", "mean": "1000 s", "notice": CERTAIN}
    plan = scenario(law, policy={"interval": "optimal"}).plan("it")

    assert plan.interval_s == math.inf
    assert plan.note == "failures.notice announces all that it saves for, so it makes no other save"


class _DrainsNobody:
    """Answers each notice with a drain of nobody, at once."""

    def __init__(self, other, drain):
        self._other, self._drain, self._notice = other, drain, None

    def tell(self, event):
        if isinstance(event, Notice):
            self._notice = event
        else:
            self._other.tell(event)

    def ask(self, now):
        notice, self._notice = self._notice, None
        return self._other.ask(now) if notice is None else self._drain(notice)


def answering(it: Scenario, drain: Callable[[Notice], Drain]) -> Scenario:
    """The same, with a controller of its own that answers notices so."""

    class OwnPlan(Plan):
        def start(self) -> Any:
            return _DrainsNobody(Plan.start(self), drain)

    plan = it.plan("it")
    it.plans["it"] = OwnPlan(**{each.name: getattr(plan, each.name) for each in fields(Plan)})
    return it


@pytest.mark.parametrize("line", ["80,0,node", "80,0,cluster"])
def test_a_drain_of_nobody_spares_nobody(line, tmp_path):
    def drain(notice):
        return Drain(Loss(frozenset(), frozenset()), notice.deadline_s, 0.0)

    ledger, _ = played(answering(scenario(log(tmp_path, line)), drain))

    assert (ledger.failures, ledger.absorbed) == (1, 0)


def test_more_nodes_than_spares_are_drained_by_nobody(tmp_path):
    def drain(notice):
        return Drain(Loss(frozenset([0, 1]), frozenset()), notice.deadline_s, 0.0)

    with pytest.raises(RunError) as error:
        played(answering(scenario(log(tmp_path, "80,0,node")), drain))

    assert str(error.value) == "2 nodes can't be drained to 1 spare machine"
