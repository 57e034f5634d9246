"""Movement of rows that a unit of PLS loses: of whole saves by definition, of counted accesses."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cprsim.rows.readers import read_curve
from cprsim.studies.change import _written, change_per_pls, with_change
from cprsim.trainer.config import opened

SHIPPED = Path(__file__).parents[2] / "scenarios" / "train-study.toml"


def test_the_order_of_the_policies_is_that_of_cprsim_rows() -> None:
    with opened(SHIPPED) as (scenario, section):
        found = change_per_pls(scenario, section)

    assert set(found) == {"cpr-vanilla", "cpr-mfu", "cpr-ssu", "cpr-scar"}
    # A unit of PLS is a whole job's updates; what Adagrad lost early moved rows further than most.
    assert 1 < found["cpr-vanilla"] < 1.2
    assert found["cpr-scar"] < found["cpr-mfu"] < found["cpr-ssu"] < found["cpr-vanilla"]


def test_change_is_in_proportion_to_pls_and_unknown_of_others() -> None:
    runs = pd.DataFrame({"policy": ["a", "a", "b", "b"], "pls": [0.0, 0.5, 0.0, 0.5]})

    found = with_change(runs, {"a": 0.4})["change_lost"]

    np.testing.assert_array_equal(found, [0.0, 0.2, 0.0, np.nan])


def test_counted_accesses_make_the_curve_of_the_table(tmp_path: Path) -> None:
    points = read_curve(_written(tmp_path / "curve", np.array([1, 0, 6, 3])))

    assert points == [
        (pytest.approx(rows), pytest.approx(accesses))
        for rows, accesses in ((0.25, 0.6), (0.5, 0.9), (0.75, 1.0), (1.0, 1.0))
    ]
