"""What of the contract is carried out on real processes, and by hooks in somebody else's loop.

A loop is stopped by nothing but its own calls: it can wait for a save, or have it written beside
its training.
"""

from cprsim.contract.interpreter import Interpreter
from cprsim.contract.needs import WITH_HOOKS

TRAINER = Interpreter(
    (
        *("controller", "schedules", "differences", "bits", "background"),
        *("copies", "training on"),
    ),
    "trained yet",
)
HOOKS = Interpreter(WITH_HOOKS, "done by hooks")
