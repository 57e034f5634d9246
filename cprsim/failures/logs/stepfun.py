"""Faults of GPU servers in the form of StepFun's InfiniteHBD trace."""

import json
from collections import defaultdict, deque
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from cprsim.basics.tabular import LogPath
from cprsim.failures.logs.json_log import parsed
from cprsim.failures.logs.log import FailureLog, Rows
from cprsim.failures.logs.outages import Outage, outages_log

_DAY_S = 86_400.0
_MOST_DAYS = 100_000  # centuries: a time in seconds is none in days
_Text = Annotated[str, Field(min_length=1, strict=True)]


class _Fault(BaseModel):
    model_config = ConfigDict(extra="allow")

    cause: _Text = Field(alias="Class")


class _Event(BaseModel):
    node_id: _Text
    event_time: Annotated[float, Field(ge=0, le=_MOST_DAYS, allow_inf_nan=False, strict=True)]
    event_type: Literal["fault_start", "fault_end"]
    fault_type: _Fault

    @property
    def fault(self) -> tuple[str, str]:
        """The node, and everything that is told of the fault."""
        return self.node_id, json.dumps(self.fault_type.model_dump(), sort_keys=True)


def read_stepfun(path: LogPath) -> FailureLog:
    """Faults of a JSON list of events: `node_id`, `event_time`, `event_type`, `fault_type`.

    `event_time` is in days from the start of the trace. A `fault_end` closes the fault of its node
    with the same `fault_type` that has been open longest; a node may have several open at once.
    Other keys are ignored.

    Parameters
    ----------
    path
        The trace; plain, or compressed with a name that ends in `.gz` or `.xz`.

    Returns
    -------
    FailureLog
        A failure for each `fault_start`, repaired at its `fault_end`, if there is one. The cause is
        the `Class` of the fault type. Nodes are numbered as they first fail. The observation lasts
        from second 0 to the last event. How many nodes there are, the trace doesn't tell. Ends of
        faults that aren't open are counted in `dropped`.

    Raises
    ------
    LogError
        If the file can't be read, is no such list, or has no fault.

    References
    ----------
    C. Shou et al., "InfiniteHBD: building datacenter-scale high-bandwidth domain for LLM with
    optical circuit switching transceivers", SIGCOMM 2025;
    https://github.com/stepfun-ai/InfiniteHBD-Trace.
    """
    events = parsed(path, list[_Event], "a list of StepFun faults")
    events.sort(key=lambda event: event.event_time)  # those at one instant stay in order
    outages, opened, early = list[Outage](), defaultdict[Any, deque[int]](deque), 0
    for event in events:
        faults, at_s = opened[event.fault], event.event_time * _DAY_S
        if event.event_type == "fault_start":
            faults.append(len(outages))
            outages.append(Outage(event.node_id, at_s, cause=event.fault_type.cause))
        elif faults:
            outage = faults.popleft()
            outages[outage] = outages[outage]._replace(end_s=at_s)
        else:
            early += 1
    return outages_log(
        path,
        pd.DataFrame(outages, columns=Outage._fields),
        "no event is a fault_start",
        events[-1].event_time * _DAY_S if events else 0.0,
        zero_s=0.0,
        rows=Rows("events", len(events), len(events) - early),
        dropped={"ends of faults that are not open": early} if early else None,
    )
