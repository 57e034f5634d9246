"""What of the contract hooks carry out in somebody else's loop; the rest is refused at the start.

A loop is stopped by nothing but its own calls: it can wait for a save, not have one beside it.
"""

from cprsim.contract.needs import Interpreter

_HOOKS = Interpreter(("controller", "schedules"), "done by hooks")
check_hookable, check_return = _HOOKS.check_plan, _HOOKS.check_answer
