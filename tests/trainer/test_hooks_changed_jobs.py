"""Jobs that go on otherwise than they began: more steps, other shards, larger tables, a notice."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from cprsim.errors import CprsimError, UsageError
from cprsim.trainer import HooksWarning
from cprsim.trainer.hooks.job_folder import JobFolder
from tests.trainer.counting import (
    ROWS,
    STEPS,
    Processes,
    alone,
    counted,
    same,
    without_hooks,
)


@pytest.fixture(scope="module")
def clean():
    return without_hooks(2 * STEPS)


def test_a_job_is_prolonged(clean, tmp_path):
    it = counted(tmp_path)
    it.hooks.restore()
    it.train(STEPS)
    longer = counted(tmp_path, 2 * STEPS)
    assert longer.hooks.restore() == 16
    longer.train(2 * STEPS)

    assert same(longer.state(), clean[2 * STEPS])
    assert longer.hooks.summary.step == longer.hooks.summary.steps == 2 * STEPS


@pytest.mark.parametrize("shards", [1, 3, 5])
@pytest.mark.parametrize("policy", ["full", "cpr-mfu"])
def test_a_job_goes_on_with_another_number_of_shards(shards, policy, clean, tmp_path):
    it = counted(tmp_path, policy=policy)
    it.hooks.restore()
    it.train(8)
    it.hooks.save_now()
    other = counted(tmp_path, shards=shards, policy=policy)

    assert other.hooks.restore() == 8
    assert same(other.state(), clean[8])
    other.train(STEPS)
    assert same(other.state(), clean[STEPS])


def test_a_loss_counts_for_as_much_of_the_job_with_more_shards(tmp_path):
    it = counted(tmp_path, policy="partial")
    it.hooks.restore()
    it.train(10)
    it.hooks.on_failure({1})
    before = it.hooks.summary.pls
    it.train(16)
    again = counted(tmp_path, shards=4, policy="partial")
    again.hooks.restore()

    assert before == again.hooks.summary.pls == 2 / (STEPS * 2)


@pytest.mark.parametrize(
    ("policy", "shards", "after"),
    [
        ("partial", 4, "partial"),
        ("partial", 1, "partial"),
        ("partial", 2, "cpr-mfu"),
        ("cpr-mfu", 2, "partial"),
        ("cpr-mfu", 3, "cpr-mfu"),
    ],
)
def test_the_same_share_of_updates_is_lost_after_a_change(policy, shards, after, tmp_path):
    """By shards or by rows, as the policy counts; a step looks up about as many rows as others."""
    it = counted(tmp_path / "before", policy=policy)
    it.hooks.restore()
    it.train(13)
    it.hooks.on_failure({1})
    it.train(15)
    assert it.hooks.save_now()
    lost = it.hooks.summary
    more = {"shards": shards, "policy": after, "earlier": [tmp_path / "before"]}
    again = counted(tmp_path / "after", **more)
    again.hooks.restore()

    assert again.hooks.summary.updates_lost == pytest.approx(lost.updates_lost, rel=1e-12)
    assert again.hooks.summary.pls == pytest.approx(lost.pls, rel=1e-12)
    again.train(STEPS - 1)
    assert again.hooks.save_now()
    third = counted(tmp_path / "after", **more)
    third.hooks.restore()
    assert third.hooks.summary.updates_lost == pytest.approx(lost.updates_lost, rel=0.02)
    assert third.hooks.summary.updates_lost == again.hooks.summary.updates_lost


def test_tables_grow(clean, tmp_path):
    """Rows that are new keep what they have; the old ones are as they were saved."""
    it = counted(tmp_path)
    it.hooks.restore()
    it.train(8)
    larger = (ROWS[0] + 7, ROWS[1] + 3, 11)
    grown = counted(tmp_path, rows=larger)
    for weights in grown.weights:
        weights.fill_(-1)

    with pytest.warns(HooksWarning) as warned:
        assert grown.hooks.restore() == 8
    assert [str(each.message).split("; ")[0] for each in warned] == [
        f"shards(): rows {each} are in no checkpoint"
        for each in ("50 to 56 of table 0", "30 to 32 of table 1", "0 to 10 of table 2")
    ]
    for table, rows in enumerate(ROWS):
        assert torch.equal(grown.weights[table][:rows], clean[8][table])
        assert (grown.weights[table][rows:] == -1).all()
        assert (grown.uses[table][rows:] == 0).all()
    assert (grown.weights[2] == -1).all()
    # It was done once: what is grown is what the folder has now.
    grown.train(16)
    once_more = counted(tmp_path, rows=larger)
    assert once_more.hooks.restore() == 16
    assert same(once_more.state(), grown.state())
    assert len(list(tmp_path.glob("rows-*"))) == 1


def is_clean(it, state):
    """Whether the rows of a process, and its MLP, are those of a job without hooks."""
    for parts in it.shards().values():
        for part in parts:
            at = slice(part.first, part.first + len(part.weights))
            if not torch.equal(part.weights, state[part.table][at]):
                return False
    return torch.equal(it.mlp.weight.detach(), state[-1])


def trained_to(end, counts, folder, **more):
    """Start a job, and train to a step: its processes, and where each began."""
    job = Processes(counts, folder, **more)
    found = job.restore()
    job.train(end)
    return job.its, found


def restored(counts, folder, **more):
    """Restore in all processes; the step, or the error, of each."""

    def restore(it):
        try:
            return it.hooks.restore()
        except CprsimError as error:
            return str(error)

    return Processes(counts, folder, **more).do(restore)


def test_a_changed_job_returns_to_what_all_processes_have(clean, tmp_path):
    """One has saved at step 16, the other was killed before; then a table is added."""
    its, _ = trained_to(15, (1, 1), tmp_path)
    with alone(its[0]):
        its[0].train(17)
    grown = Processes((1, 1), tmp_path, rows=(*ROWS, 11))
    with pytest.warns(HooksWarning, match="of table 2 are in no checkpoint"):
        assert grown.restore() == [8, 8]
    for it in grown.its:
        del it.weights[2:], it.uses[2:]
        assert is_clean(it, clean[8])


def test_a_start_that_can_not_read_all_is_refused_in_all_processes(tmp_path):
    trained_to(9, (1, 1, 1), tmp_path)
    (tmp_path / "2").rename(tmp_path / "away")
    for counts in ((1, 1, 1), (3,), (1, 2)):
        assert set(restored(counts, tmp_path)) == {
            f"no checkpoint is left in {tmp_path}/2 (shards 2: rows 34 to 49 of table 0; rows 20 "
            "to 29 of table 1), which the job had; bring it back, or begin in another folder"
        }
    assert not (tmp_path / "2").exists()
    (tmp_path / "away").rename(tmp_path / "2")
    assert restored((3,), tmp_path) == [8]


def test_a_start_that_would_leave_rows_out_is_refused_in_all_processes(tmp_path):
    """A script that gives what rank 0 held, started with one process."""
    trained_to(9, (1, 1), tmp_path)
    with pytest.raises(UsageError) as error:
        counted(tmp_path / "0", mine=[0]).hooks.restore()
    assert str(error.value) == (
        "shards(): no process gives rows 25 to 49 of table 0, which the checkpoints in "
        f"{tmp_path}/0, {tmp_path}/1 have; give all rows, or another folder"
    )


def test_a_folder_of_before_goes_on_from_where_the_job_is(clean, tmp_path):
    """Two processes, then one in the first folder, then one that is started in the second."""
    trained_to(5, (1, 1), tmp_path)
    trained_to(9, (2,), lambda _: tmp_path / "0")
    (it,), first = trained_to(STEPS, (2,), lambda _: tmp_path / "1")
    assert first == [8]
    assert is_clean(it, clean[STEPS])


def test_another_policy_takes_a_folder_of_its_own(clean, tmp_path):
    trained_to(9, (2,), lambda _: tmp_path / "it")
    (found,) = restored((2,), lambda _: tmp_path / "it", policy="partial")
    assert found == (
        f"folder {tmp_path}/it: its checkpoints are of a policy 'full', not 'partial'; give that "
        "policy, or a new folder and this one as `earlier`"
    )
    more = {"policy": "partial", "earlier": [tmp_path / "it"]}
    (it,), first = trained_to(STEPS, (2,), tmp_path / "other", **more)
    assert first == [8]
    assert is_clean(it, clean[STEPS])


def test_earlier_folders_are_found_by_what_they_are(clean, tmp_path):
    """Of machines on which they had the same path, and so one relative path."""
    trained_to(9, (1, 1), tmp_path)
    for n in range(2):
        claim = tmp_path / str(n) / "job.json"
        claim.write_text(claim.read_text().replace("../0", ".").replace("../1", "."))
        (tmp_path / str(n)).rename(tmp_path / f"copy-{n}")
    earlier = [tmp_path / f"copy-{n}" for n in range(2)]
    (it,), first = trained_to(STEPS, (2,), tmp_path / "new", earlier=earlier)
    assert first == [8]
    assert is_clean(it, clean[STEPS])


def test_folders_of_two_jobs_are_refused_and_can_be_given_as_earlier(clean, tmp_path):
    """Each process had hooks without `ranks`, so each folder is of a job."""
    for n in range(2):
        it = counted(tmp_path / str(n), mine=[n])
        with pytest.warns(HooksWarning, match="no process gives"):
            it.hooks.restore()
        it.train(9)
    before = sorted(tmp_path.rglob("*"))
    assert set(restored((1, 1), tmp_path)) == {
        f"folders {tmp_path}/0 and {tmp_path}/1: are of different jobs; give folders of one job, "
        "or new ones and these as `earlier`"
    }
    assert sorted(tmp_path.rglob("*")) == before
    earlier = [tmp_path / "0", tmp_path / "1"]
    (it,), _ = trained_to(STEPS, (2,), tmp_path / "new", earlier=earlier)
    assert is_clean(it, clean[STEPS])


def test_one_folder_for_several_processes_is_refused(tmp_path):
    """Whoever finds it: they write their claims at once, so one may fail to write its own."""
    found = restored((1, 1), lambda _: tmp_path)
    wanted = ("same folder", "can't be stored", "another process can't use its folder")
    assert all(any(text in each for text in wanted) for each in found)
    assert not list(tmp_path.rglob("*.npys"))


def test_folders_that_hooks_do_not_make_stay(tmp_path):
    names = ["dense-0.bak", "dense_notes", "rows-step-8"]
    for name in names:
        (tmp_path / name).mkdir()
    for end in (9, 17):
        trained_to(end, (2,), lambda _: tmp_path)
    assert {*names} < {each.name for each in tmp_path.iterdir()}


class Own(dict):
    """A state that each process has for itself, such as a random generator that it has seeded."""

    def state_dict(self):
        return dict(self)

    def load_state_dict(self, state):
        self.update(state)


@pytest.mark.parametrize("rows", [ROWS, (*ROWS, 11)], ids=["the same", "smaller before"])
@pytest.mark.filterwarnings("ignore::cprsim.trainer.HooksWarning")
def test_each_process_keeps_a_state_of_its_own(rows, tmp_path):
    def started(rows, values):
        job, own = Processes((1, 1), tmp_path, rows=rows), [Own(value=each) for each in values]
        for it, mine in zip(job.its, own, strict=True):
            it.dense = lambda dense=it.dense, mine=mine: dense() | {"own": mine}
        job.restore()
        job.train(9)
        return [each["value"] for each in own]

    started(ROWS, [0, 1])
    assert started(rows, [7, 7]) == [0, 1]


@pytest.mark.parametrize("at", ["stored", "claimed by one"])
def test_a_start_that_is_killed_while_it_divides_rows_begins_that_again(
    at, clean, tmp_path, monkeypatch
):
    """All have stored what they hold now, or one says so already."""
    trained_to(9, (1, 1), tmp_path)
    write = JobFolder.write

    def killed(self, claim):
        if at == "claimed by one" and self.path.name == "0":
            write(self, claim)
        raise KeyboardInterrupt

    def begun(it):
        with pytest.raises(KeyboardInterrupt):
            it.hooks.restore()

    with monkeypatch.context() as patch:
        patch.setattr(JobFolder, "write", killed)
        Processes((1, 1, 1), tmp_path).do(begun)
    for counts, first, end in (((1, 1, 1), 8, 17), ((1, 1), 16, STEPS)):
        its, found = trained_to(end, counts, tmp_path)
        assert found == [first] * len(counts)
        assert all(is_clean(it, clean[end]) for it in its)


@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("after", [(2,), (1, 1, 1, 1)])
def test_accounts_of_all_processes_go_on_in_one(lost, after, tmp_path):
    job = Processes((1, 1), tmp_path / "before", policy="partial")
    job.restore()
    job.train(12)
    job.on_failure(lost)
    job.train(17)
    job.do(lambda it: it.hooks.save_now())
    folders = [tmp_path / "before" / str(n) for n in range(2)]

    def told(counts, folder, **more):
        job = Processes(counts, folder, policy="partial", **more)
        assert job.restore() == [17] * len(counts)
        found = []
        for it in job.its:
            known, updates = it.hooks.summary, it.hooks._state.updates.lost_and_all(STEPS)
            # Shards that are saved whole are counted, so updates are those of as many as there are.
            found.append([known.pls, *updates, known.bytes_saved, known.failures / len(counts)])
        pls, updates, of, *others = (sum(each) for each in zip(*found, strict=True))
        return [pls, updates / of, *others]

    assert told(after, tmp_path / "after", earlier=folders) == told((1, 1), tmp_path / "before")


@pytest.mark.parametrize(("before", "after"), [((1, 1), (2,)), ((2,), (1, 1)), ((2, 1), (1, 2, 1))])
def test_rows_go_to_other_folders(before, after, clean, tmp_path):
    """Shards of each process before, and after; nothing is changed in the folders of before."""
    trained_to(9, before, tmp_path / "before")
    folders = [tmp_path / "before" / str(n) for n in range(len(before))]
    files = {each: each.stat().st_mtime_ns for each in (tmp_path / "before").rglob("*")}
    its, first = trained_to(STEPS, after, tmp_path / "after", earlier=folders)
    assert first == [8] * len(after)
    assert all(is_clean(it, clean[STEPS]) for it in its)
    assert files == {each: each.stat().st_mtime_ns for each in files}


def test_saving_now(clean, tmp_path):
    it = counted(tmp_path)
    with pytest.raises(UsageError, match=r"^save_now\(\) before restore\(\)"):
        it.hooks.save_now()
    it.hooks.restore()
    it.train(5)
    assert it.hooks.save_now()
    assert it.hooks.save_now()  # which is there
    assert it.hooks.summary.saves == 1
    it.train(13)  # the next is a period later
    assert it.hooks.summary.saves == 2
    other = counted(tmp_path)
    assert other.hooks.restore() == 13
    assert same(other.state(), clean[13])


def test_notices_reach_the_main_thread_alone(tmp_path):
    hooks = counted(tmp_path).hooks

    def elsewhere():
        with pytest.raises(UsageError) as error, hooks.saving_on():
            pass
        return str(error.value)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(elsewhere).result() == (
            "saving_on(): signals reach the main thread alone; call it there"
        )
