"""What each rank holds a shard of (`fully_shard`, TorchRec's tables), as bytes and back.

torch.distributed.checkpoint knows what a rank holds of them and writes that; every rank keeps its
own, without collectives, in the store that hashes all else of it. Its metadata are pickled: they
are read after their hash was compared.
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch.distributed.checkpoint.default_planner import (
    DefaultSavePlanner,
    create_default_global_save_plan,
)
from torch.distributed.checkpoint.metadata import Metadata
from torch.distributed.checkpoint.planner import SavePlan
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from cprsim.basics.owned import owned_folder

#: Within a folder that goes with the process, should that be killed meanwhile.
_FILES = "files"


class _OwnShards(DefaultSavePlanner):
    """Plans for this rank alone: the shards of others are theirs, and not missing."""

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """As the default, which checks in the end that all ranks together have everything."""
        plans, metadata = create_default_global_save_plan(all_plans)
        self.global_plan = plans
        (mine,) = plans
        self.metadata = Metadata(metadata.state_dict_metadata, planner_data=mine.planner_data)
        return plans, self.metadata


@contextmanager
def _without_others() -> Iterator[None]:
    """Each rank for itself is what is wanted, and no cause for a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled", UserWarning)
        yield


def shards_as_bytes(state: Mapping[str, Any]) -> dict[str, bytes]:
    """What this rank holds of a state: files of torch.distributed.checkpoint, by name."""
    with owned_folder() as owned, _without_others():
        folder = owned / _FILES
        save(dict(state), checkpoint_id=folder, planner=_OwnShards(), no_dist=True)
        return {each.name: each.read_bytes() for each in folder.iterdir()}


def load_shards(files: Mapping[str, bytes], state: Mapping[str, Any]) -> dict[str, Any]:
    """The state, in place and given, with what those files hold."""
    found = dict(state)
    with owned_folder() as owned, _without_others():
        folder = owned / _FILES
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        load(found, checkpoint_id=folder, no_dist=True)
    return found
