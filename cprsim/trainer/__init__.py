"""A real trainer on this machine: the policies of the simulator, on processes that really die.

    section = trainer_section({"batch": 512})
    trained = train(scenario, section, "cpr", seed=0)
    trained.document()

Embedding tables are sharded over parameter servers, a trainer trains a DLRM on them, and a
controller saves, kills and recovers as a plan and a failure timeline say. docs/trainer.md has more.

`TrainerHooks` does the same for a training loop of your own, to which a `ShardAdapter` of yours
leads it; docs/plug-into-your-trainer.md has more.

Needs torch: `pip install "cprsim[torch]"`.
"""

from importlib import import_module, util
from typing import TYPE_CHECKING, Any

from cprsim.errors import UsageError

if TYPE_CHECKING:
    from cprsim.trainer.hooks.adapter import MovementAdapter as MovementAdapter
    from cprsim.trainer.hooks.adapter import ShardAdapter as ShardAdapter
    from cprsim.trainer.hooks.adapter import TablePart as TablePart
    from cprsim.trainer.hooks.adapter import TwinAdapter as TwinAdapter
    from cprsim.trainer.hooks.adapter import split_rows as split_rows
    from cprsim.trainer.hooks.hooks import TrainerHooks as TrainerHooks
    from cprsim.trainer.hooks.observer import EventLog as EventLog
    from cprsim.trainer.hooks.observer import HooksObserver as HooksObserver
    from cprsim.trainer.hooks.observer import HooksWarning as HooksWarning
    from cprsim.trainer.hooks.observer import StoredSave as StoredSave
    from cprsim.trainer.hooks.ranks import ProcessGroup as ProcessGroup
    from cprsim.trainer.hooks.ranks import RebuiltGroup as RebuiltGroup
    from cprsim.trainer.hooks.summary import Summary as Summary
    from cprsim.trainer.merge import merge_deltas as merge_deltas

# Names by modules, imported at their first use, since they need torch.
_MODULES = {
    "hooks.adapter": ("MovementAdapter", "ShardAdapter", "TablePart", "TwinAdapter", "split_rows"),
    "hooks.hooks": ("TrainerHooks",),
    "hooks.observer": ("EventLog", "HooksObserver", "HooksWarning", "StoredSave"),
    "hooks.ranks": ("ProcessGroup", "RebuiltGroup"),
    "hooks.summary": ("Summary",),
    "merge": ("merge_deltas",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
__all__ = ["check_torch", *_HOMES]  # noqa: PLE0604  (these are strings)


def check_torch() -> None:
    """Raise `UsageError` where torch is not installed, saying what to install."""
    if util.find_spec("torch") is None:
        raise UsageError(
            'torch is not installed, and real training needs it: pip install "cprsim[torch]"'
        )


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        check_torch()
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
