"""Jobs that go on otherwise than they began: more steps, other shards, larger tables, a notice."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import cprsim
from cprsim.errors import UsageError
from cprsim.trainer import TablePart, TrainerHooks, split_rows
from tests.trainer.test_hooks_processes import Threads, Together

#: Processes of several are played one by one, each as if it were alone.
pytestmark = pytest.mark.filterwarnings("ignore:.*no process gives:UserWarning")
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
    return cprsim.Scenario(
        job={"useful_time": f"{steps} s", "samples": steps * 6},
        model={"tables": [{"rows": n, "dim": DIM} for n in rows]},
        cluster={"parameter_servers": shards, "trainers": 1},
        costs={"save": "1 s", "load": "1 s", "reschedule": "1 s"},
        failures={"exactly": 1},
        policies={"it": {"system": policy, "interval": "8 s"}},
    )


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

    assert again.restore() == 8
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


def test_one_that_is_killed_while_it_divides_rows_anew_begins_that_again(
    clean, tmp_path, monkeypatch
):
    it = Counted()
    hooks = hooked(it, tmp_path)
    train(it, hooks, hooks.restore(), 8)
    larger = (ROWS[0] + 7, ROWS[1])
    with monkeypatch.context() as patch:
        patch.setattr("cprsim.trainer.hooks.job_folder.JobFolder.write", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            hooked(Counted(2, larger), tmp_path, scenario=job(rows=larger))
    assert hooked(Counted(), tmp_path).restore() == 8
    assert hooked(Counted(2, larger), tmp_path, scenario=job(rows=larger)).restore() == 8


def processes(counts, folder, **more):
    """Hooks of processes with so many shards, each by itself in a folder of its own."""
    ends = [sum(counts[: n + 1]) for n in range(len(counts))]
    for n, (count, end) in enumerate(zip(counts, ends, strict=True)):
        it = Counted(sum(counts), mine=range(end - count, end))
        yield it, hooked(it, folder / str(n), **more)


def test_a_changed_job_returns_to_what_all_processes_have(clean, tmp_path):
    """One has saved at step 16, the other was killed before; then a table is added."""
    for mine, end in ((0, 17), (1, 15)):
        it = Counted(2, mine=[mine])
        hooks = hooked(it, tmp_path / str(mine))
        train(it, hooks, hooks.restore(), end)
    larger, together = (*ROWS, 11), Together(2)

    def restored(mine):
        it = Counted(2, larger, mine=[mine])
        more = {"ranks": Threads(together, mine), "scenario": job(rows=larger)}
        return it, hooked(it, tmp_path / str(mine), **more).restore()

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(restored, range(2)))
    for it, step in found:
        assert step == 8
        for part in it.shards()[it.mine[0]][:2]:
            at = slice(part.first, part.first + len(part.weights))
            assert torch.equal(part.weights, clean[8][part.table][at])


@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("after", [(2,), (1, 1, 1, 1)])
def test_accounts_of_all_processes_go_on_in_one(lost, after, tmp_path):
    partly = job(policy="partial")
    for it, hooks in processes((1, 1), tmp_path / "before", scenario=partly):
        train(it, hooks, hooks.restore(), 12)
        hooks.on_failure({lost})
        train(it, hooks, 12, 17)
        hooks.save_now()
    folders = [tmp_path / "before" / str(n) for n in range(2)]

    def told(counts, folder, **more):
        found = [0.0] * 5
        for _, hooks in processes(counts, folder, scenario=job(shards=sum(counts)), **more):
            assert hooks.restore() == 17
            known, updates = hooks.summary, hooks._state.updates.lost_and_all(STEPS)
            # Shards that are saved whole are counted, so updates are those of as many as there are.
            mine = [known.pls, *updates, known.bytes_saved, known.failures / len(counts)]
            found = [one + other for one, other in zip(found, mine, strict=True)]
        return found

    assert told(after, tmp_path / "after", earlier=folders) == told((1, 1), tmp_path / "before")


@pytest.mark.parametrize(("before", "after"), [((1, 1), (2,)), ((2,), (1, 1)), ((2, 1), (1, 2, 1))])
def test_rows_go_to_other_processes(before, after, clean, tmp_path):
    """Shards of each process before, and after; every process is a folder of its own."""
    for it, hooks in processes(before, tmp_path / "before"):
        train(it, hooks, hooks.restore(), 9)
    folders = [tmp_path / "before" / str(n) for n in range(len(before))]
    files = {each: each.stat().st_mtime_ns for each in (tmp_path / "before").rglob("*")}
    for it, hooks in processes(after, tmp_path / "after", earlier=folders):
        assert hooks.restore() == 8
        for parts in it.shards().values():
            for part in parts:
                mine = slice(part.first, part.first + len(part.weights))
                assert torch.equal(part.weights, clean[8][part.table][mine])
        assert it.mlp.weight.item() == 8
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


def test_a_notice_has_all_saved_after_the_next_step(clean, tmp_path):
    it = Counted()
    hooks = hooked(it, tmp_path)
    first = hooks.restore()
    before = signal.getsignal(signal.SIGTERM)
    with hooks.saving_on(signal.SIGTERM):
        for step in range(first, STEPS):
            batch = it.step(step)
            if step == 4:
                os.kill(os.getpid(), signal.SIGTERM)
            hooks.after_step(batch)
            if hooks.noticed:
                break
    assert signal.getsignal(signal.SIGTERM) is before
    assert hooks.summary.step == 5
    other = Counted()
    assert hooked(other, tmp_path).restore() == 5
    assert same(other.state(), clean[5])


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
