"""Jobs that go on otherwise than they began: more steps, other shards, larger tables, a notice."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from cprsim.errors import CprsimError, UsageError
from cprsim.trainer import HooksWarning, TablePart, TrainerHooks, split_rows
from cprsim.trainer.hooks.job_folder import JobFolder
from cprsim.trainer.hooks.ranks import OneProcess
from tests.trainer.jobs import job_of
from tests.trainer.test_hooks_processes import Threads, Together

STEPS, ROWS, DIM = 20, (50, 30), 4


class Counted:
    """Rows count their uses, in float32 and, beside that, in int64; `of`: which rows are here."""

    def __init__(self, shards=2, rows=ROWS, mine=None):
        self.weights = [torch.zeros(n, DIM) for n in rows]
        self.uses = [torch.zeros(n, dtype=torch.int64) for n in rows]
        self.mlp = torch.nn.Linear(1, 1)
        self.count, self.mine = shards, range(shards) if mine is None else mine

    def shards(self):
        split = [
            split_rows(TablePart(n, weights, (uses,)), self.count)
            for n, (weights, uses) in enumerate(zip(self.weights, self.uses, strict=True))
        ]
        return {shard: [parts[shard] for parts in split] for shard in self.mine}

    def dense(self):
        return {"mlp": self.mlp}

    def lookups(self, batch):
        return dict(enumerate(batch))

    def step(self, number):
        """Rows of a batch, by table; a function of the step."""
        drawn = torch.Generator().manual_seed(number)
        batch = [torch.randint(rows, (6,), generator=drawn).unique() for rows in ROWS]
        for weights, uses, ids in zip(self.weights, self.uses, batch, strict=False):
            weights[ids] += number + 1
            uses[ids] += 1
        with torch.no_grad():
            self.mlp.weight.fill_(number + 1)
        return batch

    def state(self):
        return [each.clone() for each in (*self.weights, *self.uses, self.mlp.weight.detach())]


def job(steps=STEPS, shards=2, rows=ROWS, policy="full"):
    return job_of(steps, rows, DIM, shards, batch=6, it={"system": policy, "interval": "8 s"})


def hooked(it, folder, steps=STEPS, **more):
    scenario = more.pop("scenario", job(steps, it.count))
    return TrainerHooks(scenario, "it", it, folder, steps, **more)


def train(it, hooks, first, end):
    for step in range(first, end):
        hooks.after_step(it.step(step))


@pytest.fixture(scope="module")
def clean():
    """After each step what there is without hooks."""
    it, found = Counted(), [Counted().state()]
    found[0][-1] = None
    for step in range(2 * STEPS):
        it.step(step)
        found.append(it.state())
    return found


def same(one, other):
    return all(map(torch.equal, one, other))


def test_a_job_is_prolonged(clean, tmp_path):
    it = Counted()
    hooks = hooked(it, tmp_path)
    train(it, hooks, hooks.restore(), STEPS)
    longer = Counted()
    again = hooked(longer, tmp_path, 2 * STEPS)
    step = again.restore()
    train(longer, again, step, 2 * STEPS)

    assert step == 16
    assert same(longer.state(), clean[2 * STEPS])
    assert again.summary.step == again.summary.steps == 2 * STEPS


@pytest.mark.parametrize("shards", [1, 3, 5])
@pytest.mark.parametrize("policy", ["full", "cpr-mfu"])
def test_a_job_goes_on_with_another_number_of_shards(shards, policy, clean, tmp_path):
    it = Counted(2)
    hooks = hooked(it, tmp_path, scenario=job(policy=policy))
    train(it, hooks, hooks.restore(), 8)
    hooks.save_now()
    other = Counted(shards)
    again = hooked(other, tmp_path, scenario=job(shards=shards, policy=policy))

    assert again.restore() == 8
    assert same(other.state(), clean[8])
    train(other, again, 8, STEPS)
    assert same(other.state(), clean[STEPS])


def test_a_loss_counts_for_as_much_of_the_job_with_more_shards(tmp_path):
    it = Counted(2)
    partly = job(policy="partial")
    hooks = hooked(it, tmp_path, scenario=partly)
    train(it, hooks, hooks.restore(), 10)
    hooks.on_failure({1})
    before = hooks.summary.pls
    train(it, hooks, 10, 16)
    again = hooked(Counted(4), tmp_path, scenario=job(shards=4, policy="partial"))
    again.restore()

    assert before == again.summary.pls == 2 / (STEPS * 2)


def test_tables_grow(clean, tmp_path):
    """Rows that are new keep what they have; the old ones are as they were saved."""
    it = Counted()
    hooks = hooked(it, tmp_path)
    train(it, hooks, hooks.restore(), 8)
    larger = (ROWS[0] + 7, ROWS[1] + 3, 11)
    grown = Counted(2, larger)
    for weights in grown.weights:
        weights.fill_(-1)
    again = hooked(grown, tmp_path, scenario=job(rows=larger))

    with pytest.warns(HooksWarning) as warned:
        assert again.restore() == 8
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
    train(grown, again, 8, 16)
    once_more = Counted(2, larger)
    assert hooked(once_more, tmp_path, scenario=job(rows=larger)).restore() == 16
    assert same(once_more.state(), grown.state())
    assert len(list(tmp_path.glob("rows-*"))) == 1


def processes(counts, folder, do, **more):
    """Do the same in processes with so many shards each, at once; what each gave."""
    ends = [sum(counts[: n + 1]) for n in range(len(counts))]
    group, rows = Together(len(counts)), more.pop("rows", ROWS)
    given = {"scenario": job(shards=sum(counts), rows=rows, policy=more.pop("policy", "full"))}

    def process(n):
        it = Counted(sum(counts), rows, mine=range(ends[n] - counts[n], ends[n]))
        return do(it, hooked(it, folder(n), ranks=Threads(group, n), **given, **more))

    with ThreadPoolExecutor(len(counts)) as pool:
        return list(pool.map(process, range(len(counts))))


def is_clean(it, state):
    """Whether the rows of a process, and its MLP, are those of a job without hooks."""
    for parts in it.shards().values():
        for part in parts:
            at = slice(part.first, part.first + len(part.weights))
            if not torch.equal(part.weights, state[part.table][at]):
                return False
    return torch.equal(it.mlp.weight.detach(), state[-1])


def trained_to(end, **more):
    def do(it, hooks):
        first = hooks.restore()
        train(it, hooks, first, end)
        return it, first

    return do


def test_a_changed_job_returns_to_what_all_processes_have(clean, tmp_path):
    """One has saved at step 16, the other was killed before; then a table is added."""

    def uneven(it, hooks):
        hooks.restore()
        train(it, hooks, 0, 15)
        if it.mine[0] == 0:
            hooks._ranks = hooks._saves._ranks = OneProcess()
            train(it, hooks, 15, 17)

    processes((1, 1), lambda n: tmp_path / str(n), uneven)

    def begun(it, hooks):
        return it, hooks.restore()

    with pytest.warns(HooksWarning, match="of table 2 are in no checkpoint"):
        found = processes((1, 1), lambda n: tmp_path / str(n), begun, rows=(*ROWS, 11))
    for it, step in found:
        assert step == 8
        del it.weights[2:], it.uses[2:]
        assert is_clean(it, clean[8])


def refused(do):
    try:
        return do()
    except CprsimError as error:
        return str(error)


def restored(it, hooks):
    return refused(hooks.restore)


def test_a_start_that_can_not_read_all_is_refused_in_all_processes(tmp_path):
    processes((1, 1, 1), lambda n: tmp_path / str(n), trained_to(9))
    (tmp_path / "2").rename(tmp_path / "away")
    for counts in ((1, 1, 1), (3,), (1, 2)):
        found = processes(counts, lambda n: tmp_path / str(n), restored)
        assert set(found) == {
            f"no checkpoint is left in {tmp_path}/2 (shards 2: rows 34 to 49 of table 0; rows 20 "
            "to 29 of table 1), which the job had; bring it back, or begin in another folder"
        }
    assert not (tmp_path / "2").exists()
    (tmp_path / "away").rename(tmp_path / "2")
    assert processes((3,), lambda n: tmp_path / str(n), restored) == [8]


def test_a_start_that_would_leave_rows_out_is_refused_in_all_processes(tmp_path):
    """A script that gives what rank 0 held, started with one process."""
    processes((1, 1), lambda n: tmp_path / str(n), trained_to(9))
    it = Counted(2, mine=[0])
    assert refused(hooked(it, tmp_path / "0").restore) == (
        "shards(): no process gives rows 25 to 49 of table 0, which the checkpoints in "
        f"{tmp_path}/0, {tmp_path}/1 have; give all rows, or another folder"
    )


def test_a_folder_of_before_goes_on_from_where_the_job_is(clean, tmp_path):
    """Two processes, then one in the first folder, then one that is started in the second."""
    processes((1, 1), lambda n: tmp_path / str(n), trained_to(5))
    processes((2,), lambda _: tmp_path / "0", trained_to(9))
    ((it, first),) = processes((2,), lambda _: tmp_path / "1", trained_to(STEPS))
    assert first == 8
    assert is_clean(it, clean[STEPS])


def test_another_policy_takes_a_folder_of_its_own(clean, tmp_path):
    processes((2,), lambda _: tmp_path / "it", trained_to(9))
    (found,) = processes((2,), lambda _: tmp_path / "it", restored, policy="partial")
    assert found == (
        f"folder {tmp_path}/it: its checkpoints are of a policy 'full', not 'partial'; give that "
        "policy, or a new folder and this one as `earlier`"
    )
    more = {"policy": "partial", "earlier": [tmp_path / "it"]}
    ((it, first),) = processes((2,), lambda _: tmp_path / "other", trained_to(STEPS), **more)
    assert first == 8
    assert is_clean(it, clean[STEPS])


def test_earlier_folders_are_found_by_what_they_are(clean, tmp_path):
    """Of machines on which they had the same path, and so one relative path."""
    processes((1, 1), lambda n: tmp_path / str(n), trained_to(9))
    for n in range(2):
        claim = tmp_path / str(n) / "job.json"
        claim.write_text(claim.read_text().replace("../0", ".").replace("../1", "."))
        (tmp_path / str(n)).rename(tmp_path / f"copy-{n}")
    more = {"earlier": [tmp_path / f"copy-{n}" for n in range(2)]}
    ((it, first),) = processes((2,), lambda _: tmp_path / "new", trained_to(STEPS), **more)
    assert first == 8
    assert is_clean(it, clean[STEPS])


def test_folders_of_two_jobs_are_refused_and_can_be_given_as_earlier(clean, tmp_path):
    """Each process had hooks without `ranks`, so each folder is of a job."""
    for n in range(2):
        it = Counted(2, mine=[n])
        hooks = hooked(it, tmp_path / str(n))
        with pytest.warns(HooksWarning, match="no process gives"):
            hooks.restore()
        train(it, hooks, 0, 9)
    before = sorted(tmp_path.rglob("*"))
    found = processes((1, 1), lambda n: tmp_path / str(n), restored)
    assert set(found) == {
        f"folders {tmp_path}/0 and {tmp_path}/1: are of different jobs; give folders of one job, "
        "or new ones and these as `earlier`"
    }
    assert sorted(tmp_path.rglob("*")) == before
    more = {"earlier": [tmp_path / "0", tmp_path / "1"]}
    ((it, _),) = processes((2,), lambda _: tmp_path / "new", trained_to(STEPS), **more)
    assert is_clean(it, clean[STEPS])


def test_one_folder_for_several_processes_is_refused(tmp_path):
    """Whoever finds it: they write their claims at once, so one may fail to write its own."""
    found = processes((1, 1), lambda _: tmp_path, restored)
    wanted = ("same folder", "can't be stored", "another process can't use its folder")
    assert all(any(text in each for text in wanted) for each in found)
    assert not list(tmp_path.rglob("*.npys"))


def test_folders_that_hooks_do_not_make_stay(tmp_path):
    names = ["dense-0.bak", "dense_notes", "rows-step-8"]
    for name in names:
        (tmp_path / name).mkdir()
    for end in (9, 17):
        processes((2,), lambda _: tmp_path, trained_to(end))
    assert {*names} < {each.name for each in tmp_path.iterdir()}


@pytest.mark.parametrize("before", ["the same", "smaller"])
def test_each_process_keeps_a_state_of_its_own(before, tmp_path):
    """Such as a random generator, which each process has seeded otherwise."""

    class Own:
        value = 0

        def state_dict(self):
            return {"value": self.value}

        def load_state_dict(self, state):
            self.value = state["value"]

    def own(it, hooks):
        mine, dense = Own(), it.dense
        it.dense = lambda: dense() | {"own": mine}
        mine.value = it.mine[0]
        first = hooks.restore()
        mine.value = mine.value if first else it.mine[0]
        train(it, hooks, first, 9)
        return mine.value

    processes((1, 1), lambda n: tmp_path / str(n), own)
    more = {"rows": (*ROWS, 11)} if before == "smaller" else {}

    def again(it, hooks):
        mine, dense = Own(), it.dense
        it.dense = lambda: dense() | {"own": mine}
        mine.value = 7
        hooks.restore()
        return mine.value

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HooksWarning)
        assert processes((1, 1), lambda n: tmp_path / str(n), again, **more) == [0, 1]


@pytest.mark.parametrize("at", ["stored", "claimed by one"])
def test_a_start_that_is_killed_while_it_divides_rows_begins_that_again(
    at, clean, tmp_path, monkeypatch
):
    """All have stored what they hold now, or one says so already."""
    processes((1, 1), lambda n: tmp_path / str(n), trained_to(9))
    write = JobFolder.write

    def killed(self, claim):
        if at == "claimed by one" and self.path.name == "0":
            write(self, claim)
        raise KeyboardInterrupt

    def begun(it, hooks):
        try:
            hooks.restore()
        except KeyboardInterrupt:
            return "killed"

    with monkeypatch.context() as patch:
        patch.setattr(JobFolder, "write", killed)
        found = processes((1, 1, 1), lambda n: tmp_path / str(n), begun)
    assert found == ["killed"] * 3
    for counts, end in (((1, 1, 1), 17), ((1, 1), STEPS)):
        found = processes(counts, lambda n: tmp_path / str(n), trained_to(end))
        assert [first for _, first in found] == [8 if end == 17 else 16] * len(counts)
        assert all(is_clean(it, clean[end]) for it, _ in found)


@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("after", [(2,), (1, 1, 1, 1)])
def test_accounts_of_all_processes_go_on_in_one(lost, after, tmp_path):
    def failing(it, hooks):
        train(it, hooks, hooks.restore(), 12)
        hooks.on_failure({lost})
        train(it, hooks, 12, 17)
        hooks.save_now()

    processes((1, 1), lambda n: tmp_path / "before" / str(n), failing, policy="partial")
    folders = [tmp_path / "before" / str(n) for n in range(2)]

    def told(counts, folder, **more):
        def do(it, hooks):
            assert hooks.restore() == 17
            known, updates = hooks.summary, hooks._state.updates.lost_and_all(STEPS)
            # Shards that are saved whole are counted, so updates are those of as many as there are.
            return [known.pls, *updates, known.bytes_saved, known.failures / len(counts)]

        found = processes(counts, lambda n: folder / str(n), do, policy="partial", **more)
        return [sum(each) for each in zip(*found, strict=True)]

    assert told(after, tmp_path / "after", earlier=folders) == told((1, 1), tmp_path / "before")


@pytest.mark.parametrize(("before", "after"), [((1, 1), (2,)), ((2,), (1, 1)), ((2, 1), (1, 2, 1))])
def test_rows_go_to_other_folders(before, after, clean, tmp_path):
    """Shards of each process before, and after; nothing is changed in the folders of before."""
    processes(before, lambda n: tmp_path / "before" / str(n), trained_to(9))
    folders = [tmp_path / "before" / str(n) for n in range(len(before))]
    files = {each: each.stat().st_mtime_ns for each in (tmp_path / "before").rglob("*")}
    more = {"earlier": folders}
    found = processes(after, lambda n: tmp_path / "after" / str(n), trained_to(STEPS), **more)
    assert [first for _, first in found] == [8] * len(after)
    assert all(is_clean(it, clean[STEPS]) for it, _ in found)
    assert files == {each: each.stat().st_mtime_ns for each in files}


def test_saving_now(clean, tmp_path):
    it = Counted()
    hooks = hooked(it, tmp_path)
    with pytest.raises(UsageError, match=r"^save_now\(\) before restore\(\)"):
        hooks.save_now()
    train(it, hooks, hooks.restore(), 5)
    assert hooks.save_now()
    assert hooks.save_now()  # which is there
    assert hooks.summary.saves == 1
    train(it, hooks, 5, 13)  # the next is a period later
    assert hooks.summary.saves == 2
    other = Counted()
    assert hooked(other, tmp_path).restore() == 13
    assert same(other.state(), clean[13])


def test_notices_reach_the_main_thread_alone(tmp_path):
    hooks, found = hooked(Counted(), tmp_path), []

    def elsewhere():
        try:
            hooks.saving_on().__enter__()
        except UsageError as error:
            found.append(str(error))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == ["saving_on(): signals reach the main thread alone; call it there"]
