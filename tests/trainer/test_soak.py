import pytest

from tests.trainer.soak import soak


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 6])
def test_training_goes_on_whatever_is_killed_and_whenever(tmp_path_factory, seed):
    """The kinds of runs begin at the seed; with 6, copies are among them."""
    found = soak(30, seed, tmp_path_factory.mktemp("s"))

    assert found.struck >= 30
    assert found.failures <= found.struck
    assert found.replaced >= found.struck
