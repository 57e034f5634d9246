"""Real ranks by gloo: all are killed and start again, or one is lost and another joins the rest."""

import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest

from tests.trainer.gloo_job import STEPS
from tests.waiting import HANGS_S

pytestmark = pytest.mark.slow


def started(stack, rank, size, generation, policy, folder, *killed_at, kind="plain"):
    arguments = [rank, size, generation, kind, policy, folder, *killed_at]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.trainer.gloo_job", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    stack.enter_context(process)
    stack.callback(process.kill)
    return process


def ended(processes):
    """What each said last."""
    said = [each.communicate(timeout=HANGS_S) for each in processes]
    assert [each.returncode for each in processes] == [0] * len(processes), said
    return [out.splitlines()[-1].rsplit(" ", 3) for out, _ in said]


def whole_job(size, policy, folder, kind="plain"):
    with ExitStack() as stack:
        return ended([started(stack, n, size, 0, policy, folder, kind=kind) for n in range(size)])


def killed(size, policy, folder, kind="plain", step=13):
    """All before a step."""
    with ExitStack() as stack:
        ranks = [started(stack, n, size, 0, policy, folder, step, kind=kind) for n in range(size)]
        assert [each.wait(HANGS_S) for each in ranks] == [-signal.SIGKILL] * size
    (folder / "group/group-0").unlink(missing_ok=True)


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.nightly)])
def clean(request, tmp_path_factory):
    """A job without failures: digests of rows and of the MLP by rank."""
    size = request.param
    return size, whole_job(size, "full", tmp_path_factory.mktemp("clean"))


def some_lost(lost, size, policy, folder, kind="plain"):
    """These ranks are killed at step 13, and others take their places among the survivors."""
    with ExitStack() as stack:
        ranks = [
            started(stack, n, size, 0, policy, folder, *[13] * (n in lost), kind=kind)
            for n in range(size)
        ]
        assert [ranks[n].wait(HANGS_S) for n in lost] == [-signal.SIGKILL] * len(lost)
        for n in lost:
            ranks[n] = started(stack, n, size, 1, policy, folder, kind=kind)
        return ended(ranks)


@pytest.mark.parametrize("kind", ["plain", "ddp", "sharded"])
def test_hooks_change_nothing_and_ranks_that_are_killed_go_on_bit_for_bit(kind, tmp_path):
    """`sharded`: each rank has its part of the MLP, and its own part of the checkpoint."""
    bare = whole_job(2, "bare", tmp_path / "bare", kind)
    without = whole_job(2, "full", tmp_path / "clean", kind)
    killed(2, "full", tmp_path, kind)
    found = whole_job(2, "full", tmp_path, kind)

    assert [each[1:3] for each in without] == [each[1:3] for each in bare]
    assert [each[0] for each in found] == ["[10]"] * 2
    assert [each[1:3] for each in found] == [each[1:3] for each in bare]


@pytest.mark.parametrize("sizes", [(2, 1, 2), (4, 3)])
def test_other_numbers_of_ranks_go_on_bit_for_bit(sizes, tmp_path):
    """Rows, and an MLP by `fully_shard` with Adam; each number of ranks but the last is killed."""
    (bare,) = whole_job(1, "bare", tmp_path / "bare", "elastic")
    for start, size in enumerate(sizes[:-1]):
        killed(size, "full", tmp_path, "elastic", 8 + 5 * start)
    found = whole_job(sizes[-1], "full", tmp_path, "elastic")

    assert [each[0] for each in found] == [f"[{5 * (len(sizes) - 1)}]"] * sizes[-1]
    assert {tuple(each[1:3]) for each in found} == {tuple(bare[1:3])}


def test_a_lost_rank_is_replaced_and_all_return_together(clean, tmp_path):
    size, without = clean
    found = some_lost([size - 1], size, "full", tmp_path)

    assert [each[0] for each in found] == ["[0, 10]"] * (size - 1) + ["[10]"]
    assert [each[1:3] for each in found] == [each[1:3] for each in without]


def test_under_partial_recovery_the_rest_keeps_what_it_has(clean, tmp_path):
    """The new rank has the MLP of the others: all end with the same, momentum too."""
    size, _ = clean
    found = some_lost([size - 1], size, "partial", tmp_path)

    assert [each[0] for each in found] == ["[0, 13]"] * (size - 1) + ["[13]"]
    assert len({each[2] for each in found}) == 1
    # (E4), over all ranks: 3 steps of one of them since step 10.
    assert [float(each[3]) for each in found] == [3 / (STEPS * size)] * size
