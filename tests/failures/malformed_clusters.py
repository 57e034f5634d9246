"""Logs of clusters' own tools that are wrong, one of each kind, with what a user is told."""

import gzip
import json

from tests.failures.malformed import FOLDER, Case

_SLURM = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
_DOWN = "c|n1|2024-01-31T12:00:00|2024-01-31T13:00:00|DOWN*|Not responding|slurm(1)\n"
_NO_TIME = "not a time like 2024-01-31T12:00:00, or Unknown"
_FAULT = {"Level": "Hardware Failure", "Class": "GPU", "Desc": "GPU lost"}
_EVENT = {"node_id": "a", "event_time": 1, "event_type": "fault_start", "fault_type": _FAULT}
_XID = "kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
_SHORT_ISO = "write the log with journalctl -k -o short-iso"
_SERIES = {"metric": {"instance": "a:9100"}, "values": [[0, "1"], [30, "0"]]}


def _file(reader: str, name: str, content: object, error: str, file: str) -> Case:
    return Case(f"{reader}-{name}", reader, file, content, f"{file}:{error}")


def _stepfun(name: str, content: object, error: str, file: str = "faults.json") -> Case:
    return _file("stepfun", name, content, error, file)


def _slurm(name: str, content: object, error: str, file: str = "events.txt") -> Case:
    return _file("slurm", name, content, error, file)


def _prometheus(name: str, content: object, error: str, file: str = "up.json") -> Case:
    return _file("prometheus", name, content, error, file)


def _query(*series: object, kind: str = "matrix") -> str:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": series}})


def _result(name: str, error: str, *series: object) -> Case:
    return _prometheus(name, _query(*series), f" {error}")


def _series_of(key: str, value: object, fault: str) -> Case:
    content = _query(_SERIES, _SERIES | {key: value})
    return _prometheus(f"not-{fault}", content, f" is not a range query of Prometheus: {fault}")


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
    _stepfun(
        "object",
        "{}",
        " is not a list of StepFun faults: it is '{}'; it should be a valid list",
    ),
    *(
        _stepfun(
            f"{name}-{value!r}",
            json.dumps([_EVENT, _EVENT | {name: value}]),
            f" is not a list of StepFun faults: 1.{name}{fault}",
        )
        for name, value, fault in (
            ("node_id", 7, " is '7'; it should be a valid string"),
            ("event_time", -1, " is '-1'; it should be greater than or equal to 0"),
            ("event_time", 10**9, " is '1000000000'; it should be less than or equal to 100000"),
            ("event_time", float("nan"), " is 'NaN'; it should be a finite number"),
            ("event_time", "today", " is '\"today\"'; it should be a valid number"),
            ("event_time", True, " is 'true'; it should be a valid number"),
            ("event_type", "x", " is '\"x\"'; it should be 'fault_start' or 'fault_end'"),
            ("fault_type", "GPU", " is '\"GPU\"'; it should be a valid dictionary"),
            ("fault_type", {"Level": "x"}, ".Class is missing"),
            ("fault_type", {"Class": ""}, ".Class is '\"\"'; it should have at least 1 character"),
        )
    ),
    _stepfun("no-event", "[]", " holds no failure: no event is a fault_start"),
    _stepfun("not-utf-8", b'["\n\xe9"]', "2: is not UTF-8: byte 0xe9"),
    _stepfun(
        "cut-short-gz",
        gzip.compress(json.dumps([_EVENT]).encode())[:-4],
        " is cut short; copy it again",
        "faults.json.gz",
    ),
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
    _prometheus("not-utf-8", b'{"\xe9"}', "1: is not UTF-8: byte 0xe9"),
    _prometheus("no-data", '{"status": "success"}', " has no data.result, the list of series"),
    _prometheus(
        "refused",
        '{"status": "error", "errorType": "bad_data", "error": "exceeded maximum resolution"}',
        " is an error of Prometheus: 'exceeded maximum resolution'",
    ),
    *(
        _prometheus(f"not-{fault}", content, f" is not a range query of Prometheus: {fault}")
        for content, fault in (
            ("[]", "it is '[]'; it should be a valid dictionary"),
            (_query("up"), "data.result.0 is '\"up\"'; it should be a valid dictionary"),
            (
                _query(kind="vector"),
                "data.resultType is '\"vector\"'; it should be 'matrix'",
            ),
        )
    ),
    *(
        _series_of(key, value, f"data.result.1.{key}{fault}")
        for key, value, fault in (
            ("metric", "up", " is '\"up\"'; it should be a valid dictionary"),
            ("values", [], " is '[]'; it should have at least 1 item"),
            ("values", [1], ".0 is '1'; it should be a valid tuple"),
            ("values", [["now", "1"]], ".0.0 is '\"now\"'; it should be a valid number"),
            (
                "values",
                [[1e12, "1"]],
                ".0.0 is '1000000000000.0'; it should be less than 100000000000",
            ),
            ("values", [[0, "0.5"]], ".0.1 is '\"0.5\"'; it should be '0' or '1'"),
            ("values", [[0, 1]], ".0.1 is '1'; it should be '0' or '1'"),
        )
    ),
    _result("no-series", "holds no failure: data.result is empty"),
    _series("no-name", "has no label node or instance in its metric", metric={"job": "node"}),
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
