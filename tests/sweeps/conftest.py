from pathlib import Path

import pytest


@pytest.fixture
def out(tmp_path) -> Path:
    """A folder that is still to be made."""
    return tmp_path / "out"
