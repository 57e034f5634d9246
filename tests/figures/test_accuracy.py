"""Pictures of a study: what is drawn is what stands in the table, and no text covers another."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from cprsim.figures.measured import pls_accuracy, policy_accuracy
from cprsim.figures.style import SYSTEM_COLOURS
from cprsim.trainer.studies import findings
from tests.figures.reading import boxes_apart, rendered
from tests.studies.made_up import study

RUNS = findings.with_drops(study(seeds=6, noise=1e-3), "it")
POINTS = findings.points(RUNS)
SLOPES = {"cpr-vanilla": (0.02, 1.0), "cpr-mfu": (0.005, 1.0)}


def drawn(axes, colour: str) -> set[tuple[float, float]]:
    """Points of a colour, markers alone."""
    return {
        (round(float(x), 9), round(float(y), 9))
        for line in axes.lines
        if to_hex(line.get_color()) == colour.lower()
        and line.get_linestyle() == "None"
        and line.get_marker() not in ("|", "_")
        for x, y in zip(*line.get_data(), strict=True)
    }


def expected(rows: pd.DataFrame) -> set[tuple[float, float]]:
    return {(round(x, 9), round(y, 9)) for x, y in zip(rows["pls"], rows["auc_drop"], strict=True)}


def check_texts(figure) -> None:
    boxes_apart(rendered(figure))


def test_points_and_lines_of_accuracy_against_pls() -> None:
    figure = pls_accuracy(POINTS, SLOPES, "A title")
    one, several = figure.axes
    single = POINTS[POINTS["servers_hit"] == 1]

    for system in ("cpr-vanilla", "cpr-mfu", "full"):
        there = expected(single[single["system"] == system])
        assert there <= drawn(one, SYSTEM_COLOURS[system])
    assert expected(POINTS[POINTS["policy"] == "cpr-vanilla"]) <= drawn(
        several, SYSTEM_COLOURS["cpr-vanilla"]
    )
    lines = [
        line.get_data()
        for line in one.lines
        if len(line.get_xdata()) == 2 and line.get_xdata()[0] == 0 and line.get_linestyle() == "-"
    ]
    assert sorted(float(y[1] / x[1]) for x, y in lines) == pytest.approx([0.005, 0.02])
    assert all(axes.get_ylim()[1] >= POINTS["auc_drop_high"].max() for axes in figure.axes)
    check_texts(figure)


def test_every_seed_is_a_line_and_every_policy_a_mean() -> None:
    there = findings.compared_at(RUNS)
    points = findings.points(there).sort_values("auc_drop")
    figure = policy_accuracy(there, points, "A title")
    (axes,) = figure.axes
    order = list(points["policy"])

    seeds = [
        line.get_ydata()
        for line in axes.lines
        if line.get_linestyle() == "-" and len(line.get_xdata()) == len(order)
    ]
    expected = there.pivot_table("auc_drop", "seed", "policy")[order].to_numpy()
    np.testing.assert_allclose(sorted(map(tuple, seeds)), sorted(map(tuple, expected)))
    assert [text.get_text().replace("\n", "") for text in axes.get_xticklabels()] == order
    means = {float(y) for system in order for _, y in drawn(axes, SYSTEM_COLOURS[system])}
    assert means == {round(each, 9) for each in points["auc_drop"]}
    check_texts(figure)
