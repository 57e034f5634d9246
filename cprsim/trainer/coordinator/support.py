"""What of the contract is carried out on real processes; the rest is refused before it starts."""

from cprsim.contract.needs import Interpreter

_TRAINER = Interpreter(
    ("controller", "schedules", "background", "copies", "training on"), "trained yet"
)
check_plan, check_answer = _TRAINER.check_plan, _TRAINER.check_answer
