from pathlib import Path

import pytest

from tests.sweeps.processes import SCENARIO


@pytest.fixture
def out(tmp_path) -> Path:
    """A folder that is still to be made."""
    return tmp_path / "out"


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """The scenario of sweeps that are harmed."""
    path = tmp_path_factory.mktemp("scenario") / "s.toml"
    path.write_text(SCENARIO)
    return path
