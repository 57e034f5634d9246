"""What all tests share."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every machine and in every run: a test that passes must pass again, however
# slow the machine is.
settings.register_profile(
    "cprsim",
    derandomize=True,
    deadline=None,
    print_blob=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("cprsim")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and no repository: files have bare names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
