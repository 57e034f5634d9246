"""Hooks around tensors without a model."""

import re
from contextlib import contextmanager

import pytest
import torch

from cprsim.errors import UsageError
from cprsim.trainer import TablePart, TrainerHooks
from tests.trainer.loops import scenario

STEPS = 10


class Held:
    """An adapter of tensors without a model; table 0 in shard 0, tables 1 and 2 in shard 1."""

    def __init__(self, tables=((300, 8), (100, 8), (20, 8)), state=()):
        self.parts = [TablePart(n, torch.zeros(shape), state) for n, shape in enumerate(tables)]
        self.found = {0: self.parts[:1], 1: self.parts[1:]}
        self.rest = {"mlp": torch.nn.Linear(2, 2)}

    def shards(self):
        return self.found

    def dense(self):
        return self.rest

    def lookups(self, batch):
        return batch


def hooks(adapter, folder, policy="cpr-mfu", **more):
    more = {"steps": STEPS, "scenario": scenario()} | more
    return TrainerHooks(more.pop("scenario"), policy, adapter, folder, **more)


def begun(folder, policy="cpr-mfu", count=0, adapter=None, **more):
    """Hooks of a job that has done so many steps."""
    it = hooks(Held() if adapter is None else adapter, folder, policy, **more)
    it.restore()
    steps(it, count)
    return it


def steps(it, count):
    for _ in range(count):
        it.after_step({})


def said(text):
    return f"^{re.escape(text)}$"


@contextmanager
def refused(text, kind=UsageError):
    """The block ends with this error, to the letter."""
    with pytest.raises(kind, match=said(text)):
        yield
