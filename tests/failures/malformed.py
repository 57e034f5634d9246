"""Logs that are wrong, one of each kind, with what a user is told."""

import gzip
import lzma
from pathlib import Path
from typing import NamedTuple

FOLDER = object()  # stands for a log that is a folder
FTA = "# event_id component_id node_id platform_id node_name event_type event_start_time"
FTA += " event_stop_time event_end_reason\n"
LANL = "System,nodes,nodenumz,Prob Started,Prob Fixed\n"
UNTERMINATED = "Unterminated string starting at"
PLACE = "it is an index from 0, or a name"
TIME = (
    "not a time; write seconds, epoch seconds or milliseconds, or ISO 8601 such as "
    "2026-05-03T14:00:00Z"
)
ENDS = "known flags: 1, true, yes, censored, 0, false, no, failed"
DATE = "not a time like 9/26/2003 16:40 (m/d/Y H:M)"


class Case(NamedTuple):
    """A wrong log: what is in it (bytes, text, FOLDER, or None for no file), and the error."""

    id: str
    reader: str
    name: str
    content: object
    error: str
    system: int | None = None

    def place(self, folder: Path) -> None:
        """Write the log; errors name it by `name` alone where that is how it was asked for."""
        if self.content is FOLDER:
            (folder / self.name).mkdir()
        elif self.content is not None:
            raw = self.content.encode() if isinstance(self.content, str) else self.content
            (folder / self.name).write_bytes(raw)


def _csv(name: str, content: object, error: str, file: str = "log.csv") -> Case:
    return Case(name, "csv", file, content, f"{file}:{error}")


def _lanl(name: str, rows: str, error: str, system: int = 8) -> Case:
    return Case(name, "lanl", "lanl.csv", LANL + rows, f"lanl.csv:{error}", system)


def _fta(name: str, content: str, error: str, system: int | None = None) -> Case:
    return Case(name, "fta", "event_trace.tab", content, f"event_trace.tab:{error}", system)


def _spot(name: str, content: object, error: str, file: str = "spot.json") -> Case:
    return Case(name, "spot", file, content, f"{file}:{error}")


def _spot_data(name: str, data: str, error: str) -> Case:
    return _spot(name, f'{{"metadata": {{"gap_seconds": 300}},\n"data": {data}}}', error)


def _not_json(line: int, what: str, column: int) -> str:
    return f"{line}: is not JSON: {what} at column {column}; copy it again"


def _intervals(name: str, content: str, error: str) -> Case:
    return Case(name, "intervals", "times.txt", content, f"times.txt:{error}")


CASES = [
    # the file
    *(
        Case(f"not-there-{reader}", reader, "log", None, "log: no such file", system)
        for reader, system in (("csv", None), ("lanl", 8), ("fta", None), ("spot", None))
    ),
    Case("not-there-intervals", "intervals", "log", None, "log: no such file"),
    Case("folder", "csv", "log", FOLDER, "log: is a directory, not a log"),
    Case("folder-spot", "spot", "log", FOLDER, "log: is a directory, not a log"),
    _csv("empty", "", " holds no failure"),
    _csv("header-only", "time_s,node\n", " holds no failure"),
    _csv("not-utf-8", b"time_s,node\n1,0\n2,\xe9\n", "3: is not UTF-8: byte 0xe9"),
    _csv("utf-16", "time_s,node\n1,0\n".encode("utf-16"), "1: is not UTF-8: byte 0xff"),
    _csv(
        "nul",
        b"time_s,node\n1,0\n\0\0\0,1\n",
        r"3: time_s is '\x00\x00\x00', not a number of seconds",
    ),
    _csv(
        "line-of-a-megabyte", f"time_s,node\n1,{'0' * 2**20}\n", "2: is longer than 1048576 bytes"
    ),
    _csv(
        "cut-short-gz",
        gzip.compress(b"time_s,node\n1,0\n")[:-4],
        " is cut short after line 0; copy it again",
        "log.csv.gz",
    ),
    _csv(
        "not-gz",
        "time_s,node\n1,0\n",
        " is not a sound .gz file: Not a gzipped file (b'ti')",
        "log.csv.gz",
    ),
    _csv(
        "bad-xz",
        "time_s,node\n1,0\n",
        " is not a sound .xz file: Input format not supported by decoder",
        "log.csv.xz",
    ),
    _csv("archive-csv", "", " is an archive; unpack it and name one of its files", "log.tar.gz"),
    # csv
    _csv(
        "no-time",
        "when,node\n1,0\n",
        "1: has no column of times, such as time_s or timestamp; the header is 'when,node'; "
        "name it with --time-column (in a scenario: failures.columns)",
    ),
    _csv(
        "no-node",
        "time_s,box\n1,0\n",
        "1: has no column of nodes, such as node or hostname; the header is 'time_s,box'; "
        "name it with --node-column (in a scenario: failures.columns)",
    ),
    _csv(
        "column-twice",
        "time_s,node,rack,rack\n1,0,1,1\n",
        "1: has column rack twice; the header is 'time_s,node,rack,rack'",
    ),
    _csv(
        "text-for-a-time",
        "time_s,node\n1,0\nsoon,1\n",
        "3: time_s is 'soon', not a number of seconds",
    ),
    _csv("fraction-for-a-node", "time_s,node\n1,1.5\n", f"2: node is '1.5'; {PLACE}"),
    _csv("no-name-for-a-node", "time_s,host\n1,\n", f"2: host is ''; {PLACE}"),
    _csv(
        "negative-time",
        "time_s,node\n-1,0\n",
        "2: time_s is '-1'; times are finite and 0 s or later",
    ),
    _csv("negative-node", "time_s,node\n1,-1\n", f"2: node is '-1'; {PLACE}"),
    _csv("nan", "time_s,node\nnan,0\n", "2: time_s is 'nan'; times are finite and 0 s or later"),
    _csv("inf", "time_s,node\ninf,0\n", "2: time_s is 'inf'; times are finite and 0 s or later"),
    _csv("too-few-cells", "time_s,node\n1,0\n2\n", "3: the row has 1 cells, the header has 2"),
    _csv("too-many-cells", "time_s,node\n1,000,4\n", "2: the row has 3 cells, the header has 2"),
    _csv("open-quote", 'time_s,node\n1,"0\n', "2: is not CSV: unexpected end of data"),
    _csv(
        "bad-kind",
        "time_s,node,kind\n1,0,gpu\n",
        "2: kind is 'gpu'; known kinds: parameter_server (or ps), trainer",
    ),
    _csv(
        "bad-severity",
        "time_s,node,severity\n1,0,rack\n",
        "2: severity is 'rack'; known severities: process, node, cluster",
    ),
    _csv(
        "text-for-an-end",
        "time_s,node,end_s\n1,0,now\n",
        "2: end_s is 'now', not a number of seconds",
    ),
    _csv(
        "infinite-end",
        "time_s,node,end_s\n1,0,inf\n",
        "2: end_s is 'inf'; times are finite and 0 s or later",
    ),
    _csv("no-rack", "time_s,node,rack\n1,0,\n", f"2: rack is ''; {PLACE}"),
    _csv("negative-rack", "time_s,node,rack\n1,0,-2\n", f"2: rack is '-2'; {PLACE}"),
    _csv(
        "date-for-seconds",
        "time_s,node\n2026-05-03,0\n",
        "2: time_s is '2026-05-03', not a number of seconds",
    ),
    _csv("american-date", "date,host\n5/3/2026 14:00,a\n", f"2: date is '5/3/2026 14:00', {TIME}"),
    _csv("no-time-at-all", "date,host\n,a\n", f"2: date is '', {TIME}"),
    _csv(
        "infinite-epoch",
        "time,host\n1e999,a\n",
        "2: time is '1e999'; times are finite and 0 s or later",
    ),
    _csv(
        "zone-here-and-not-there",
        "date,host\n2026-05-03T14:00:00Z,a\n2026-05-03T14:00:00,a\n",
        "3: date is '2026-05-03T14:00:00', a date without a zone, but the first time is "
        "a date with a zone; write all alike",
    ),
    _csv(
        "date-after-a-number",
        "time,host\n1777816800,a\n2026-05-03 14:00,a\n",
        "3: time is '2026-05-03 14:00', a date without a zone, but the first time is "
        "a number; write all alike",
    ),
    _csv(
        "end-of-another-kind",
        "time,host,end\n2026-05-03 14:00,a,1777816800\n",
        "2: end is '1777816800', a number, but the first time is "
        "a date without a zone; write all alike",
    ),
    _csv(
        "mixed-units",
        "time,host\n1777816800,a\n1777816800000,b\n",
        " mixes units: its times go from 1777816800 to 1.7778168e+12, epoch seconds to "
        "epoch milliseconds; write all alike",
    ),
    _csv(
        "epoch-and-zero",
        "time,host\n0,a\n1777816800,b\n",
        " mixes units: its times go from 0 to 1777816800, seconds to epoch seconds; "
        "write all alike",
    ),
    _csv(
        "semicolons-and-too-few-cells",
        "time;host\n1;a\n2\n",
        "3: the row has 1 cells, the header has 2",
    ),
    # lanl
    _lanl("bad-date", "8,5,0,2/30/2004 0:00,\n", f"2: Prob Started is '2/30/2004 0:00', {DATE}"),
    _lanl("bad-repair", "8,5,0,2/3/2004 0:00,later\n", f"2: Prob Fixed is 'later', {DATE}"),
    _lanl("unknown-system", "8,5,0,2/3/2004 0:00,\n", " has no failures of system 9; it has 8", 9),
    _lanl(
        "nothing-usable",
        "8,5,0,,2/3/2004 0:00\n8,5,5,2/3/2004 0:00,\n",
        " has no usable failure of system 8: "
        "1 rows without a start time, 1 rows outside the nodes of the system",
    ),
    Case(
        "lanl-which-system",
        "lanl",
        "lanl.csv",
        LANL + "20,5,0,2/3/2004 0:00,\n8,5,0,2/3/2004 0:00,\n20,5,3,2/4/2004 0:00,\n8,5,0,,\n",
        "lanl.csv: holds systems 8 (1 failure), 20 (2); choose one with --system "
        "(in a scenario: failures.system)",
    ),
    _lanl("no-rows", "", " holds no failure"),
    _lanl(
        "lanl-too-few-cells",
        "8,5,0,2/3/2004 0:00\n8,5\n",
        "2: the row has 4 cells, the header has 5",
    ),
    _lanl(
        "lanl-too-many-cells",
        "8,5,0,2/3/2004 0:00,2/3/2004 1:00,no\n",
        "2: the row has 6 cells, the header has 5",
    ),
    _lanl("lanl-no-system", "x,5,0,2/3/2004 0:00,\n", "2: System is 'x', not an integer"),
    _lanl("lanl-no-nodes", "8,many,0,2/3/2004 0:00,\n", "2: nodes is 'many', not an integer"),
    _lanl(
        "lanl-negative-nodes", "8,-5,0,2/3/2004 0:00,\n", "2: nodes is '-5'; it can't be negative"
    ),
    _lanl("lanl-name-for-a-node", "8,5,n3,2/3/2004 0:00,\n", "2: nodenumz is 'n3', not an integer"),
    _lanl(
        "lanl-iso-date",
        "8,5,0,2004-02-03 00:00,\n",
        f"2: Prob Started is '2004-02-03 00:00', {DATE}",
    ),
    _lanl(
        "lanl-seconds",
        "8,5,0,2/3/2004 0:00:30,\n",
        f"2: Prob Started is '2/3/2004 0:00:30', {DATE}",
    ),
    _lanl(
        "lanl-no-such-hour",
        "8,5,0,2/3/2004 25:00,\n",
        f"2: Prob Started is '2/3/2004 25:00', {DATE}",
    ),
    Case(
        "lanl-no-column",
        "lanl",
        "lanl.csv",
        "System,nodes,Prob Started\n8,5,2/3/2004 0:00\n",
        "lanl.csv:1: has no column nodenumz; the header is 'System,nodes,Prob Started'",
        8,
    ),
    Case(
        "lanl-cut-short-gz",
        "lanl",
        "lanl.csv.gz",
        gzip.compress(f"{LANL}8,5,0,2/3/2004 0:00,\n".encode())[:-4],
        "lanl.csv.gz: is cut short after line 0; copy it again",
        8,
    ),
    # fta
    _fta("fta-empty", "", " holds no failure"),
    _fta("fta-header-only", FTA, " holds no failure"),
    _fta(
        "fta-no-column",
        "# event_id node_id platform_id\n0 1 2\n",
        "1: has no column event_type; the header is 'event_id,node_id,platform_id'",
    ),
    _fta(
        "fta-event-type",
        FTA + "0 0 1 5 n1 2 10 20 NULL\n",
        "2: event_type is '2'; known types: 1 (up), 0 (down)",
    ),
    _fta(
        "fta-bad-time",
        FTA + "0 0 1 5 n1 1 10 20 NULL\n1 0 1 5 n1 0 20 noon NULL\n",
        "3: event_stop_time is 'noon', not a number of seconds",
    ),
    _fta("fta-too-few-cells", FTA + "0 0 1 5 n1 1\n", "2: the row has 6 cells, the header has 9"),
    _fta(
        "fta-too-many-cells",
        FTA + "0 0 1 5 n 1 1 10 20 NULL\n",
        "2: the row has 10 cells, the header has 9",
    ),
    _fta("fta-unknown-system", "0 0 1 5 n 1 10 20\n", " has no nodes of system 3; it has 5", 3),
    _fta(
        "fta-which-platform",
        FTA
        + "0 0 1 6 n 1 0 9 NULL\n1 0 1 6 n 0 9 12 NULL\n2 0 1 5 n 1 0 12 NULL\n"
        + "3 0 2 6 n 1 0 7 NULL\n4 0 2 6 n 0 7 12 NULL\n",
        " holds systems 5 (0 failures), 6 (2); choose one with --system "
        "(in a scenario: failures.system)",
    ),
    _fta(
        "fta-name-for-a-node",
        FTA + "0 0 n1 5 n1 1 10 20 NULL\n",
        "2: node_id is 'n1', not an integer",
    ),
    _fta(
        "fta-name-for-a-platform",
        FTA + "0 0 1 site3 n1 1 10 20 NULL\n",
        "2: platform_id is 'site3', not an integer",
    ),
    _fta(
        "fta-negative-time",
        FTA + "0 0 1 5 n1 1 -10 20 NULL\n",
        "2: event_start_time is '-10'; times are finite and 0 s or later",
    ),
    _fta(
        "fta-infinite-time",
        FTA + "0 0 1 5 n1 1 10 inf NULL\n",
        "2: event_stop_time is 'inf'; times are finite and 0 s or later",
    ),
    _fta(
        "fta-down-all-the-while",
        "0 0 1 5 n 0 10 20\n",
        " holds no failure: no node is seen to go down",
    ),
    Case(
        "fta-not-utf-8",
        "fta",
        "event_trace.tab",
        FTA.encode() + b"0 0 1 5 n\xe9 1 10 20 NULL\n",
        "event_trace.tab:2: is not UTF-8: byte 0xe9",
    ),
    _fta("fta-no-failure", "0 0 1 5 n 1 10 20\n", " holds no failure: no node is seen to go down"),
    # spot
    _spot("spot-empty", "", _not_json(1, "Expecting value", 1)),
    _spot("spot-archive", "", " is an archive; unpack it and name one of its files", "spot.tar.xz"),
    *(
        _spot(f"spot-{name}", content, f" is not a spot trace: {fault}")
        for name, content, fault in (
            ("list", "[1, 0]", "it is '[1, 0]'; it should be a valid dictionary"),
            ("no-metadata", '{"data": [1, 0]}', "metadata is missing"),
            ("no-gap", '{"metadata": {}, "data": [1]}', "metadata.gap_seconds is missing"),
        )
    ),
    *(
        _spot(
            f"spot-gap-{gap[:3]}",
            f'{{"metadata":\n {{"gap_seconds": {gap}}}, "data": [1, 0]}}',
            f" is not a spot trace: metadata.gap_seconds is '{found}'; it should be {should}",
        )
        for gap, found, should in (
            ("0", "0", "greater than 0"),
            ('"5 min"', '"5 min"', "a valid number"),
            ("true", "true", "a valid number"),
            ("NaN", "NaN", "a finite number"),
            ("1e999", "Infinity", "a finite number"),
            (f"1{'0' * 400}", f"1{'0' * 36}...{'0' * 38}", "a valid number"),
        )
    ),
    *(
        _spot_data(f"spot-{data}", data, f" is not a spot trace: data{fault}")
        for data, fault in (
            ("[\n4,\n4,\n-1,\n3]", ".2 is '-1'; it should be greater than or equal to 0"),
            ("[4, 0.5]", ".1 is '0.5'; it should be a valid integer"),
            ("[4, true]", ".1 is 'true'; it should be a valid integer"),
            ("[4, 1000000]", ".1 is '1000000'; it should be less than or equal to 999999"),
            ("[ ]", " is '[]'; it should have at least 1 item"),
            ("5", " is '5'; it should be a valid list"),
        )
    ),
    _spot_data("spot-missing-tick", "[4, , 3]", _not_json(2, "Expecting value", 13)),
    _spot("spot-not-json", "time_s,node\n1,0\n", _not_json(1, "Expecting value", 1)),
    _spot(
        "spot-bare-key",
        "{data: [1, 0]}",
        _not_json(1, "Expecting property name enclosed in double quotes", 2),
    ),
    _spot("spot-no-comma", '{"a": 1 "b": 2}', _not_json(1, "Expecting ',' delimiter", 9)),
    _spot("spot-more", '{"data": [1]}\n{}', _not_json(2, "Extra data", 1)),
    _spot_data("spot-cut-short", "[1, 0, ", _not_json(2, "Expecting value", 16)),
    _spot("spot-cut-in-a-key", '{"metadata": {"gap_sec', _not_json(1, UNTERMINATED, 15)),
    _spot("spot-endless-text", '{"' + "x" * 2**21, _not_json(1, UNTERMINATED, 2)),
    _spot("spot-not-utf-8", b'{"metadata":\n"\xe9"}', "2: is not UTF-8: byte 0xe9"),
    _spot(
        "spot-cut-short-xz",
        lzma.compress(b'{"metadata": {"gap_seconds": 300}, "data": [1, 0]}')[:-20],
        " is cut short; copy it again",
        "spot.json.xz",
    ),
    _spot(
        "spot-never-falls",
        '{"metadata": {"gap_seconds": 300}, "data": [0, 1, 1, 4]}',
        " holds no failure: the number of nodes in data never falls",
    ),
    # intervals
    _intervals("intervals-empty", "duration_s,censored\n# none\n", " holds no duration"),
    _intervals(
        "intervals-bad-flag",
        "5 h\n7 h, perhaps\n",
        "2: censored is 'perhaps'; known flags: 1, true, yes, censored, 0, false, no, failed",
    ),
    _intervals(
        "intervals-negative",
        "5\n-5\n",
        "2: duration is '-5'; durations are finite and 0 s or longer",
    ),
    _intervals(
        "intervals-nan", "nan,1\n", "1: duration is 'nan'; durations are finite and 0 s or longer"
    ),
    _intervals(
        "intervals-text",
        "duration_s\nlong\n",
        "2: 'long' is not a duration: write a number and a unit, e.g. \"28 h\"",
    ),
    _intervals(
        "intervals-unit",
        "5 weeks\n",
        "1: '5 weeks' has an unknown unit 'weeks' for a duration: use one of ms s min h d",
    ),
    _intervals(
        "intervals-infinite",
        "1e999\n",
        "1: duration is '1e999'; durations are finite and 0 s or longer",
    ),
    _intervals(
        "intervals-no-number",
        "h\n",
        "1: 'h' is not a duration: write a number and a unit, e.g. \"28 h\"",
    ),
    _intervals(
        "intervals-only-flags",
        ",1\n,0\n",
        " holds no duration; left out: 2 lines without a duration",
    ),
    _intervals(
        "intervals-header-below",
        "5\nduration_s\n",
        "2: 'duration_s' is not a duration: write a number and a unit, e.g. \"28 h\"",
    ),
    _intervals(
        "intervals-three-words",
        "5 h x\n",
        "1: censored is 'x'; known flags: 1, true, yes, censored, 0, false, no, failed",
    ),
    Case(
        "intervals-not-utf-8",
        "intervals",
        "times.txt",
        b"5\n\xb5\n",
        "times.txt:2: is not UTF-8: byte 0xb5",
    ),
    _intervals("lives-bad-flag", "time,dead\n5,maybe\n", f"2: dead is 'maybe'; {ENDS}"),
    _intervals("lives-no-flag", "time,dead\n5,TRUE\n7,\n", f"3: dead is ''; {ENDS}"),
    _intervals(
        "lives-too-few-cells", "node,time,dead\n1,5\n", "2: the row has 2 cells, the header has 3"
    ),
    _intervals(
        "lives-negative",
        "time,dead\n-5,1\n",
        "2: duration is '-5'; durations are finite and 0 s or longer",
    ),
    _intervals("lives-none", "time,dead\n", " holds no duration"),
    _intervals(
        "intervals-long-text",
        "x" * 1000,
        f"1: duration is '{'x' * 37}...{'x' * 38}', not a duration",
    ),
]
