"""Severities of failures: what each leaves of the memory of the nodes that it hits."""

from typing import Literal, get_args

#: `process` leaves their hosts' memory, `node` none of it, and `cluster` hits all nodes and leaves
#: none of it.
Severity = Literal["process", "node", "cluster"]
#: From the mildest to the worst.
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
