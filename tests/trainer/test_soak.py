import pytest

from tests.trainer.soak import soak


@pytest.mark.slow
def test_training_goes_on_whatever_is_killed_and_whenever(tmp_path_factory):
    found = soak(30, 1, tmp_path_factory.mktemp("s"))

    assert found.struck >= 30
    assert found.failures <= found.struck
    assert found.replaced >= found.struck
