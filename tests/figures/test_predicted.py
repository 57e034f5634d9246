"""The picture of real runs: points where the table has them, a band as wide as the bounds."""

import numpy as np
import pandas as pd
import pytest

from cprsim.figures.measured import predicted_measured

TABLE = pd.DataFrame(
    [
        ("save", 0.2, 0.25),
        ("load", 0.03, 0.02),
        ("save", 0.4, 0.5),
        ("lost", 0.0, 0.1),  # on no log axis
        ("overhead", 1.0, 1.1),
    ],
    columns=["cause", "predicted", "measured"],
)


def test_points_lie_where_the_table_has_them():
    (axes,) = predicted_measured(TABLE, "Real runs").axes

    drawn = [line.get_xydata().tolist() for line in axes.lines[:-1]]
    assert drawn == [[[0.25, 0.2], [0.5, 0.4]], [[0.02, 0.03]], [[1.1, 1.0]]]
    assert axes.get_xlim() == axes.get_ylim()
    (on_it,) = axes.lines[-1:]
    assert np.array_equal(on_it.get_xdata(), on_it.get_ydata())


def test_the_band_is_a_quarter_or_fifty_milliseconds():
    (axes,) = predicted_measured(TABLE).axes
    outline = axes.collections[0].get_paths()[0].vertices
    for x, room in ((0.05, 0.05), (1.0, 0.25)):
        at = outline[np.isclose(outline[:, 0], x, rtol=0.02)]
        assert at[:, 1].max() - x == pytest.approx(room, rel=0.1, abs=0.02 * x)
