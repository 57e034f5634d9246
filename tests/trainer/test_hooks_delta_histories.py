"""Random histories of delta chains on disk: the last sound state or a refusal, never a mixture.

A trainer and a merger are killed as they touch files, files go missing or are doubled, and the next
process says what it loads.
"""

import hashlib
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import warnings
from collections import Counter

import numpy as np
import pytest
import torch

import cprsim
from cprsim.errors import CprsimError
from cprsim.trainer import TablePart, TrainerHooks, merge_deltas

ROWS, STEPS, LIVES, LIFE = 24, 60, 3, 6
FORK = multiprocessing.get_context("fork")
SCENARIO = cprsim.Scenario(
    job={"useful_time": f"{STEPS} s"},
    cluster={"parameter_servers": 2},
    costs={"save": "0 s", "load": "0 s"},
    failures={"exactly": 0},
    policies={
        "delta": {
            "system": "delta",
            "interval": "1 s",
            "modified": 0.2,
            "snapshot": "0 s",
            "tracking": 0.0,
        }
    },
)


def updated(step):
    """The rows of a step."""
    return np.random.default_rng(step).choice(ROWS, 4, replace=False)


def truth(step):
    """Weights and sums of a job that never failed."""
    weights, sums = np.zeros((ROWS, 2), np.float32), np.zeros(ROWS, np.float32)
    for each in range(step):
        weights[updated(each)] += each + 1
        sums[updated(each)] += each + 1
    return weights, sums


class Job:
    """A table in two shards, its optimizer's state, and a step in the dense part."""

    def __init__(self):
        self.weights, self.sums, self.step = torch.zeros(ROWS, 2), torch.zeros(ROWS), 0

    def shards(self):
        half = ROWS // 2
        return {
            shard: [TablePart(0, self.weights[rows], (self.sums[rows],), rows.start)]
            for shard, rows in enumerate((slice(0, half), slice(half, ROWS)))
        }

    def dense(self):
        return {"step": self}

    def lookups(self, step):
        return {0: torch.from_numpy(updated(step))}

    def state_dict(self):
        return {"step": self.step}

    def load_state_dict(self, state):
        self.step = state["step"]

    def train(self, step):
        for each in (self.weights, self.sums):
            each[updated(step)] += step + 1
        self.step = step + 1


def killed_at(folder, touches):
    """Die as files of a folder are touched for the last of so many times; None: never."""
    left = [touches]

    def hook(event, args):
        if event in {"open", "os.rename", "os.remove"} and str(args[0]).startswith(str(folder)):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    if touches is not None:
        sys.addaudithook(hook)


def alone():
    """A process whose warnings are no news; what a kill leaves is in the system's memory."""
    warnings.simplefilter("ignore")
    os.fsync = lambda _: None


def live(folder, touches, said):
    """A process that trains: it says what it has loaded first."""
    alone()
    job = Job()
    killed_at(folder, touches)
    hooks = TrainerHooks(SCENARIO, "delta", job, folder, STEPS)
    try:
        step = hooks.restore()
    except CprsimError:
        said.send(None)
        return
    said.send((step, job.step, job.weights.numpy().copy(), job.sums.numpy().copy()))
    for each in range(step, min(step + LIFE, STEPS)):
        job.train(each)
        hooks.after_step(each)


def merge(folder, touches):
    alone()
    killed_at(folder, touches)
    merge_deltas(folder)


def sound(folder):
    """Steps of which a store has a manifest and all files as they were written, read anew."""
    steps = set()
    for path in folder.glob("*.json"):
        digest, _, body = path.read_bytes().partition(b"\n")
        if not re.fullmatch(r"\d{8,}\.json", path.name):
            continue
        if hashlib.sha256(body).hexdigest().encode() != digest:
            continue
        serial, step, files = json.loads(body)
        if serial == int(path.stem) and all(
            is_sound(folder / each[0], *each[1:]) for each in files
        ):
            steps.add(step)
    return steps


def is_sound(path, size, sha256):
    if not path.exists() or path.stat().st_size != size:
        return False
    return hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def damage(rng, folder):
    """A file goes missing, is doubled, or stands in the place of another."""
    files = sorted(each for each in folder.rglob("*") if re.match(r"\d{8}", each.name))
    if not files:
        return
    path = rng.choice(files)
    alike = [each for each in files if each.parent == path.parent and each.suffix == path.suffix]
    how = rng.randrange(3)
    if how == 0:
        path.unlink()
    elif how == 1:
        shutil.copyfile(path, path.with_name(f"{int(path.name[:8]) + 1:08d}{path.name[8:]}"))
    elif len(alike) > 1:
        content = rng.choice(alike).read_bytes()
        path.write_bytes(content)


def began(target, *arguments):
    process = FORK.Process(target=target, args=arguments)
    process.start()
    return process


def lived(folder, rng, counts):
    """A life of the job; False if it was refused, and so is over."""
    stores = [folder / "dense-0", *folder.glob("rows-0-*")]
    steps = [sound(each) for each in stores if each.exists()]
    expected = max(set.intersection(*steps), default=None) if steps else None
    touches = rng.randrange(1, 250) if rng.random() < 0.8 else None
    mine, its = FORK.Pipe(duplex=False)
    processes = [began(live, folder, touches, its)]
    its.close()
    if folder.exists() and [*folder.glob("rows-0-*")]:
        touches = rng.randrange(1, 40) if rng.random() < 0.5 else None
        processes.append(began(merge, folder, touches))
    try:
        loaded = mine.recv()
    except EOFError:  # it was killed before
        loaded = ()
    for each in processes:
        each.join()
        assert each.exitcode in {0, -signal.SIGKILL}
        counts["kills"] += each.exitcode != 0
    counts["merged"] += any(folder.rglob("*m.npys"))
    if loaded is None:
        assert expected is None
        counts["refusals"] += 1
        return False
    if loaded:
        step, dense, *rows = loaded
        assert step == dense == (expected or 0)
        assert all(map(np.array_equal, rows, truth(step)))
        counts["loads"] += step > 0
    if rng.random() < 0.3:
        damage(rng, folder)
        counts["damages"] += 1
    return True


def histories(tmp_path, trials, seed):
    counts = Counter()
    for trial in range(trials):
        rng, folder = random.Random(seed * 10_000 + trial), tmp_path / str(trial)
        for _ in range(LIVES):
            if not lived(folder, rng, counts):
                break
        shutil.rmtree(folder, ignore_errors=True)
    return counts


def test_some_histories(tmp_path):
    counts = histories(tmp_path, 8, seed=0)
    assert min(counts[name] for name in ("kills", "loads", "damages")) > 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trials", "seed"),
    [(50, 0), *(pytest.param(250, seed, marks=pytest.mark.nightly) for seed in range(1, 5))],
)
def test_many_histories(trials, seed, tmp_path):
    counts = histories(tmp_path, trials, seed)
    assert min(counts[name] for name in ("kills", "loads", "damages")) > 0.4 * trials
    assert counts["merged"] > 0.04 * trials
