"""Oracles: textbook examples, numbers worked by hand, processor sharing, a max-min certificate."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.job.transfer import Transfer
from tests.sim.fluid import Fabric, Flow

LINKS = ("a", "b", "c")
sizes = st.floats(0.1, 100.0)


@st.composite
def transfers(draw: st.DrawFn) -> Transfer:
    names = draw(st.lists(st.sampled_from(LINKS), unique=True))
    return Transfer(
        volume=draw(st.floats(1.0, 1e4)),
        cap=draw(sizes | st.just(math.inf)) if names else draw(sizes),
        uses=tuple((name, draw(sizes)) for name in names),
        weight=draw(st.floats(0.1, 10.0)),
        unit=draw(st.floats(0.1, 10.0)),
    )


networks = st.fixed_dictionaries(dict.fromkeys(LINKS, sizes))
crowds = st.lists(transfers(), min_size=1, max_size=6)


def along(*links: str, volume: float = 1e6, **fields: Any) -> Transfer:
    return Transfer(volume, uses=tuple((link, 1.0) for link in links), **fields)


def open_all(
    capacities: Mapping[str, float], moving: Iterable[Transfer]
) -> tuple[Fabric, list[Flow]]:
    fabric = Fabric(capacities)
    return fabric, [fabric.open(transfer, 0.0) for transfer in moving]


def rates(capacities: Mapping[str, float], *moving: Transfer) -> list[float]:
    return [flow.rate for flow in open_all(capacities, moving)[1]]


def ends(
    capacities: Mapping[str, float], moving: Iterable[Transfer], at: float = 0.0
) -> list[float]:
    """When each transfer ends if all start at `at`; driven as the simulator does it."""
    fabric = Fabric(capacities)
    flows = [fabric.open(transfer, at) for transfer in moving]
    ended: dict[Flow, float] = {}
    while fabric.next_end_s < math.inf:
        now = fabric.next_end_s
        finished = fabric.advance(now)
        assert finished
        ended |= dict.fromkeys(finished, now)
    return [ended[flow] for flow in flows]


def assert_max_min(
    capacities: Mapping[str, float], flows: Iterable[Flow], tol: float = 1e-9
) -> None:
    """The certificate: feasible, and every flow is at its cap or has a bottleneck.

    A bottleneck is a full link on which no other flow has a higher level. A feasible allocation is
    max-min fair if and only if each flow has one (Bertsekas and Gallager, section 6.5.2).
    """
    flows = list(flows)
    load = dict.fromkeys(capacities, 0.0)
    top = dict.fromkeys(capacities, 0.0)

    def level(flow: Flow) -> float:
        return flow.rate * flow.transfer.unit / flow.transfer.weight

    for flow in flows:
        for link, coefficient in flow.transfer.uses:
            load[link] += coefficient * flow.rate
            top[link] = max(top[link], level(flow))
    for link, capacity in capacities.items():
        assert load[link] <= capacity * (1 + tol)
    for flow in flows:
        assert flow.rate <= flow.transfer.cap
        assert flow.rate >= flow.transfer.cap * (1 - tol) or any(
            load[link] >= capacities[link] * (1 - tol) and level(flow) >= top[link] * (1 - tol)
            for link, _ in flow.transfer.uses
        )


# Rates: known answers


def test_the_five_sessions_of_bertsekas_and_gallager():
    # Data Networks, 2nd ed., section 6.5.2: capacities 1. All rise to 1/3, where link 23 is full
    # with sessions 2, 3 and 5; session 1 goes on to 2/3 beside one of them; session 4 to 1.
    capacities = {"23": 1.0, "35": 1.0, "45": 1.0}
    sessions = [along("35"), along("23"), along("23", "35"), along("45"), along("23")]

    assert rates(capacities, *sessions) == pytest.approx([2 / 3, 1 / 3, 1 / 3, 1, 1 / 3])


@pytest.mark.parametrize("n", [1, 2, 3, 7, 50])
def test_equal_flows_share_one_link_equally(n: int):
    assert rates({"a": 10.0}, *[along("a")] * n) == [10.0 / n] * n


@pytest.mark.parametrize(
    ("second", "expected"),
    [(1.0, [0.5, 0.5, 0.5]), (2.0, [0.5, 0.5, 1.5]), (0.5, [0.25, 0.75, 0.25])],
)
def test_parking_lot_of_two_links(second: float, expected: list[float]):
    found = rates({"a": 1.0, "b": second}, along("a", "b"), along("a"), along("b"))

    assert found == pytest.approx(expected)


RATES: dict[str, tuple[dict[str, float], list[Transfer], list[float]]] = {
    "what a capped flow leaves goes to the others": (
        {"a": 10.0},
        [along("a", cap=1.0), along("a"), along("a")],
        [1.0, 4.5, 4.5],
    ),
    "weights divide a link in their proportion": (
        {"a": 8.0},
        [along("a"), along("a", weight=3.0)],
        [2.0, 6.0],
    ),
    # b gives the second flow 1 of its fair 5 on a.
    "a link elsewhere that limits a flow frees its share here": (
        {"a": 10.0, "b": 1.0},
        [along("a"), along("a", "b")],
        [9.0, 1.0],
    ),
    # 1 r + 4 r = 10: a group of four beside one flow gives each of the five members 2.
    "a flow that takes more of the link per unit still gets an equal rate": (
        {"a": 10.0},
        [along("a"), Transfer(1e6, uses=(("a", 4.0),))],
        [2.0, 2.0],
    ),
    "infinite links and unused links bind nobody": (
        {"a": math.inf, "b": 1.0},
        [along("a", cap=5.0), Transfer(1e6, 7.0, (("a", 1.0), ("b", 0.0))), along("b")],
        [5.0, 7.0, 1.0],
    ),
    "a flow without links or that uses nothing of them runs at its cap": (
        {"a": 10.0},
        [along("a"), Transfer(3.0, cap=1.0), Transfer(1e6, 7.0, (("a", 0.0),)), along("a")],
        [5.0, 1.0, 7.0, 5.0],
    ),
    # 147 * (10 / 147) is more than 10 in floats.
    "a flow with a link to itself has all of it": (
        {"a": 10.0, "b": 1.0},
        [Transfer(1e6, uses=(("a", 147.0),), unit=7.0), along("b")],
        [10.0 / 147.0, 1.0],
    ),
    # Together they want all of it, so nobody has to share, which would round 2.0 down.
    "flows that fill a link have what they ask for": (
        {"a": 55.0},
        [Transfer(1e6, 1.0, (("a", 49.0),)), Transfer(1e6, 2.0, (("a", 3.0),), unit=49.0)],
        [1.0, 2.0],
    ),
    # The three on b use up a to the last digit, and the fourth's room there rounds to 0.
    "rounding starves nobody": (
        {"a": math.nextafter(1.9, 2.0), "b": 3.0},
        [
            *(Transfer(1e6, uses=(("a", c), ("b", 1.0))) for c in (0.9, 0.4, 0.6)),
            Transfer(1e6, uses=(("a", 1e-17),)),
        ],
        [1.0] * 4,
    ),
}


@pytest.mark.whole
@pytest.mark.parametrize("name", RATES)
def test_rates_by_hand(name: str):
    capacities, moving, expected = RATES[name]

    assert rates(capacities, *moving) == expected


def test_a_flow_at_its_cap_among_contenders_has_its_cap_exactly():
    # 1 / (3 / 49) * (3 / 49) isn't 1 in floats.
    training = Transfer(1e6, cap=1.0, uses=(("a", 1.0),), weight=3.0, unit=49.0)

    assert rates({"a": 1000.0}, training, along("a"), along("a"))[0] == 1.0


# Rates: training beside a save, by hand

NIC, STORE = "server.out", "store.write"


@pytest.mark.parametrize(
    ("traffic", "store", "train", "save"),
    [
        (4.0, math.inf, 1.0, 6.0),  # 4 of 10 B/s is less than half: training keeps all it wants
        (8.0, math.inf, 0.625, 5.0),  # half each: 5 of the 8 B/s it wants, so it is 1.6x slower
        (8.0, 12.0, 0.875, 3.0),  # the store gives each of 4 servers 3 B/s; 7 are left for 8
        (8.0, 4.0, 1.0, 1.0),  # a slow store disturbs nobody
    ],
)
def test_a_save_slows_training_by_what_it_takes_of_the_card(
    traffic: float, store: float, train: float, save: float
):
    training = Transfer(1e6, cap=1.0, uses=((NIC, traffic),), unit=traffic)
    saving = Transfer(1e6, uses=((NIC, 1.0), (STORE, 4.0)))

    assert rates({NIC: 10.0, STORE: store}, training, saving) == pytest.approx([train, save])


def test_training_loses_the_hand_worked_seconds_to_a_save():
    # 20 useful seconds at 8 B each. A save of 50 B from t=4 shares 10 B/s for 10 s, in which
    # training does 6.25 useful seconds; 9.75 are left at t=14: 3.75 s lost.
    fabric = Fabric({NIC: 10.0})
    training = fabric.open(Transfer(20.0, cap=1.0, uses=((NIC, 8.0),), unit=8.0), 0.0)
    fabric.advance(4.0)
    saving = fabric.open(Transfer(50.0, uses=((NIC, 1.0),)), 4.0)

    assert fabric.next_end_s == saving.ends_at == 14.0
    assert fabric.advance(14.0) == [saving]
    assert training.done == 10.25
    assert training.ends_at == 23.75


# Rates: properties


@given(networks, crowds, st.data())
def test_rates_are_max_min_fair_whoever_comes_and_goes(
    capacities: dict[str, float], crowd: list[Transfer], data: st.DataObject
):
    fabric = Fabric(capacities)
    flows: list[Flow] = []
    for transfer in crowd:
        flows.append(fabric.open(transfer, 0.0))
        assert_max_min(capacities, flows)
    while flows:
        fabric.close(flows.pop(data.draw(st.integers(0, len(flows) - 1))), 0.0)
        assert_max_min(capacities, flows)


# Time: worked by hand


def test_two_flows_on_one_link_worked_by_hand():
    # 10 B/s. A (100 B) alone to t=4: 40 B. B (30 B) joins, 5 B/s each: B ends at t=10, A has 70 B.
    # The last 30 B at 10 B/s: A ends at t=13.
    fabric = Fabric({"a": 10.0})
    first = fabric.open(along("a", volume=100.0), 0.0)

    assert (first.rate, first.ends_at, fabric.next_end_s) == (10.0, 10.0, 10.0)

    assert fabric.advance(4.0) == []
    second = fabric.open(along("a", volume=30.0), 4.0)

    assert (first.done, first.rate, first.ends_at) == (40.0, 5.0, 16.0)
    assert (second.done, second.rate, second.ends_at) == (0.0, 5.0, 10.0)

    assert fabric.advance(10.0) == [second]
    assert (second.done, first.done, first.rate) == (30.0, 70.0, 10.0)
    assert fabric.next_end_s == 13.0
    assert fabric.advance(13.0) == [first]
    assert first.done == 100.0
    assert fabric.next_end_s == math.inf


def test_an_abandoned_flow_keeps_what_it_moved_and_frees_its_share():
    fabric = Fabric({"a": 10.0})
    first = fabric.open(along("a", volume=100.0), 0.0)
    fabric.advance(4.0)
    second = fabric.open(along("a", volume=30.0), 4.0)
    fabric.close(second, 6.0)

    assert (second.done, second.rate, second.ends_at) == (10.0, 0.0, math.inf)
    assert (first.done, first.rate, first.ends_at) == (50.0, 10.0, 11.0)
    assert fabric.next_end_s == 11.0


def test_flows_that_end_together_come_in_order_of_opening():
    fabric, flows = open_all({"a": 3.0}, [along("a", volume=5.0)] * 3)

    assert fabric.advance(5.0) == flows


@given(st.lists(st.floats(1.0, 1e3), min_size=1, max_size=8), sizes)
def test_processor_sharing(volumes: list[float], capacity: float):
    # n flows start together on one link: between the ends of the k-th and the next smallest,
    # n - k share it, so t_k = sum over j <= k of (v_j - v_(j-1)) (n - j + 1) / capacity.
    expected, at, before = [], 0.0, 0.0
    for waiting, volume in zip(range(len(volumes), 0, -1), sorted(volumes), strict=True):
        at += (volume - before) * waiting / capacity
        before = volume
        expected.append(at)
    found = ends({"a": capacity}, [along("a", volume=volume) for volume in sorted(volumes)])

    assert found == pytest.approx(expected, rel=1e-9)


# Time: properties


@given(networks, crowds, st.data())
def test_volume_is_the_integral_of_rate(
    capacities: dict[str, float], crowd: list[Transfer], data: st.DataObject
):
    fabric = Fabric(capacities)
    moved: dict[Flow, float] = {}
    waiting = list(crowd)
    now = 0.0
    while waiting or fabric.next_end_s < math.inf:
        arrival = now + data.draw(st.floats(0.0, 50.0)) if waiting else math.inf
        then = min(arrival, fabric.next_end_s)
        for flow in moved:
            moved[flow] += flow.rate * (then - now)
        now = then
        for flow in fabric.advance(now):
            assert flow.done == flow.transfer.volume == pytest.approx(moved.pop(flow), rel=1e-9)
        if now == arrival:
            moved[fabric.open(waiting.pop(), now)] = 0.0
        assert_max_min(capacities, moved)
        for flow, volume in moved.items():
            assert flow.done <= flow.transfer.volume
            assert volume == pytest.approx(flow.done, rel=1e-9, abs=1e-9)


@given(networks, crowds, st.lists(st.floats(0.0, 200.0), max_size=20))
def test_many_small_steps_are_one_long_step(
    capacities: dict[str, float], crowd: list[Transfer], times: list[float]
):
    long, long_flows = open_all(capacities, crowd)
    small, small_flows = open_all(capacities, crowd)
    finished = [flow for now in [*sorted(times), 200.0] for flow in small.advance(now)]

    in_long = [long_flows.index(flow) for flow in long.advance(200.0)]
    assert [small_flows.index(flow) for flow in finished] == in_long
    # Exactly: looking at a flow on its way doesn't disturb it.
    assert [(f.done, f.ends_at) for f in small_flows] == [(f.done, f.ends_at) for f in long_flows]


# Time: exactness


@given(
    st.floats(0.0, 1e7),
    st.floats(1e-6, 1e12),
    st.floats(1e-6, 1e9),
    st.lists(st.floats(0.0, 1.0), max_size=10),
)
def test_an_undisturbed_flow_ends_at_exactly_its_opening_plus_volume_over_rate(
    opened_at: float, volume: float, cap: float, looks: list[float]
):
    fabric = Fabric({"a": math.inf, "b": 1.0})
    flow = fabric.open(along("a", volume=volume, cap=cap), opened_at)
    expected = opened_at + volume / cap
    for look in sorted(looks):
        now = opened_at + look * (expected - opened_at)
        if now >= expected:
            break
        assert fabric.advance(now) == []
        beside = fabric.open(along("b"), now)
        fabric.close(beside, now)

    assert flow.ends_at == fabric.next_end_s == expected
    assert fabric.advance(expected) == [flow]
    assert flow.done == volume


def test_no_volume_ends_at_once_and_takes_nothing():
    fabric, (empty, other) = open_all({"a": 1.0}, [along("a", volume=0.0), along("a")])

    assert (empty.ends_at, other.rate) == (0.0, 1.0)
    assert fabric.advance(0.0) == [empty]


def test_an_infinite_rate_ends_at_once_and_takes_nothing():
    fabric, (instant, other) = open_all({"a": math.inf}, [along("a"), along("a", cap=2.0)])

    assert (instant.rate, instant.ends_at, other.rate) == (math.inf, 0.0, 2.0)
    assert fabric.advance(0.0) == [instant]
    assert instant.done == 1e6


def test_a_flow_of_rate_zero_never_ends():
    fabric, (stuck, other) = open_all({"a": 1.0}, [along("a", cap=0.0), along("a", volume=5.0)])

    assert (stuck.rate, stuck.ends_at, other.rate) == (0.0, math.inf, 1.0)
    assert fabric.advance(1e9) == [other]
    assert stuck.done == 0.0
    assert fabric.next_end_s == math.inf
