"""Logs of clusters' own tools that are wrong, one of each kind, with what a user is told."""

import gzip
import json

from tests.failures.malformed import FOLDER, Case

_SLURM = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
_DOWN = "c|n1|2024-01-31T12:00:00|2024-01-31T13:00:00|DOWN*|Not responding|slurm(1)\n"
_NO_TIME = "not a time like 2024-01-31T12:00:00, or Unknown"
_FAULT = {"Level": "Hardware Failure", "Class": "GPU", "Desc": "GPU lost"}
_EVENT = {"node_id": "a", "event_time": 1, "event_type": "fault_start", "fault_type": _FAULT}
_NO_STEPFUN = " is not the JSON of StepFun faults:"
_XID = "kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
_SHORT_ISO = "write the log with journalctl -k -o short-iso"
_SERIES = {"metric": {"instance": "a:9100"}, "values": [[0, "1"], [30, "0"]]}
_NO_PROMETHEUS = " is not the JSON of a range query of Prometheus:"


def _file(reader: str, name: str, content: object, error: str, file: str) -> Case:
    return Case(f"{reader}-{name}", reader, file, content, f"{file}:{error}")


def _stepfun(name: str, content: object, error: str, file: str = "faults.json") -> Case:
    return _file("stepfun", name, content, error, file)


def _event(name: str, error: str, **changed: object) -> Case:
    """The second event is a wrong one; a value of None takes its key away."""
    event = {key: value for key, value in (_EVENT | changed).items() if value is not None}
    return _stepfun(name, json.dumps([_EVENT, event]), f" event 1{error}")


def _slurm(name: str, content: object, error: str, file: str = "events.txt") -> Case:
    return _file("slurm", name, content, error, file)


def _prometheus(name: str, content: object, error: str, file: str = "up.json") -> Case:
    return _file("prometheus", name, content, error, file)


def _result(name: str, error: str, *series: object, kind: str = "matrix") -> Case:
    answer = {"status": "success", "data": {"resultType": kind, "result": series}}
    return _prometheus(name, json.dumps(answer), f" {error}")


def _series(name: str, error: str, **changed: object) -> Case:
    return _result(name, f"series 1 {error}", _SERIES, _SERIES | changed)


def _xid(name: str, content: object, error: str, file: str = "kern.log") -> Case:
    return _file("xid", name, content, error, file)


CLUSTER_CASES = [
    *(
        Case(f"not-there-{reader}", reader, "log", None, "log: no such file")
        for reader in ("stepfun", "slurm", "prometheus", "xid")
    ),
    # stepfun
    Case("folder-stepfun", "stepfun", "log", FOLDER, "log: is a directory, not a log"),
    _stepfun("empty", "", "1: is not JSON: Expecting value at column 1; copy it again"),
    _stepfun("object", "{}", f"{_NO_STEPFUN} it needs a list of events"),
    _stepfun(
        "twice",
        '[{"node_id": 1, "node_id": 2}]',
        f"{_NO_STEPFUN} has 'node_id' twice; leave one out",
    ),
    _stepfun("no-event", "[]", " holds no failure: no event is a fault_start"),
    _stepfun("not-utf-8", b'["\n\xe9"]', "2: is not UTF-8: byte 0xe9"),
    _stepfun(
        "cut-short-gz",
        gzip.compress(json.dumps([_EVENT]).encode())[:-4],
        " is cut short; copy it again",
        "faults.json.gz",
    ),
    _stepfun("text", '["down"]', " event 0 is '\"down\"'; it needs node_id, event_time, ..."),
    _event("no-node", ": has no node_id", node_id=None),
    _event("node-number", ": node_id is '7'; it needs a text", node_id=7),
    _event("no-time", ": has no event_time", event_time=None),
    _event("negative", ": event_time is '-1'; it needs days, 0 to 100000", event_time=-1),
    _event(
        "seconds", ": event_time is '1711756800'; it needs days, 0 to 100000", event_time=1711756800
    ),
    _event("nan", ": event_time is 'NaN'; it needs days, 0 to 100000", event_time=float("nan")),
    _event("date", ": event_time is '\"today\"'; it needs days, 0 to 100000", event_time="today"),
    _event("true", ": event_time is 'true'; it needs days, 0 to 100000", event_time=True),
    _event(
        "type",
        ": event_type is 'fault'; known types: fault_start, fault_end",
        event_type="fault",
    ),
    _event("fault-text", ": fault_type is '\"GPU\"'; it needs a Class", fault_type="GPU"),
    _event("no-class", ": has no Class", fault_type={"Level": "Hardware Failure"}),
    _event("empty-class", ": Class is '\"\"'; it needs a text", fault_type={"Class": ""}),
    _stepfun(
        "only-ends",
        json.dumps([_EVENT | {"event_type": "fault_end"}]),
        " holds no failure: left out are 1 ends of faults that are not open",
    ),
    # slurm
    _slurm("empty", "", " holds no failure"),
    _slurm("header-only", _SLURM, " holds no failure"),
    _slurm("not-utf-8", _SLURM.encode() + b"c|n\xe9\n", "2: is not UTF-8: byte 0xe9"),
    _slurm("archive", "", " is an archive; unpack it and name one of its files", "events.tar.gz"),
    _slurm(
        "no-reason",
        "NodeName|TimeStart|TimeEnd|State\nn1|2024-01-31T12:00:00|Unknown|DOWN\n",
        "1: has no column Reason; the header is 'NodeName,TimeStart,TimeEnd,State'",
    ),
    _slurm(
        "no-node",
        "Cluster|TimeStart|TimeEnd|State|Reason\n",
        "1: has no column NodeName; the header is 'Cluster,TimeStart,TimeEnd,State,Reason'",
    ),
    _slurm(
        "column-twice",
        "NodeName|State|TimeStart|TimeEnd|State|Reason\n",
        "1: has column State twice; the header is 'NodeName,State,TimeStart,TimeEnd,State,Reason'",
    ),
    _slurm(
        "too-few-cells", "c|n1|2024-01-31T12:00:00\n", "1: the row has 3 cells, the header has 7"
    ),
    _slurm(
        "too-many-cells",
        (_SLURM + _DOWN.replace("Not", "disk|Not")).replace("Reason", "Cause"),
        "1: has no column Reason; the header is "
        "'Cluster,NodeName,TimeStart,TimeEnd,State,Cause,User'",
    ),
    _slurm(
        "columns-of-spaces",
        "     c    n1 2024-01-31T12:00:00 Unknown DOWN*\n",
        "1: the row has 1 cells, the header has 7",
    ),
    _slurm(
        "date", _DOWN.replace("T12:", " 12:"), f"1: TimeStart is '2024-01-31 12:00:00', {_NO_TIME}"
    ),
    _slurm(
        "no-such-day",
        _SLURM + _DOWN.replace("01-31T12", "02-30T12"),
        f"2: TimeStart is '2024-02-30T12:00:00', {_NO_TIME}",
    ),
    _slurm(
        "bad-end",
        _DOWN.replace("2024-01-31T13:00:00", "later"),
        f"1: TimeEnd is 'later', {_NO_TIME}",
    ),
    _slurm(
        "zone",
        _DOWN.replace("T12:00:00", "T12:00:00Z"),
        f"1: TimeStart is '2024-01-31T12:00:00Z', {_NO_TIME}",
    ),
    _slurm(
        "no-state",
        _DOWN.replace("DOWN*", ""),
        "1: State is ''; it needs a state of a node, e.g. DOWN",
    ),
    _slurm(
        "only-others",
        _DOWN.replace("Not responding", "Maintenance")
        + _DOWN.replace("n1", "")
        + _DOWN.replace("DOWN*", "MAINT")
        + _DOWN.replace("2024-01-31T12:00:00", "Unknown"),
        " holds no failure: left out are 1 rows of planned outages (maint), "
        "1 rows of whole clusters, 1 rows of state MAINT, 1 rows without a start",
    ),
    # prometheus
    _prometheus("empty", "", "1: is not JSON: Expecting value at column 1; copy it again"),
    _prometheus("list", "[]", f"{_NO_PROMETHEUS} it needs data.result"),
    _prometheus("not-utf-8", b'{"\xe9"}', "1: is not UTF-8: byte 0xe9"),
    _prometheus("no-data", '{"status": "success"}', " has no data.result, the list of series"),
    _prometheus(
        "refused",
        '{"status": "error", "errorType": "bad_data", "error": "exceeded maximum resolution"}',
        " is an error of Prometheus: 'exceeded maximum resolution'",
    ),
    _result(
        "vector",
        "data.resultType is '\"vector\"'; it needs a matrix, of query_range",
        kind="vector",
    ),
    _result("no-series", "holds no failure: data.result is empty"),
    _result("text", "series 0 is '\"up\"'; it needs metric and values", "up"),
    _series("no-name", "has no label node or instance in its metric", metric={"job": "node"}),
    _series("no-metric", "has no label node or instance in its metric", metric="up"),
    _series("no-values", "has no values, the list of its samples", values=[]),
    _series("bare-sample", "sample 0 is '1'; it needs a time and a value", values=[1]),
    _series("date", "sample 0 is at '\"now\"'; it needs UNIX seconds", values=[["now", "1"]]),
    _series(
        "milliseconds",
        "sample 0 is at '1700000000000'; it needs UNIX seconds",
        values=[[1_700_000_000_000, "1"]],
    ),
    _series("share", 'sample 0 has the value \'"0.5"\'; it needs "0" or "1"', values=[[0, "0.5"]]),
    _series("number", 'sample 0 has the value \'1\'; it needs "0" or "1"', values=[[0, 1]]),
    _series(
        "out-of-order", "sample 1 is no later than the one before", values=[[30, "1"], [30, "0"]]
    ),
    _series(
        "same-node",
        "is the second one of 'a:9100'; ask for one series a node, e.g. min by (instance) (up)",
    ),
    _result(
        "one-sample",
        "holds no failure: no series has a second sample",
        _SERIES | {"values": [[0, "1"]]},
    ),
    _result(
        "never-down",
        "holds no failure: no node goes down",
        _SERIES | {"values": [[0, "1"], [30, "1"]]},
    ),
    _result(
        "down-from-the-first",
        "holds no failure: left out are 1 outages under way when the record of their node begins",
        _SERIES | {"values": [[0, "0"], [30, "1"]]},
    ),
    # xid
    _xid("empty", "", " holds no failure: no line has an NVRM: Xid"),
    _xid(
        "none",
        "2024-03-01T12:00:00Z gpu1 kernel: hello\n",
        " holds no failure: no line has an NVRM: Xid",
    ),
    _xid("not-utf-8", b"\n\xe9\n", "2: is not UTF-8: byte 0xe9"),
    _xid("archive", "", " is an archive; unpack it and name one of its files", "kern.log.zip"),
    _xid(
        "cut-short-gz",
        gzip.compress(_XID.encode())[:-4],
        " is cut short after line 0; copy it again",
        "kern.log.gz",
    ),
    _xid("line-of-a-megabyte", "x" * (2**20 + 1), "1: is longer than 1048576 bytes"),
    _xid(
        "no-year",
        f"Mar  1 12:00:00 gpu1 {_XID}",
        f"1: time is 'Mar  1 12:00:00', without a year; {_SHORT_ISO}",
    ),
    _xid(
        "dmesg",
        "[  12.5] NVRM: Xid (PCI:0000:3b:00): 79, gone\n",
        "1: no ISO time and host in front of the Xid: "
        f"'[  12.5] NVRM: Xid (PCI:0000:3b:00): 79, gone'; {_SHORT_ISO}",
    ),
    _xid(
        "dmesg-iso",
        "2024-03-01T12:00:00,5+00:00 NVRM: Xid (PCI:0): 79, gone\n",
        "1: no ISO time and host in front of the Xid: "
        f"'2024-03-01T12:00:00,5+00:00 NVRM: Xid (PCI:0): 79, gone'; {_SHORT_ISO}",
    ),
    _xid(
        "no-such-day",
        f"2024-02-30T12:00:00Z gpu1 {_XID}",
        "1: time is '2024-02-30T12:00:00Z', not a time like 2024-03-01T12:00:00+00:00",
    ),
    _xid(
        "no-such-hour",
        f"\n2024-02-03T25:00:00 gpu1 {_XID}",
        "2: time is '2024-02-03T25:00:00', not a time like 2024-03-01T12:00:00+00:00",
    ),
    _xid(
        "no-code",
        "2024-03-01T12:00:00Z gpu1 kernel: NVRM: Xid (PCI:0000:3b:00)\n",
        "1: no code behind NVRM: Xid: "
        "'2024-03-01T12:00:00Z gpu1 kernel: NVRM: Xid (PCI:0000:3b:00)'",
    ),
    _xid(
        "code-of-letters",
        "2024-03-01T12:00:00Z gpu1 kernel: NVRM: Xid (PCI:0): DBE\n",
        "1: no code behind NVRM: Xid: '2024-03-01T12:00:00Z gpu1 kernel: NVRM: Xid (PCI:0): DBE'",
    ),
    _xid(
        "zone-later",
        f"2024-03-01T12:00:00 gpu1 {_XID}2024-03-01T13:00:00Z gpu1 {_XID}",
        f"2: time is '2024-03-01T13:00:00Z', with a zone, unlike those before; {_SHORT_ISO}",
    ),
    _xid(
        "zone-earlier",
        f"2024-03-01T12:00:00Z gpu1 {_XID}2024-03-01T13:00:00 gpu1 {_XID}",
        f"2: time is '2024-03-01T13:00:00', without a zone, unlike those before; {_SHORT_ISO}",
    ),
    _xid(
        "only-others",
        f"2024-03-01T12:00:00Z gpu1 {_XID}".replace("79", "13") * 2,
        " holds no failure: left out are 2 lines of Xid 13",
    ),
]
