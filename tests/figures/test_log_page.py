"""What a log shows beside its durations. Oracles: Kaplan-Meier, counts by hand, the renderer."""

import numpy as np
import pytest
from matplotlib.axes import Axes

import cprsim
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_failures import NodeFailures, node_failures, worst_share
from cprsim.figures import look
from cprsim.survival.kaplan_meier import KaplanMeier
from tests.figures.reading import Drawn, boxes_apart, rendered, words

HOUR_S, DAY_S = 3600.0, 86_400.0
NAMES = ("GPU", "NIC", "A cause that nobody would ever write down in so many words", "Fan", None)


def log_of(*, repairs: bool, causes: bool, dates: bool, population: int | None = 60) -> FailureLog:
    """A year, twice the rate by day, half of it on the first five of 40 nodes."""
    rng = np.random.default_rng(4)
    times = np.cumsum(rng.exponential(5 * HOUR_S, 1700))
    hour = times % DAY_S / HOUR_S
    times = times[rng.random(len(times)) < np.where((hour >= 9) & (hour < 17), 1.0, 0.5)]
    count = len(times)
    few = rng.random(count) < 0.5
    return FailureLog(
        times,
        np.where(few, rng.integers(5, size=count), rng.integers(40, size=count)),
        0.0,
        float(times[-1]),
        population=population,
        repaired_s=times + rng.lognormal(9, 1, count) if repairs else None,
        causes=tuple(NAMES[i] for i in rng.integers(len(NAMES), size=count)) if causes else None,
        unix_s=19_000 * DAY_S if dates else None,
        until_s=1e9,
    )


LOGS = {
    "all": {"repairs": True, "causes": True, "dates": True},
    "no dates": {"repairs": True, "causes": True, "dates": False},
    "no causes": {"repairs": True, "causes": False, "dates": True},
    "no repairs": {"repairs": False, "causes": True, "dates": True},
    "nodes alone": {"repairs": False, "causes": False, "dates": False},
    "unknown population": {"repairs": False, "causes": False, "dates": False, "population": None},
}
PANELS = {
    "all": ["outage", "causes", "nodes"],
    "no dates": ["outage", "causes", "nodes"],
    "no causes": ["outage", "nodes"],
    "no repairs": ["causes", "nodes"],
    "nodes alone": ["nodes"],
    "unknown population": ["nodes"],
}


drawn = Drawn(lambda keys: cprsim.fit(log_of(**keys)).figure(), {k: (v,) for k, v in LOGS.items()})


def panels(case: str) -> list[Axes]:
    return [axes for axes in drawn(case).axes if axes.axison]


def panel(case: str, name: str) -> Axes:
    return panels(case)[2 + PANELS[case].index(name)]


def kind_of(axes: Axes) -> str:
    for start, kind in {"length of an outage": "outage", "share of the nodes": "nodes"}.items():
        if axes.get_xlabel().startswith(start):
            return kind
    return "causes"


@pytest.mark.parametrize("case", LOGS)
def test_a_page_has_the_panels_whose_data_the_log_has(case):
    assert [kind_of(axes) for axes in panels(case)[2:]] == PANELS[case]


def test_in_one_column_of_a_paper_every_text_can_be_read():
    with look(width="3.3in", font="serif"):
        boxes_apart(rendered(cprsim.fit(log_of(**LOGS["all"])).figure()))


def test_repairs_are_the_kaplan_meier_curve():
    axes, fitted = panel("all", "outage"), cprsim.fit(log_of(**LOGS["all"]))
    curve = KaplanMeier.from_sample(fitted.repairs.sample)
    line = axes.lines[0]
    times, shares = line.get_xdata()[1:], line.get_ydata()[1:]
    assert shares.tolist() == curve.at(times).tolist()
    said = words(drawn("all"))
    assert any(text.startswith("Half of the outages are over after ") for text in said)


def test_bars_are_the_causes_and_the_title_says_the_commonest():
    axes, fitted = panel("all", "causes"), cprsim.fit(log_of(**LOGS["all"]))
    counts = sorted(fitted.causes.values(), reverse=True)
    assert [bar.get_width() for bar in axes.containers[0]] == counts
    medians = [each.median_s for each in fitted.repairs.causes.values()]
    said = [text.get_text().split(",")[0] for text in axes.texts if text.get_text()]
    assert said == [f"{n:,}" for n in counts]
    assert len(medians) == len(counts) == 5
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert "no cause told" in names
    assert any(name.endswith("…") for name in names)


# How unevenly nodes fail


def test_shares_on_the_worst_nodes_by_hand():
    log = FailureLog(
        np.arange(10.0), np.array([3, 3, 3, 3, 3, 1, 1, 1, 0, 2]), 0.0, 9.0, population=5
    )
    found = node_failures(log)
    assert found.counts.tolist() == [5, 3, 1, 1, 0]
    assert found.unseen == 0
    assert found.shares.tolist() == [0, 0.5, 0.8, 0.9, 1, 1]
    assert worst_share(found.counts, 0.4) == 0.8
    assert found.worst_tenth == 0.25  # half a node, of the worst
    # Chao: two nodes failed once, none twice: 2 x 1 / (2 x 1) = 1 that never did.
    unknown = FailureLog(log.times_s, log.nodes, 0.0, 9.0)
    assert node_failures(unknown).counts.tolist() == [5, 3, 1, 1, 0]
    assert node_failures(unknown).unseen == 1


def test_alike_nodes_lie_within_the_band_of_chance():
    """Of 60 samples of alike nodes 3 are outside at a point, within four standard errors, 6.8."""
    rng, outside = np.random.default_rng(6), 0
    for _ in range(60):
        counts = -np.sort(-rng.multinomial(300, np.full(50, 1 / 50)))
        found = NodeFailures(counts, 0, True, 1.0, None)
        mean, low, high = found.by_chance()
        assert (mean[0], mean[-1]) == (0, 1)
        assert np.all((low <= mean) & (mean <= high))
        outside += not low[5] <= found.shares[5] <= high[5]
    assert outside <= 9
    uneven = NodeFailures(np.array([200, *[100 // 49 + 1] * 49]), 0, True, 1.0, None)
    assert uneven.shares[5] > uneven.by_chance()[2][5]
