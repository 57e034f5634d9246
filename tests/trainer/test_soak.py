import pytest

from tests.trainer.soak import soak


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("kills", "seed"), [(30, 0), pytest.param(500, 100, marks=pytest.mark.nightly)]
)
def test_training_goes_on_whatever_is_killed_and_whenever(tmp_path_factory, kills, seed):
    """The kinds of runs begin at the seed."""
    found = soak(kills, seed, tmp_path_factory.mktemp("s"))

    assert found["struck"] >= kills
    assert found["failures"] <= found["struck"]
    assert found["replaced"] >= found["struck"]
