"""Real ranks by gloo: all are killed and start again, or one is lost and another joins the rest."""

import signal

import pytest

from tests.trainer.gloo_job import STEPS

pytestmark = pytest.mark.slow


class Ranks:
    """Ranks of jobs, each a process."""

    def __init__(self, forks):
        self._forks = forks

    def start(self, rank, size, generation, policy, folder, *killed_at, kind="plain"):
        given = [rank, size, generation, kind, policy, folder, *killed_at]
        return self._forks.start("tests.trainer.gloo_job", *given)

    def wait(self, rank):
        return self._forks.ended(rank)[0]

    def ended(self, ranks):
        """Return the last line of each."""
        codes, said = zip(*map(self._forks.ended, ranks), strict=True)
        assert set(codes) == {0}, said
        return [each.splitlines()[-1].rsplit(" ", 3) for each in said]

    def whole_job(self, size, policy, folder, kind="plain"):
        return self.ended([self.start(n, size, 0, policy, folder, kind=kind) for n in range(size)])

    def killed(self, size, policy, folder, kind="plain", step=13):
        """All before a step."""
        ranks = [self.start(n, size, 0, policy, folder, step, kind=kind) for n in range(size)]
        assert [self.wait(each) for each in ranks] == [-signal.SIGKILL] * size
        (folder / "group/group-0").unlink(missing_ok=True)

    def one_lost(self, lost, size, policy, folder):
        """A rank is killed at step 13, and another takes its place among the survivors."""
        ranks = [self.start(n, size, 0, policy, folder, *[13] * (n == lost)) for n in range(size)]
        assert self.wait(ranks[lost]) == -signal.SIGKILL
        ranks[lost] = self.start(lost, size, 1, policy, folder)
        return self.ended(ranks)


@pytest.fixture(scope="module")
def ranks(forks):
    return Ranks(forks)


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.nightly)])
def clean(request, ranks, tmp_path_factory):
    """A job without failures: digests of rows and of the MLP by rank."""
    size = request.param
    return size, ranks.whole_job(size, "full", tmp_path_factory.mktemp("clean"))


@pytest.mark.parametrize("kind", ["plain", "ddp", "sharded"])
def test_hooks_change_nothing_and_ranks_that_are_killed_go_on_bit_for_bit(kind, ranks, tmp_path):
    """`sharded`: each rank has its part of the MLP, and its own part of the checkpoint."""
    bare = ranks.whole_job(2, "bare", tmp_path / "bare", kind)
    without = ranks.whole_job(2, "full", tmp_path / "clean", kind)
    ranks.killed(2, "full", tmp_path, kind)
    found = ranks.whole_job(2, "full", tmp_path, kind)

    assert [each[1:3] for each in without] == [each[1:3] for each in bare]
    assert [each[0] for each in found] == ["[10]"] * 2
    assert [each[1:3] for each in found] == [each[1:3] for each in bare]


@pytest.mark.parametrize("sizes", [(2, 1, 2), (4, 3)])
def test_other_numbers_of_ranks_go_on_bit_for_bit(sizes, ranks, tmp_path):
    """Rows, and an MLP by `fully_shard` with Adam; each number of ranks but the last is killed."""
    (bare,) = ranks.whole_job(1, "bare", tmp_path / "bare", "elastic")
    for start, size in enumerate(sizes[:-1]):
        ranks.killed(size, "full", tmp_path, "elastic", 8 + 5 * start)
    found = ranks.whole_job(sizes[-1], "full", tmp_path, "elastic")

    assert [each[0] for each in found] == [f"[{5 * (len(sizes) - 1)}]"] * sizes[-1]
    assert {tuple(each[1:3]) for each in found} == {tuple(bare[1:3])}


def test_a_lost_rank_is_replaced_and_all_return_together(clean, ranks, tmp_path):
    size, without = clean
    found = ranks.one_lost(size - 1, size, "full", tmp_path)

    assert [each[0] for each in found] == ["[0, 10]"] * (size - 1) + ["[10]"]
    assert [each[1:3] for each in found] == [each[1:3] for each in without]


def test_under_partial_recovery_the_rest_keeps_what_it_has(clean, ranks, tmp_path):
    """The new rank has the MLP of the others: all end with the same, momentum too."""
    size, _ = clean
    found = ranks.one_lost(size - 1, size, "partial", tmp_path)

    assert [each[0] for each in found] == ["[0, 13]"] * (size - 1) + ["[13]"]
    assert len({each[2] for each in found}) == 1
    # (E4), over all ranks: 3 steps of one of them since step 10.
    assert [float(each[3]) for each in found] == [3 / (STEPS * size)] * size
