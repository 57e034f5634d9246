"""Random jobs that start again with other numbers of processes.

`python -m tests.trainer.elastic FIRST COUNT`: those of so many seeds, from FIRST on.

A job of a few shards is begun by some processes, goes on with others, and with others again; its
tables may grow at the second start, and files may be gone or spoilt before it. Each start is of
real processes, by gloo. A job ends with what it would have without hooks, to the bit, or is refused
in all its processes with what is missing; any other end is printed, and is an error.
"""

import os
import random
import re
import shutil
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore

from cprsim.errors import CprsimError
from cprsim.trainer import HooksWarning, ProcessGroup, TablePart, TrainerHooks
from tests.trainer.jobs import job_of

STEPS, DIM, EVERY, DENSE = 12, 2, 3, 7
#: How the processes of a start end: with the right state, refused, otherwise.
RIGHT, REFUSED, WRONG = range(3)
MISSING = re.compile(
    r"refused: (no checkpoint is left in .* \(shards .*rows|folder .* has .*, but no job.json"
    r"|folders .* are of different jobs|/.*: no sound checkpoint is left"
    r"|another process can't load)"
)
DAMAGE = ("nothing", "nothing", "folder", "rows", "dense", "claim", "newest", "all", "names")


class World:
    """What happens to one job, drawn from a seed."""

    def __init__(self, seed):
        drawn = random.Random(seed)
        self.shards = drawn.randint(1, 5)
        self.rows = [drawn.randint(self.shards, 12) for _ in range(drawn.randint(1, 2))]
        self.grown = [each + drawn.choice((0, 0, 0, 1, 5)) for each in self.rows]
        if drawn.random() < 0.1:
            self.grown.append(drawn.randint(self.shards, 6))
        self.ranks = [drawn.randint(1, min(4, self.shards)) for _ in range(3)]
        self.ends = [*sorted(drawn.sample(range(1, STEPS), 2)), STEPS]
        self.damage, self.hit = drawn.choice(DAMAGE), drawn.randrange(self.ranks[0])
        self.policy = drawn.choice(("full", "cpr-vanilla"))

    @property
    def is_damaged(self):
        """Whether something is gone that no other file has; the first save is at step `EVERY`."""
        # Of folders that have changed names one may be where no process of now looks.
        gone = {"folder", "rows", "dense", "claim", "names"}
        return self.damage in (gone | {"newest"} if self.ends[0] < EVERY else gone)

    def sizes(self, start):
        return self.rows if start == 0 else self.grown

    def __str__(self):
        return (
            f"{self.shards} shards, rows {self.rows} to {self.grown}, ranks {self.ranks} killed "
            f"after {self.ends}, {self.damage} of {self.hit}, {self.policy}"
        )


def updated(tables, dense, step, at=0):
    """A step, in exact arithmetic: rows of each table, and the dense part from the element `at`."""
    for number, rows in enumerate(tables):
        for row, values in rows.items():
            if (row + step + number) % 3 == 0:
                values.add_(step + 1)
    dense += torch.arange(at, at + len(dense)) * (step + 1)


def without_hooks(world, first, grown_at):
    """The tables and the dense part after all steps; tables grow after `grown_at` steps."""
    tables = [{row: initial(row) for row in range(rows)} for rows in world.rows]
    dense = torch.zeros(DENSE)
    for step in range(first):
        if step == grown_at:
            tables = grown(world, tables)
        updated(tables, dense, step)
    return grown(world, tables) if grown_at == first else tables, dense


def grown(world, tables):
    more = [*tables, *({} for _ in range(len(world.grown) - len(tables)))]
    return [
        {row: rows.get(row, initial(row)) for row in range(size)}
        for rows, size in zip(more, world.grown, strict=True)
    ]


def initial(row):
    return torch.full((DIM,), float(row))


class Job:
    """The shards of one process: a share of the rows of each table, and a part of a DTensor."""

    def __init__(self, world, start, rank):
        self.world, self.sizes = world, world.sizes(start)
        ranks = world.ranks[start]
        self.mine = range(rank * world.shards // ranks, (rank + 1) * world.shards // ranks)
        self.parts, self.tables = {}, [{} for _ in self.sizes]
        for shard in self.mine:
            self.parts[shard] = []
            for number, rows in enumerate(self.sizes):
                first, end = (rows * each // world.shards for each in (shard, shard + 1))
                weights = torch.stack([initial(row) for row in range(first, end)])
                self.parts[shard].append(TablePart(number, weights, (), first))
                self.tables[number] |= dict(zip(range(first, end), weights, strict=True))
        mesh = init_device_mesh("cpu", (ranks,))
        self.dtensor = distribute_tensor(torch.zeros(DENSE), mesh, [Shard(0)])
        self.at = sum(len(each) for each in torch.zeros(DENSE).chunk(ranks)[:rank])

    def shards(self):
        return self.parts

    def dense(self):
        return {"it": self}

    def state_dict(self):
        return {"dtensor": self.dtensor}

    def load_state_dict(self, state):
        assert state["dtensor"] is self.dtensor

    def step(self, step):
        updated(self.tables, self.dtensor.to_local(), step, self.at)

    def is_right(self, tables, dense):
        local = self.dtensor.to_local()
        return torch.equal(local, dense[self.at : self.at + len(local)]) and all(
            torch.equal(values, rows[row])
            for mine, rows in zip(self.tables, tables, strict=True)
            for row, values in mine.items()
        )


def scenario(world, start):
    policy = {"system": world.policy, "interval": f"{EVERY} s"}
    return job_of(STEPS, world.sizes(start), DIM, world.shards, it=policy)


def play(world, start, rank, folder, said):
    """One process of a start, to its end; what it found is written to `said`."""
    group = f"file://{folder / f'group-{start}'}"
    dist.init_process_group("gloo", init_method=group, rank=rank, world_size=world.ranks[start])
    job = Job(world, start, rank)
    given = scenario(world, start), "it", job, folder / str(rank), STEPS, ProcessGroup()
    hooks = TrainerHooks(*given)
    begun = "fresh"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HooksWarning)
            first = hooks.restore()
    except CprsimError as error:
        said.write_text(f"refused: {error}")
        return REFUSED
    for step in range(first, world.ends[start]):
        job.step(step)
        hooks.after_step(None)
    earlier = folder / "grown-at"
    begun = first if start == 1 else int(earlier.read_text()) if start == 2 else -1
    if start == 1 and rank == 0:
        earlier.write_text(str(first))
    right = job.is_right(*without_hooks(world, world.ends[start], begun))
    said.write_text(f"{'right' if right else 'WRONG'} from {first}")
    dist.barrier()
    return RIGHT if right else WRONG


def damaged(world, folder):
    """What happens to the files of a process between the first start and the second."""
    hit = folder / str(world.hit)
    if world.damage in {"folder", "all"}:
        for each in [hit] if world.damage == "folder" else folder.glob("[0-9]"):
            shutil.rmtree(each)
    elif world.damage in {"rows", "dense"}:
        shutil.rmtree(next(hit.glob(f"{world.damage}-*")))
    elif world.damage == "claim":
        (hit / "job.json").unlink()
    elif world.damage == "names":
        for before, after in ((hit, "x"), (folder / "0", hit.name), (folder / "x", "0")):
            if before.exists():
                before.rename(folder / after)
    elif world.damage == "newest":
        newest = max(hit.glob("dense-*/*.npys"))
        newest.write_bytes(newest.read_bytes()[:-1])


def started(world, start, folder):
    """Fork all processes of a start; how they ended, and what they said."""
    children, said = [], []
    for rank in range(world.ranks[start]):
        said.append(folder / f"said-{start}-{rank}")
        child = os.fork()
        if not child:
            code = WRONG
            try:
                torch.set_num_threads(1)
                code = play(world, start, rank, folder, said[-1])
            except BaseException as error:
                said[-1].write_text(f"{type(error).__name__}: {error}")
            finally:
                os._exit(code)
        children.append(child)
    codes = {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children}
    return codes, [each.read_text() if each.exists() else "nothing" for each in said]


def ended(world):
    """How a job ended: "right", "refused", or what was wrong."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for start in range(3):
            codes, said = started(world, start, folder)
            if codes == {REFUSED} and world.is_damaged and all(map(MISSING.match, said)):
                return "refused"
            if codes != {RIGHT}:
                return f"start {start}: {said}"
            if start == 0:
                damaged(world, folder)
    return "right"


def warm():
    """Import, before processes are forked, what torch imports when it makes a DTensor.

    A group of the fake backend has no threads, which a fork would lose.
    """
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)
    made = distribute_tensor(torch.zeros(1), init_device_mesh("cpu", (1,)), [Shard(0)])
    made.__create_chunk_list__()
    dist.destroy_process_group()


def main(first, count):
    warm()
    found = {"right": 0, "refused": 0, "wrong": 0}
    for seed in range(first, first + count):
        world = World(seed)
        end = ended(world)
        found[end if end in found else "wrong"] += 1
        if end not in found:
            sys.stdout.write(f"seed {seed}: {world}: {end}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{found}\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
