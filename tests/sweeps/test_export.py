"""The table of a sweep as CSV and Parquet."""

import io

import pandas
import pytest

import cprsim
from cprsim.basics.spreadsheet import csv_bytes, parquet_bytes
from cprsim.sweeps.sweep import sweep
from tests.sweeps.cases import scenario

#: Some points fail; quantities, numbers and texts are varied.
VARY = {
    "costs.save": ["0 s", "5 min"],
    "cluster.trainers": [4, 8],
    "failures.mean": ["10 h", "30 h"],
    "job.final_save": [False, True],
}


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> cprsim.Sweep:
    return sweep(scenario(), tmp_path_factory.mktemp("out"), VARY, replications=3)


def test_a_csv_is_the_table(done):
    assert len(done.failures) in range(1, len(done.points))
    assert csv_bytes(done.table).decode() == done.table.to_csv(index=False, lineterminator="\n")


def test_a_parquet_is_the_table(done):
    pytest.importorskip("pyarrow", reason="needs the extra parquet")
    found = pandas.read_parquet(io.BytesIO(parquet_bytes(done.table)))

    pandas.testing.assert_frame_equal(found, done.table, check_dtype=False)


def test_a_sweep_that_has_only_begun_has_a_head(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("cprsim.sweeps.driver.perform", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(scenario(), tmp_path, {"costs.save": ["1 min"]}, replications=3)
    found = cprsim.Sweep(tmp_path)

    assert csv_bytes(found.table).decode().splitlines() == [",".join(found.table.columns)]
    assert parquet_bytes(found.table)
