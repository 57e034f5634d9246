"""Readers of failure logs; a new one is a function from a path to a log, and an entry in `READERS`.

A file is read into one frame of named columns (`table.read_table`), of which a reader makes a frame
of outages (`outages.outages_log`).
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, NamedTuple

from cprsim.basics.tabular import LogPath
from cprsim.errors import LogError, shown

if TYPE_CHECKING:
    from cprsim.failures.logs.log import FailureLog
    from cprsim.failures.logs.options import Columns, Rules


#: The rules that go by the causes of failures.
PLANS: Final = ("planned", "not_planned")


class Reader(NamedTuple):
    """A format of logs."""

    #: Module and name of its function, imported when it is called, so that the command's help needs
    #: no library.
    read: str
    #: What it is, for that help.
    tells: str
    #: What the number is that chooses one of several systems; empty where a log has one.
    system: str = ""
    needs_system: bool = False
    #: Whether its nodes are those of the job, so that it is replayed unchanged.
    of_the_job: bool = False
    #: Whether its columns can be named.
    named: bool = False
    #: A regular expression by which such a file is recognised: found in the beginning of each and
    #: of no other (a dot is any character, white space before is left out). A table is recognised
    #: by its columns.
    looks: str = ""
    #: Whether it has the number of nodes of the system, without which a log of a whole system isn't
    #: replayed.
    counts_nodes: bool = True
    #: Which of `options.Rules` it takes, and whether its function is given them; those of planned
    #: outages go by the causes of what was read.
    rules: tuple[str, ...] = ()
    reads_rules: bool = False


#: By name. A log without known columns is read by the first whose `looks` its first lines have.
READERS: Final = {
    "csv": Reader(
        "csv_log:read_csv",
        "a table with a column of times and one of nodes",
        of_the_job=True,
        named=True,
        rules=("failure_when", "left_when", *PLANS, "time_unit"),
        reads_rules=True,
    ),
    "lanl": Reader(
        "traces:read_lanl",
        "raw LANL data",
        "the LANL system number, e.g. 20",
        needs_system=True,
        rules=PLANS,
        looks=r"\A([^\n]*\n){0,5}[^\n]*\bnodenumz\b[^\n]*\bProb Started\b",
    ),
    "fta": Reader(
        "traces:read_fta",
        "an event_trace of the Failure Trace Archive",
        "a platform_id",
        looks=r"\A(#[^\n]*\n\s*)*([^\n]*\bevent_start_time\b|"
        r"\d+\s+\d+\s+\d+\s+\d+\s+[^\n]+\s[01]\s+\d+\s+(\d+|NULL)"
        r"([ \t]+\S+)?[ \t]*(\r?\n|\Z))",
    ),
    "spot": Reader(
        "traces:read_spot", "JSON of spot availability", looks=r'\A\{.*"gap_seconds"\s*:'
    ),
    "stepfun": Reader(
        "traces:read_stepfun",
        "JSON of faults, as StepFun's trace",
        counts_nodes=False,
        looks=r'\A\[.*"fault_(start|end)"',
        rules=PLANS,
    ),
    "slurm": Reader(
        "slurm:read_slurm",
        "sacctmgr -P list event",
        counts_nodes=False,
        looks=r"\A([^\n]*\bNodeName\b[^\n]*\||[^|\n]*\|[^|\n]*\|\d{4}-\d\d-\d\dT[^|\n]*\|)",
        rules=PLANS,
        reads_rules=True,
    ),
    "prometheus": Reader(
        "prometheus:read_prometheus",
        "JSON of query_range, 1 where a node is up",
        rules=("failure_when", "left_when"),
        reads_rules=True,
        looks=r'\A\{.*"resultType"\s*:\s*"matrix"',
    ),
    "xid": Reader(
        "xid:read_xid",
        "kernel logs with NVIDIA Xids",
        counts_nodes=False,
        looks=r"NVRM: Xid \(|\bSXid \(PCI|NVRM:[^\n]*\bf(allen|ell) off the bus",
        rules=("xids", *PLANS),
        reads_rules=True,
    ),
}


def read_log(
    path: LogPath,
    reader: str,
    system: int | None = None,
    columns: "Columns | None" = None,
    rules: "Rules | None" = None,
) -> "FailureLog":
    """Failures of a log in a format of `READERS`; of one `system`, where it holds more than one.

    `rules`: what its owner says of it. Raises `LogError` if the reader is unknown, doesn't take
    what is given, or can't read the log.
    """
    if reader == "intervals":
        raise LogError(
            "reader 'intervals' holds durations, not failures of nodes; "
            "fit them with `cprsim fit --reader intervals`"
        )
    if reader not in READERS:
        raise LogError(
            f"unknown reader {shown(reader)}; known readers: {', '.join([*READERS, 'intervals'])}"
        )
    known = READERS[reader]
    if not known.system and system is not None:
        raise LogError(f"reader '{reader}' knows no systems; leave out system = {system}")
    if not known.named and columns is not None:
        raise LogError(f"reader '{reader}' knows its columns; leave out their names")
    read = resolve_name(f"{__package__}.{known.read}")
    for name in () if rules is None else rules.given:
        if name not in known.rules:
            takers = " or ".join(repr(each) for each, it in READERS.items() if name in it.rules)
            raise LogError(f"{name} goes with reader {takers}, not with {reader!r}; leave it out")
    given = (system,) if known.system else (columns,) if known.named else ()
    said = {"rules": rules} if rules is not None and known.reads_rules else {}
    found: FailureLog = read(path, *given, **said)
    if rules is None or rules.planned is None:
        return found
    from cprsim.failures.logs.outages import without_planned  # noqa: PLC0415  (NumPy is slow)

    return without_planned(path, found, rules)
