"""What docs/plug-into-torchrec.md shows, on real ranks."""

import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from importlib.util import find_spec

import pytest

from tests.waiting import HANGS_S

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("torchrec") is None,
        reason="torchrec is not installed; docs/plug-into-torchrec.md says how",
    ),
]


def started(stack, job, *arguments):
    """A rank, which ends with the stack at the latest."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"tests.trainer.{job}", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    stack.enter_context(process)  # which closes its pipes
    stack.callback(process.kill)
    return process


def ended(processes):
    """Exit codes, and what they said last."""
    said = [each.communicate(timeout=HANGS_S) for each in processes]
    assert all("Error" not in error for _, error in said), "".join(error for _, error in said)
    return [each.returncode for each in processes], [out.splitlines()[-1:] for out, _ in said]


def ranks(job, folder, *more, size=2):
    """All ranks, run to their ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with ExitStack() as stack:
        return ended([started(stack, job, rank, port, folder, *more) for rank in range(size)])


def test_ranks_that_are_killed_go_on_and_a_lost_one_returns_alone(tmp_path):
    killed, _ = ranks("torchrec_job", tmp_path)
    ended, said = ranks("torchrec_job", tmp_path)

    assert killed == [-signal.SIGKILL] * 2
    assert ended == [0, 0]
    # From step 10, the last save; at 17 rank 0 keeps what it has, rank 1 returns. Of a whole
    # checkpoint's worth nothing is stored since step 0, to which (E4) counts: 10 steps of each
    # rank at the restart; the restart counts as whole, so 7 of rank 1 after that.
    assert said == [["10 True 17 True False 20 0.25"], ["10 True 17 True True 20 0.425"]]


def test_another_number_of_ranks_has_all_rows_and_their_state_as_they_were_saved(tmp_path):
    killed, _ = ranks("torchrec_job", tmp_path, "full")
    ended, said = ranks("torchrec_job", tmp_path, "full", 1, size=1)

    assert killed == [-signal.SIGKILL] * 2
    assert (ended, said) == ([0], [["10 True 20"]])


def test_tables_cut_by_columns_go_on_bit_for_bit(tmp_path):
    _, without = ranks("torchrec_dcp_job", tmp_path / "clean", "full")
    killed, _ = ranks("torchrec_dcp_job", tmp_path / "hit", "full", "killed")
    ended, found = ranks("torchrec_dcp_job", tmp_path / "hit", "full")

    assert killed == [-signal.SIGKILL] * 2
    assert ended == [0, 0]
    assert found == [[each.replace("0", "10", 1)] for (each,) in without]


def test_a_rank_that_lost_its_columns_has_them_as_they_were_saved_and_the_mlp_of_the_other(
    tmp_path,
):
    ended, said = ranks("torchrec_dcp_job", tmp_path, "partial", "lost")
    (kept, lost) = (each[0].split() for each in said)

    assert ended == [0, 0]
    assert kept[:2] == lost[:2] == ["0", "17"]
    assert kept[3] == lost[3]
    saved, before, after = kept[4:]
    assert saved != before == after
    saved, before, after = lost[4:]
    assert saved == after != before


def test_a_rank_that_is_killed_has_its_rows_of_its_twin_in_groups_made_anew(tmp_path):
    """Survivors build TorchRec's model anew, and keep what they have."""
    job = "torchrec_rebuilt_job"
    with ExitStack() as stack:
        all_of = [started(stack, job, rank, 0, tmp_path) for rank in range(3)]
        killed = started(stack, job, 3, 0, tmp_path, 17)
        assert killed.wait(HANGS_S) == -signal.SIGKILL
        codes, said = ended([*all_of, started(stack, job, 3, 1, tmp_path)])
    begun, pls, rows, top = zip(*(each[0].split() for each in said), strict=True)

    assert codes == [0] * 4
    assert begun == ("0-17",) * 3 + ("17",)
    assert rows[3] == rows[1]
    assert len({*rows}) == 3
    assert len({*top}) == 1
    assert [float(each) for each in pls] == [1 / (20 * 4)] * 4  # (E4), of the whole job


def test_rows_of_torchrecs_tracker_are_saved_as_deltas_and_come_back_bit_for_bit(tmp_path):
    job = "torchrec_tracked_job"
    _, clean = ranks(job, tmp_path / "clean", "delta", 0)
    killed, _ = ranks(job, tmp_path / "hit", "delta", 14)
    ended, said = ranks(job, tmp_path / "hit", "delta", 0)

    assert killed == [-signal.SIGKILL] * 2
    assert ended == [0, 0]
    for (line,), (unhurt,) in zip(said, clean, strict=True):
        begun, right, some, end = line.split()
        assert (right, some) == ("True", "True")
        assert 8 <= int(begun) <= 13
        assert end == unhurt.split()[-1]


@pytest.mark.parametrize("policy", ["mfu", "scar"])
def test_rows_of_torchrecs_tracker_are_chosen_from(policy, tmp_path):
    ended, said = ranks("torchrec_tracked_job", tmp_path, policy, 0)

    assert ended == [0, 0]
    for (line,) in said:
        assert line.split()[:3] == ["0", "True", "True"]
