"""Scenarios that both engines are compared on: failures come all the time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

from cprsim.basics.units import parse_duration
from tests.drawn import SYSTEMS, scenarios
from tests.drawn.numbers import SHARES, YES
from tests.drawn.policies import ANSWERING

Keys = dict[str, Any]
_OFTEN: Final = {"often": 0.4, "harsh": 8.0}
_SEVERITIES: Final = ("process", "node", "cluster")
_LOGS: Final = st.lists(
    st.tuples(
        SHARES,
        st.sets(st.integers(0, 9), min_size=1, max_size=4),
        st.sampled_from(_SEVERITIES),
    ),
    min_size=8,
    max_size=30,
)
_DAYS: Final = st.lists(st.integers(1, 25), min_size=20, max_size=60)
#: Keys of failures that go with a log.
_WITH_LOG: Final = ("during_recovery", "while_waiting", "severity", "silent", "notice")


def strategies(log: Path) -> Mapping[str, st.SearchStrategy[Keys]]:
    """Return the strategies by name; logs are written to `log`."""
    harsh = scenarios(**_OFTEN)
    # Under accepted-loss the others train on, and none fails while one is noticed (rule 11).
    waiting = scenarios([each for each in SYSTEMS if each != "accepted-loss"], **_OFTEN)
    answering = scenarios(sorted(ANSWERING | {"tiered"}), **_OFTEN)
    return {
        **{f"harsh {number}": harsh for number in range(4)},
        "a log": replayed(log),
        "a log of a system": of_a_system(log),
        "announced, saves": announced(answering, "save"),
        "announced, drains": announced(answering, "drain"),
        "noticed late": waiting.map(noticed_late),
        "any": scenarios(),
    }


def noticed_late(tables: Keys) -> Keys:
    """Noticing a failure takes so long that the other nodes fail meanwhile, too."""
    tables["cluster"]["holds_nodes"] = True
    late_s = parse_duration(tables["job"]["useful_time"]) / 10
    tables.setdefault("costs", {})["detect"] = f"{late_s!r} s"
    tables["failures"] |= {"during_recovery": True, "while_waiting": True}
    return tables


@st.composite
def announced(draw: st.DrawFn, those: st.SearchStrategy[Keys], answer: str) -> Keys:
    """Notices, and policies that answer them so."""
    tables = draw(those)
    useful_s = parse_duration(tables["job"]["useful_time"])
    notice: Keys = {"lead": f"{useful_s * (0.01 + 0.1 * draw(SHARES))!r} s", "recall": draw(SHARES)}
    if draw(YES):
        notice["false_alarms"] = f"1 / {useful_s * (0.05 + draw(SHARES))!r} s"
    tables["failures"]["notice"] = notice
    tables.setdefault("costs", {})["drain"] = f"{useful_s * 0.02 * draw(SHARES)!r} s"
    for policy in tables["policies"].values():
        policy["on_notice"] = answer
    if answer == "drain":
        nodes = tables["cluster"]["parameter_servers"] + tables["cluster"]["trainers"]
        tables["cluster"]["spares"] = min(draw(st.integers(1, 4)), nodes)
    return tables


@st.composite
def replayed(draw: st.DrawFn, log: Path) -> Keys:
    """Failures of a log that is written to `log`, some of several nodes at once."""
    tables = draw(scenarios(**_OFTEN))
    cluster, until_s = tables["cluster"], parse_duration(tables["job"]["useful_time"]) * 1.5
    count = cluster["parameter_servers"] + cluster["trainers"]
    told = draw(YES)
    lines = ["time_s,node,severity" if told else "time_s,node"]
    # A log in which all strike at second 0 tells no mean time between them.
    struck = [*draw(_LOGS), (1.0, {0}, "process")]
    for share, nodes, severity in sorted(struck, key=lambda line: line[0]):
        end = f",{severity}" if told else ""
        lines += [f"{until_s * share!r},{node}{end}" for node in {node % count for node in nodes}]
    log.write_text("\n".join(lines), encoding="utf-8")
    return _with_log(tables, {"trace": str(log)}, told)


@st.composite
def of_a_system(draw: st.DrawFn, log: Path) -> Keys:
    """Failures of a log of a whole system, written to `log`, that comes again and again."""
    rows = [
        f"8,16,{(7 * i) % 16},{1 + i % 2}/{day}/2004 {(5 * i) % 24}:{(13 * i) % 60:02},"
        for i, day in enumerate(sorted(draw(_DAYS)))
    ]
    header = "System,nodes,nodenumz,Prob Started,Prob Fixed"
    log.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    keys: Keys = {"trace": str(log), "reader": "lanl", "system": 8}
    if draw(YES):
        keys["coalesce"] = "2 h"
    if draw(YES):
        keys["window"] = "0:0.9"
    return _with_log(draw(scenarios(**_OFTEN)), keys, told=False)


def _with_log(tables: Keys, keys: Keys, told: bool) -> Keys:
    """Put a log in the place of what says when failures come; `told`: it says severities."""
    own = {key: tables["failures"][key] for key in _WITH_LOG if key in tables["failures"]}
    if told:
        own.pop("severity", None)
    for key in ("restart", "restart_fails"):  # which take severities that a log may lack
        tables.get("costs", {}).pop(key, None)
    tables["failures"] = own | keys
    return tables


KINDS: Final = tuple(strategies(Path()))
