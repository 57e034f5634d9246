"""Whatever is given as a scenario, a value, a design or a log: an answer, or why there is none.

Files of a sweep and checkpoints with flipped bytes are in `sweeps/test_damage.py` and
`trainer/test_store.py`. `make test-all` runs ten thousand cases of what is here.
"""

import io
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cprsim.cli import command as cli
from cprsim.errors import LogError, RunError, UsageError, printable
from cprsim.failures.logs.readers import READERS, read_log
from cprsim.failures.logs.source import recognised
from cprsim.runs import runner
from cprsim.sweeps import sweep as sweeps
from tests.mistakes import GOOD

#: CPU seconds of one case: what is refused takes milliseconds, what is sound some more.
MOST_S = 10.0
MOST_LINES, MOST_LETTERS = 41, 1000
REACHED = "reached the simulation"
QUICK = settings(suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=2500)

KEYS = st.sampled_from(
    [
        *("title", "job", "job.useful_time", "job.samples", "job.final_save", "job.network"),
        *("cluster.trainers", "cluster.parameter_servers", "cluster.nic", "cluster.spares"),
        *("storage.write", "storage.read", "storage.outages", "costs.save", "costs.reschedule"),
        *("failures.distribution", "failures.mean", "failures.shape", "failures.per"),
        *("failures.hits", "failures.exactly", "failures.trace", "failures.bursts.mean"),
        *("failures.window", "failures.severity", "model.preset", "model.tables", "model.skew"),
        *("model.embedding", "prices.trainer", "accuracy", "policies", "policies.full.interval"),
        *("policies.full.system", "policies.x.system", "sweep.grid", "trainer.data", "nowhere"),
    ]
)
NUMBERS = st.one_of(
    st.integers(-(10**40), 10**40).map(str),
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.sampled_from(["9" * 5000, "1e999", "-0.0", "0x" + "f" * 400, "1_000", "1979-05-27", "true"]),
)
UNITS = st.sampled_from(
    ["s", "ms", "h", "d", "m", "GB", "GB/s", "Gbit/s", "%", "USD/h", "", "ly", "GB/GB"]
)
LETTERS = st.sampled_from(
    ["\x1b[31m", "\u202e", "\x00", "=1+1", "\n", "é", "\ud800", "'", "[", "\\"]
)
WORDS = st.one_of(
    st.text(max_size=20),
    st.tuples(NUMBERS, UNITS).map(" ".join),
    st.sampled_from(["x" * 100_000, "optimal", "full", "cpr-mfu", "exact", "node", "log.csv", "/"]),
    LETTERS,
)
QUOTED = WORDS.map(lambda word: '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"')
NESTED = st.sampled_from(
    [
        *("[" * 3000, "[" * 3000 + "]" * 3000, "{a=" * 900 + "1" + "}" * 900, "[]", "{}"),
        *('{distribution="gamma"}', "{parameter_servers=1}", "[[1],[2]]", '{values=["1 h"]}'),
    ]
)
VALUES = st.one_of(NUMBERS, QUOTED, WORDS, NESTED)
SETS = st.builds(
    "{}={}".format,
    st.one_of(KEYS, WORDS, st.just(".".join(["a"] * 20_000)), KEYS.map(lambda key: f"{key}.b.c")),
    VALUES,
)
RANGES = st.builds(
    "{}({})".format,
    st.sampled_from(["lin", "log", "LOG"]),
    st.lists(st.one_of(NUMBERS, WORDS), max_size=4).map(",".join),
)
VARIED = st.builds(
    "{}={}".format,
    st.one_of(KEYS, WORDS),
    st.lists(st.one_of(VALUES, RANGES), max_size=3).map(",".join),
)


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """A text of which some pieces are others."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.sampled_from([0, 0, 1, 5, 40])))
        line = st.builds("\n{} = {}\n".format, KEYS, VALUES)
        text = text[:start] + draw(st.one_of(VALUES, line, LETTERS, st.just(""))) + text[stop:]
    return text


LOGS = {
    "csv": "time_s,node,kind,severity\n5,0,ps,node\n70,1,trainer,process\n900,2,ps,cluster\n",
    "lanl": "System,nodes,nodenumz,Prob Started\n7,9,0,9/26/2003 16:40\n7,9,1,9/27/2003 11:00\n",
    "fta": "#event_id,component_id,node_id,platform_id,node_name,event_type,event_start_time,"
    "event_stop_time,event_end_reason\n1 1 1 1 a 0 5 7 NULL\n2 1 2 1 b 0 50 70 NULL\n",
    "spot": '{"metadata": {"gap_seconds": 600}, "data": [1, 0, 1, 1, 0]}',
    "stepfun": '[{"fault_start": "2025-01-01T00:00:00", "fault_end": "2025-01-02T00:00:00"}]',
    "slurm": "NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    "n1|2025-01-01T00:00:00|2025-01-01T01:00:00|DOWN|x|root(0)\n",
    "prometheus": '{"data": {"resultType": "matrix", "result": [{"metric": {"instance": "a"}, '
    '"values": [[1, "1"], [2, "0"], [3, "1"]]}]}}',
    "xid": "Jan  1 00:00:00 host kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, fallen off\n",
}


@st.composite
def logs(draw: st.DrawFn) -> tuple[str, bytes]:
    """A reader, and a log of some kind of which some pieces and bytes are others."""
    text = draw(edited(LOGS[draw(st.sampled_from(sorted(LOGS)))]))
    raw = bytearray(text.encode(errors="surrogatepass"))
    for place, bit in draw(st.lists(st.tuples(st.integers(0), st.integers(0, 7)), max_size=3)):
        if raw:
            raw[place % len(raw)] ^= 1 << bit
    return draw(st.sampled_from(["", *READERS])), bytes(raw)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder to work in, and nothing is simulated there."""

    def reached(*_: object) -> None:
        raise RunError(REACHED)

    here = Path.cwd()
    with pytest.MonkeyPatch.context() as patched, tempfile.TemporaryDirectory() as folder:
        patched.setattr(runner, "simulate", reached)
        patched.setattr(sweeps, "writing", reached)
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(here)


def told(*arguments: str) -> tuple[int, str]:
    """The exit code and stderr of a command, both as its contract has them."""
    out, err, start_s = io.StringIO(), io.StringIO(), time.process_time()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli._main(list(arguments))
    assert time.process_time() - start_s < MOST_S
    lines = err.getvalue().splitlines()
    assert code in (0, 1, 2)
    assert bool(lines) == (code != 0)
    assert len(lines) <= MOST_LINES
    for line in lines:
        assert line.startswith("cprsim: ")
        assert len(line) < MOST_LETTERS
        assert printable(line) == line
    return code, err.getvalue()


def scenario_holds(text: str, sets: list[str]) -> None:
    Path("job.toml").write_text(text, encoding="utf-8", errors="surrogatepass")
    told("run", "job.toml", "--replications", "1", *(f"--set={each}" for each in sets))


def design_holds(varied: list[str]) -> None:
    Path("job.toml").write_text(GOOD, encoding="utf-8")
    options = [f"--vary={each}" for each in varied]
    told("sweep", "job.toml", "--replications", "1", "--workers", "1", "--out", "out", *options)


def log_holds(log: tuple[str, bytes]) -> None:
    reader, content = log
    Path("log").write_bytes(content)
    try:
        read_log("log", reader or recognised("log"))
    except (LogError, UsageError) as error:
        said = str(error)
    else:
        return
    assert "\n" not in said
    assert len(said) < MOST_LETTERS


#: What is drawn for each, and what has to hold of it.
CASES: dict[str, tuple[st.SearchStrategy, Callable]] = {
    "texts": (edited(GOOD), lambda text: scenario_holds(text, [])),
    "sets": (st.lists(SETS, min_size=1, max_size=3), lambda sets: scenario_holds(GOOD, sets)),
    "designs": (st.lists(VARIED, min_size=1, max_size=2), design_holds),
    "logs": (logs(), log_holds),
}


@pytest.mark.filterwarnings("ignore:Generating overly large repr")  # by Hypothesis, of long names
@pytest.mark.parametrize("often", [QUICK, pytest.param(LONG, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("what", CASES)
def test_whatever_is_given_is_answered_or_refused(place: Path, what: str, often: settings) -> None:
    drawn, holds = CASES[what]
    often(given(drawn)(holds))()
