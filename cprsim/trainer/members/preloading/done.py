"""The last import of the process that members are forked from."""

from cprsim.trainer.members.preloading import stop

stop()
