"""The last import of the process that members are forked from."""

from cprsim.trainer.lab.preloading import stop

stop()
