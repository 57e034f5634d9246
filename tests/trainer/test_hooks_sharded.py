"""A dense part of DTensors in one process: torch.distributed.checkpoint in a store that hashes."""

from functools import partial

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

from cprsim.trainer.hooks.nested import packed
from cprsim.trainer.hooks.ranks import OneProcess
from tests.trainer.counting import Counted, counted

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    store = tmp_path_factory.mktemp("group") / "store"
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


class Sharded(Counted):
    """Its MLP is a DTensor, beside something that isn't."""

    def __init__(self, mesh, *given):
        super().__init__(*given)
        whole = torch.arange(6.0).view(3, 2)
        self.dtensor = distribute_tensor(whole, mesh, [Shard(0)])

    def dense(self):
        return {"mlp": self.mlp, "sharded": self}

    def state_dict(self):
        return {"weight": self.dtensor, "of": {"steps": 3, "kinds": ["a", "b"]}}

    def load_state_dict(self, state):
        assert isinstance(state["weight"], DTensor)
        self.dtensor, self.of = state["weight"], state["of"]


class Survivor(OneProcess):
    """Another process that has the dense part, as it is now."""

    def __init__(self, content):
        self._content = content

    def copied(self, content):
        return self._content if content is None else content


def test_what_lies_beside_shards_is_taken_from_a_survivor(mesh, tmp_path):
    there = Sharded(mesh)
    there.mlp.weight.detach().fill_(7)
    survivor = Survivor(packed({"mlp": there.mlp.state_dict()}))
    it = counted(tmp_path, policy="partial", of=partial(Sharded, mesh), ranks=survivor)
    it.hooks.restore()
    it.dtensor.to_local().fill_(8)
    it.hooks.on_failure({0}, dense=True)

    assert it.mlp.weight == 7
    assert torch.equal(it.dtensor.to_local(), torch.arange(6.0).view(3, 2))
