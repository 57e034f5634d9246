"""Random histories of a job with hooks: what comes back is what was saved, bit for bit.

The oracle is a copy of all rows and of the dense part, taken as saves are stored: of rows that a
tracker chose, these alone.
"""

import os
import random
import warnings

import pytest
import torch

from cprsim.trainer import HooksObserver, HooksWarning
from cprsim.trainer.hooks.snapshot import Image
from cprsim.trainer.hooks.trackers import RowTrackers
from tests.trainer.faults import no_room
from tests.trainer.loops import STEPS, Adapter, Loop, clean, hooked, scenario
from tests.trainer.test_hooks_adopt import heal

MORE = {
    "async": {"system": "async", "interval": "10 s"},
    "delta": {"system": "delta", "interval": "2 s", "snapshot": "0 s", "tracking": 0.0},
    **{
        variant: {
            "system": "check-n-run",
            "variant": variant,
            "bits": 32,
            "interval": "3 s",
            "snapshot": "0 s",
            "tracking": 0.0,
        }
        for variant in ("consecutive", "one-shot", "intermittent")
    },
}
SCENARIO = scenario(**MORE)
WHOLE = ("full", *MORE)  # under these a loss takes all back
POLICIES = (*WHOLE, "partial", "cpr-vanilla", "cpr-mfu", "cpr-ssu", "cpr-scar")


class World(HooksObserver):
    """A job, what is saved of it, and what it has lost."""

    def __init__(self, policy, folder, seed, monkeypatch):
        self.policy, self.folder, self.rng = policy, folder, random.Random(seed)
        self.chosen, select, write = None, RowTrackers.select, Image.write

        def noted(trackers):
            self.chosen = select(trackers)
            return self.chosen

        def tried(image, *more):
            if self.full == "disk" or (
                self.full and image.store is self.hooks._state.checkpoints.dense
            ):
                no_room()
            return write(image, *more)

        monkeypatch.setattr(RowTrackers, "select", noted)
        monkeypatch.setattr(Image, "write", tried)
        self.full, self.saves = "", 0
        self.start(seed=0)
        self.image, self.dense, self.step = self.rows(), self.rest(), 0

    def start(self, seed):
        """A process, whose state is another one until it restores, but for the first."""
        given = {"scenario": SCENARIO, "observers": [self]}
        self.loop = hooked(self.policy, self.folder, Loop(seed), **given)
        self.hooks = self.loop.hooks
        return self.hooks.restore()

    def rows(self):
        """Copies, by the numbers that hooks have for them: each tensor with all rows of a table."""
        parts = self.hooks._state._layout.parts
        live = self.hooks._state._layout.tensors(Adapter(self.loop).shards())
        return [torch.cat([live[part][n] for part in parts]) for n in range(2)]

    def rest(self):
        of = self.loop.of_mlp.state.values()
        kept = [each for state in of for each in state.values()]
        return [each.detach().clone() for each in (*self.loop.mlp.parameters(), *kept)]

    def saved(self, save):
        """All rows are in it, but where a tracker chose."""
        at = slice(None) if save.rows is None else torch.from_numpy(self.chosen)
        for image, now in zip(self.image, self.rows(), strict=True):
            image[at] = now[at]
        self.dense, self.step, self.saves = self.rest(), save.step, self.saves + 1

    def train(self, end):
        self.loop.train(end, settle=True)
        return end

    def check(self, rows, dense):
        assert all(map(torch.equal, self.rows(), rows))
        assert all(map(torch.equal, self.rest(), dense))

    def lose(self, step):
        """Shards are lost, and the dense part perhaps."""
        lost = set(self.rng.sample(range(2), self.rng.randint(1, 2)))
        dense = self.rng.random() < 0.3
        kept = self.rows(), self.rest()
        for shard in lost:
            for part in Adapter(self.loop).shards()[shard]:
                for tensor in (part.weights, *part.state):
                    tensor.detach().fill_(float("nan"))
        for each in self.loop.mlp.parameters() if dense else ():
            each.detach().fill_(float("nan"))
        back = self.hooks.on_failure(lost, dense)
        if self.policy in WHOLE:
            self.check(self.image, self.dense)
            assert back == self.step
            return back
        expected = [each.clone() for each in kept[0]]
        for part in self.hooks._state._layout.parts:
            if part.shard in lost:
                at = slice(part.start, part.numbers.stop)
                for mine, image in zip(expected, self.image, strict=True):
                    mine[at] = image[at]
        self.check(expected, self.dense if dense else kept[1])
        assert back == step
        return back

    def kill(self, _):
        back = self.start(seed=1)
        self.check(self.image, self.dense)
        assert back == self.step
        return back

    def save(self, step):
        assert self.hooks.save_now() == (not self.full)
        return step

    def fill(self, step):
        """The disk is full from now on, for the dense part or for all, or has room again."""
        self.full = "" if self.full else self.rng.choice(["disk", "dense"])
        return step

    def adopt(self, step):
        """Something else brings the state of another step."""
        if self.full:
            return step
        step = self.rng.randrange(STEPS)
        heal(self.loop, step)
        self.hooks.adopt(step)
        self.image, self.dense, self.step = self.rows(), self.rest(), step
        return step


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "seeds", [range(4), pytest.param(range(4, 24), marks=pytest.mark.nightly)], ids=["few", "many"]
)
def test_what_comes_back_is_what_was_saved(policy, seeds, tmp_path, monkeypatch):
    happened, saves = set(), 0
    for seed in seeds:
        monkeypatch.undo()  # the last world may have filled its disk
        world = World(policy, tmp_path / str(seed), seed, monkeypatch)
        monkeypatch.setattr(os, "fsync", lambda _: None)
        step, more = 0, 8
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HooksWarning)
            while step < STEPS:
                step = world.train(min(step + world.rng.randint(1, 9), STEPS))
                event = world.rng.choice(
                    [world.lose, world.kill, world.save, world.fill, world.adopt]
                )
                if step < STEPS and more:
                    step, more = event(step), more - 1
                    happened.add(event.__name__)
        assert all(each.isfinite().all() for each in world.rows())
        assert world.hooks.summary.step == STEPS
        if policy in WHOLE:  # nothing is lost that is not done again
            assert world.loop.digest() == clean()
        saves += world.saves
    assert saves > 0
    if len(seeds) > 2:
        assert happened == {"lose", "kill", "save", "fill", "adopt"}
