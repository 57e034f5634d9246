"""A start with other processes ends as a job without hooks would, or it is refused."""

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("first", "count"),
    [
        (0, 12),
        *(pytest.param(100 + 61 * part, 61, marks=pytest.mark.nightly) for part in range(8)),
    ],
)
def test_random_worlds(first, count, forks):
    """500 in all; in a process that has no threads yet, since each process is forked."""
    code, said = forks.ended(forks.start("tests.trainer.elastic", first, count))

    assert code == 0, said
    *wrong, found = said.splitlines()
    assert not wrong
    assert "'wrong': 0" in found
    assert "'refused': 0" not in found
