"""Which part of a sweep a map shows."""

import pytest

from cprsim.errors import UsageError
from cprsim.sweeps.phase_map import cut
from cprsim.sweeps.points import Point
from cprsim.sweeps.stored import Sweep
from cprsim.sweeps.sweep import sweep
from tests.figures.reading import notes
from tests.sweeps.cases import MEANS, scenario

KEYS = ["failures.mean", "costs.save", "cluster.parameter_servers"]
ALONE: tuple[list[str], str] = ([], "")  # nothing goes along with an axis
POINTS = [
    Point(i, dict(zip(KEYS, (mean, save, servers), strict=True)), 1.0, 9, None)
    for i, (mean, save, servers) in enumerate(
        (mean, save, servers)
        for mean in ("1 h", "2 h")
        for save in ("30 s", "1 min", "2 min")
        for servers in (4, 8)
    )
]


def test_what_is_not_fixed_and_still_varies_gives_the_axes():
    assert cut(POINTS, KEYS, {"failures.mean": "2 h"}) == ([6, 7, 8, 9, 10, 11], KEYS[1:], *ALONE)
    assert cut(POINTS, KEYS, {KEYS[0]: "1 h", KEYS[2]: 8}) == ([1, 3, 5], ["costs.save"], *ALONE)
    assert cut(POINTS, KEYS, {KEYS[2]: "8", "failures.mean": "1 h"})[0] == [1, 3, 5]
    assert cut(POINTS, KEYS, {"costs.save": "60 s", KEYS[2]: 8.0})[0] == [3, 9]
    assert cut(POINTS[:4:2], KEYS, {}) == ([0, 2], ["costs.save"], *ALONE)
    assert cut(POINTS[:1], KEYS, {}) == ([0], ["failures.mean"], *ALONE)


def test_keys_whose_values_go_together_are_one_axis():
    values = [("1 h", "30 s", 4), ("2 h", "1 min", 4), ("3 h", "2 min", 8)]
    points = [
        Point(2 * i + j, dict(zip(KEYS, each, strict=True)) | {"x": j}, 1.0, 9, None)
        for i, each in enumerate(values)
        for j in range(2)
    ]
    keys = [*KEYS, "x"]

    assert cut(points, [*KEYS[:2], "x"], {}, KEYS)[1:] == ([KEYS[0], "x"], [KEYS[1]], KEYS[0])
    back = [KEYS[2], *KEYS[1::-1], "x"]  # two of the three have 4 servers, which tell nothing
    assert cut(points, back, {}, back[:3])[1:] == ([KEYS[1], "x"], [KEYS[2], KEYS[0]], KEYS[1])
    assert cut(points, keys, {KEYS[2]: 4}, KEYS)[1:] == ([KEYS[0], "x"], [KEYS[1]], KEYS[0])
    with pytest.raises(UsageError) as refused:
        cut(points, keys, {KEYS[0]: "1 h", KEYS[2]: 8}, KEYS)
    assert str(refused.value) == (
        f"figure phase: at {KEYS[0]} = 1 h and {KEYS[2]} = 8: the sweep has no such point"
    )


@pytest.mark.parametrize(
    ("keys", "at", "fault"),
    [
        (
            KEYS,
            {},
            "3 keys are varied (failures.mean, costs.save, cluster.parameter_servers), a map has "
            "two axes; fix 1: cprsim sweep DIR --map FILE --at "
            'cluster.parameter_servers="4"',
        ),
        (KEYS, {"job.samples": 3}, f"at job.samples: is not varied; varied: {', '.join(KEYS)}"),
        (KEYS, {"costs.save": "9 s"}, "at costs.save = 9 s: the sweep has 30 s, 1 min, 2 min"),
        ([], {}, "only choices of policies are varied; a map needs more"),
    ],
)
def test_a_part_that_can_not_be_shown_is_refused(keys, at, fault):
    with pytest.raises(UsageError) as refused:
        cut(POINTS, keys, at)

    assert str(refused.value) == f"figure phase: {fault}"


def test_a_map_says_what_goes_along_with_an_axis(out, tmp_path):
    file = tmp_path / "s.toml"
    block = '\n[sweep.zip]\nfailures.mean = ["10 h", "30 h"]\ncosts.save = ["1 min", "2 min"]\n'
    file.write_text(scenario().to_toml() + block)
    figure = sweep(file, out, replications=3).figure()

    assert figure.axes[0].collections[0].get_array().shape == (1, 2, 4)
    told = "a short job; costs.save with failures.mean"
    assert notes(figure).startswith(told)


def test_a_map_of_a_sweep(out):
    vary = MEANS | {"costs.save": ["1 min", "9 min"], "policies.full.interval": ["1 h", "3 h"]}
    done = sweep(scenario(), out, vary, replications=3)
    whole, part = done.figure("phase"), Sweep(out).figure(at={"failures.mean": "10 h"})

    assert whole.axes[0].get_xlabel() == "mean time between failures"
    assert whole.axes[0].collections[0].get_array().shape == (2, 2, 4)
    assert part.axes[0].get_xlabel() == "save time"
    assert notes(part).startswith("a short job; at failures.mean = 10 h")
    assert part.axes[0].collections[0].get_array().shape == (1, 2, 4)
    with pytest.raises(UsageError) as refused:
        done.figure("breakdown")
    assert str(refused.value) == "figure 'breakdown': a sweep has none of that name; known: phase"
