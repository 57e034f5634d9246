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
import warnings
from collections import Counter

import pytest
import torch

from cprsim.errors import CprsimError
from cprsim.trainer import merge_deltas
from tests.trainer.counting import counted, same, without_hooks
from tests.trainer.faults import killed_at

STEPS, LIVES, LIFE = 60, 3, 6
FORK = multiprocessing.get_context("fork")
KEYS = {"modified": 0.2, "snapshot": "0 s", "tracking": 0.0}
TRUTH = without_hooks(STEPS)


def alone():
    """A process whose warnings are no news; what a kill leaves is in the system's memory."""
    warnings.simplefilter("ignore")
    os.fsync = lambda _: None


def live(folder, touches, said):
    """A process that trains: it says what it has loaded first."""
    alone()
    killed_at(touches, folder)
    it = counted(folder, STEPS, policy="delta", interval="1 s", keys=KEYS)
    try:
        step = it.hooks.restore()
    except CprsimError:
        said.send(None)
        return
    said.send((step, [each.numpy() for each in it.state()]))
    it.train(min(step + LIFE, STEPS))


def merge(folder, touches):
    alone()
    killed_at(touches, folder)
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
        step, state = loaded
        assert step == (expected or 0)
        assert same(map(torch.from_numpy, state), TRUTH[step])
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
