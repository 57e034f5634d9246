"""The repository passes the checks of its own that `make check` runs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("check", ["check_names", "check_words"])
def test_the_repository_passes(check: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"tools.{check}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
