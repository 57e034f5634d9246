"""The parts of the contract that hooks carry out in a loop of users, and in the lab.

A loop is stopped by nothing but its own calls: it can wait for a save, or have it written in the
background. The lab has hooks in several processes, which would differ on what a controller goes
by that looks at the clock, and no groups that hold the same rows.
"""

from cprsim.contract.interpreter import Interpreter
from cprsim.contract.needs import WITH_HOOKS

LAB = Interpreter(tuple(need for need in WITH_HOOKS if need != "twins"), "trained yet")
HOOKS = Interpreter(WITH_HOOKS, "done by hooks")
