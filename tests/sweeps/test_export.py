"""The table of a sweep in pieces: the same bytes, and no more than one piece in memory."""

import gc
import io
import weakref

import pytest

import cprsim
from cprsim.sweeps import export
from cprsim.sweeps.export import exporter
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


def written(found: cprsim.Sweep, form: str, points: int) -> bytes:
    file = io.BytesIO()
    exporter(found, form, points)(file)
    return file.getvalue()


@pytest.mark.parametrize("points", [1, 3, 5, 16, 1000])
def test_a_csv_does_not_depend_on_its_pieces(done, points):
    assert len(done.failures) in range(1, len(done.points))
    assert written(done, "csv", points).decode() == done.table.to_csv(
        index=False, lineterminator="\n"
    )


@pytest.mark.parametrize("points", [1, 5, 1000])
def test_a_parquet_of_pieces_is_the_table(done, points):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="needs the extra parquet")
    found = pandas.read_parquet(io.BytesIO(written(done, "parquet", points)))

    pandas.testing.assert_frame_equal(found, done.table, check_dtype=False)


def test_a_sweep_that_has_only_begun_has_a_head(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("cprsim.sweeps.driver.perform", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(scenario(), tmp_path, {"costs.save": ["1 min"]}, replications=3)
    found = cprsim.Sweep(tmp_path)

    assert written(found, "csv", 1000).decode().splitlines() == [",".join(found.table.columns)]
    assert written(found, "parquet", 1000)


@pytest.mark.slow
def test_one_piece_is_in_memory_at_a_time(done, monkeypatch):
    alive: list[weakref.ref] = []
    most, pieces = [], cprsim.Sweep.pieces

    def watched(*given):
        for piece in pieces(*given):
            gc.collect()
            most.append(sum(each() is not None for each in alive))
            alive.append(weakref.ref(piece))
            yield piece

    monkeypatch.setattr(cprsim.Sweep, "pieces", watched)
    written(done, "csv", 1)

    assert len(most) == len(done.points) == 16
    assert max(most) <= 1  # that before it, which is let go of as the next one comes
    assert export._POINTS == 1000
