"""docs/plug-into-other-trainers.md's torchft, with the real library: groups of one process each."""

import signal
from pathlib import Path

import pytest

from tests.hooks.scripts import KILLED, needs
from tests.hooks.torchft_groups import Groups

pytestmark = needs("torchft")


def weights(folder: Path) -> list[bytes]:
    """Those at the end, of both groups."""
    import torch

    states = [torch.load(folder / f"weights-{group}.pt") for group in (0, 1)]
    return [b"".join(each.numpy().tobytes() for each in state.values()) for state in states]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The weights without a failure."""
    with Groups(tmp_path_factory.mktemp("torchft") / "plain") as groups:
        for group in (0, 1):
            groups.start(group)
        assert [groups.ended(group) for group in (0, 1)] == [0, 0]
        assert groups.did(0) == groups.did(1) == ["restored 0"]
    one, other = weights(groups.folder)
    assert one == other
    return one


def test_a_group_that_is_killed_heals_from_its_peer(plain: bytes, tmp_path: Path) -> None:
    with Groups(tmp_path / "job") as groups:
        groups.start(0)
        groups.start(1, killed=KILLED)
        assert groups.ended(1) == -signal.SIGKILL
        groups.start(1)
        assert [groups.ended(group) for group in (0, 1)] == [0, 0]
        # It was killed once the step was committed, so the peer has it; a start is a failure.
        assert groups.did(0) == ["restored 0"]
        assert groups.did(1)[:2] == ["restored 0", "restored 20"]
        adopted, step, failures, checkpoint = groups.did(1)[2].split()
        assert (adopted, failures, step) == ("adopted", "1", checkpoint)
        assert int(step) in {KILLED, KILLED + 1}
    assert weights(groups.folder) == [plain, plain]


def test_where_all_are_killed_they_return_to_their_last_checkpoints(
    plain: bytes, tmp_path: Path
) -> None:
    with Groups(tmp_path / "job") as groups:
        for group in (0, 1):
            groups.start(group, killed=KILLED)
        assert [groups.ended(group) for group in (0, 1)] == [-signal.SIGKILL] * 2
        for group in (0, 1):
            groups.start(group)
        assert [groups.ended(group) for group in (0, 1)] == [0, 0]
        assert groups.did(0) == groups.did(1) == ["restored 0", "restored 20"]
    assert weights(groups.folder) == [plain, plain]
