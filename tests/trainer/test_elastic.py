"""A start with other processes ends as a job without hooks would, or it is refused."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("first", "count"),
    [
        (0, 12),
        *(pytest.param(100 + 61 * part, 61, marks=pytest.mark.nightly) for part in range(8)),
    ],
)
def test_random_worlds(first, count):
    """500 in all; in an interpreter that has no threads yet, since each process is forked."""
    command = [sys.executable, "-m", "tests.trainer.elastic", str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    *wrong, found = done.stdout.splitlines()
    assert not wrong
    assert "'wrong': 0" in found
    assert "'refused': 0" not in found
