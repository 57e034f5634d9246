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
    from cprsim.trainer.hooks.adapter import (
        MovementAdapter,
        ShardAdapter,
        TablePart,
        TwinAdapter,
        split_rows,
    )
    from cprsim.trainer.hooks.hooks import Summary, TrainerHooks
    from cprsim.trainer.hooks.observer import EventLog, HooksObserver, HooksWarning, StoredSave
    from cprsim.trainer.hooks.ranks import ProcessGroup, RebuiltGroup
    from cprsim.trainer.merge import merge_deltas

# Modules, and the names out of them: imported at their first use, since they need torch.
_MODULES = {
    "hooks.adapter": ("MovementAdapter", "ShardAdapter", "TablePart", "TwinAdapter", "split_rows"),
    "hooks.hooks": ("Summary", "TrainerHooks"),
    "hooks.observer": ("EventLog", "HooksObserver", "HooksWarning", "StoredSave"),
    "hooks.ranks": ("ProcessGroup", "RebuiltGroup"),
    "merge": ("merge_deltas",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
__all__ = [
    "EventLog",
    "HooksObserver",
    "HooksWarning",
    "MovementAdapter",
    "ProcessGroup",
    "RebuiltGroup",
    "ShardAdapter",
    "StoredSave",
    "Summary",
    "TablePart",
    "TrainerHooks",
    "TwinAdapter",
    "check_torch",
    "merge_deltas",
    "split_rows",
]


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
