"""What an outsider tried to break it with: each refused in a line, soon, and in little memory."""

import io
import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from rich.table import Table

import cprsim
from cprsim.advice.criteria import Criteria
from cprsim.advice.trials import Trials
from cprsim.basics.spreadsheet import csv_bytes
from cprsim.basics.toml import parse_toml
from cprsim.cli.common import print_json, print_table
from cprsim.contract import Plan, Save, Train, every
from cprsim.errors import PolicyError, RunError, ScenarioError, UsageError, printable
from cprsim.policies.full import Full, everything_returns
from cprsim.runs import engines
from cprsim.runs.hopeless import without_hope
from tests.mistakes import GOOD

#: Letters that turn what follows them around, and that clear a terminal.
TURNED, CLEARED = "\u202e", "\x1b[2J"


@pytest.fixture
def told(folder: Path, called: Callable) -> Callable[..., list[str]]:
    """The lines of a command that is refused."""

    def lines(*arguments: str, text: str = GOOD) -> list[str]:
        Path("job.toml").write_text(text, encoding="utf-8")
        out, err = called(*arguments, code=2)
        assert out == ""
        return err.splitlines()

    return lines


RUN = ("run", "job.toml", "--replications", "2")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = " + "[" * 10**5, "job.toml: has tables or lists more than 32 deep"),
        ("x = " + "{a=" * 5000 + "1" + "}" * 5000,
         "job.toml: has tables or lists more than 32 deep"),
        ("x = " + "[" * 40 + "]" * 40,
         f"x{'.0' * 32}: lies more than 32 tables or lists deep"),
        ("\n[" + ".".join(["a"] * 10**5) + "]",
         "job.toml: has a key of more than 32 parts in line 2"),
        ("'a' . " * 10**5 + "b = 1", "job.toml: has a key of more than 32 parts in line 1"),
        ("x = " + "9" * 4301, "job.toml: has a number of thousands of digits in line 1"),
        ("x = " + "9" * 4000, "x: is a whole number of more than 300 digits"),
        ('title = "' + "x" * 2**22 + '"', "job.toml: is longer than 4,194,304 bytes, no scenario"),
        (r'title = "a\u001b[2J"',
         r"title: 'a\x1b[2J' has letters that are not to be seen; leave them out"),
        (r'[failures]' "\n" r'trace = "a\u0000b"',
         r"failures.trace: 'a\x00b' has letters that are not to be seen; leave them out"),
        (r'[policies."a\u202eb"]',
         r"policies: key 'a\u202eb' has letters that are not to be seen"),
    ],
)  # fmt: skip
def test_a_file_that_no_scenario_can_be(told, text: str, line: str) -> None:
    assert told(*RUN, text=text) == [f"cprsim: {line}"]


def test_a_key_of_a_hundred_thousand_parts_is_refused_at_once() -> None:
    """It took 7 GB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ScenarioError):
        parse_toml(".".join(["a"] * 100_000) + " = 1", "it")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_a_text_of_words_and_dots_is_read_in_no_time() -> None:
    """The search for long keys looks at each letter a few times."""
    parse_toml(f'x = "{"a" * 10**6} {"a.b " * 10**5}"', "it")


@pytest.mark.slow
def test_ten_thousand_faults_are_ten_lines_and_how_many_more(told) -> None:
    lines = told(*RUN, text=GOOD + "".join(f"k{i} = 1\n" for i in range(10_000)))

    assert len(lines) == 11
    assert lines[0] == (
        "cprsim: policies.full.k0: unknown key; known: after_void, checksum, interval, keep, "
        "on_notice, system, verify_every"
    )
    assert lines[-1] == "cprsim: and 9,990 more faults; mend these first"


def test_the_middle_of_a_long_value_is_left_out(told) -> None:
    (line,) = told(*RUN, "--set", f"failures.mean={'x' * 10_000}")

    assert re.search(r"xxx \.\.\. \(9,\d{3} letters left out\) \.\.\. xxx", line)
    assert line.startswith("cprsim: failures.mean: 'xxx")
    assert line.endswith('write a number and a unit, e.g. "28 h"')
    assert len(line) < 1000


def test_an_error_shows_no_letter_that_a_terminal_acts_upon() -> None:
    for error in (UsageError, ScenarioError, RunError):
        assert str(error(f"a{CLEARED}b{TURNED}c\ud800")) == r"a\u001b[2Jb\u202ec\ud800"


DEVICE = "/dev/zero: can't be read: it is a device, not a file"
POINTS = "sweep.latin.points: 1,000,000,000 points are too many; a sweep has at most 1,000,000"
LATIN = '\n[sweep.latin]\npoints = 1000000000\nfailures.mean = "log(1 h, 9 h)"\n'


@pytest.mark.parametrize(
    ("arguments", "line"),
    [  # others are in refusals.toml
        ((*RUN, "--set", "x=" + "[" * 10**5), "--set x: has tables or lists more than 32 deep"),
        (
            (*RUN, "--set", "x=" + "9" * 5000),
            "--set x: has a number of thousands of digits in line 1",
        ),
        (("run", "/dev/zero"), DEVICE),
        (("fit", "/dev/zero"), DEVICE),
        (("rows", "/dev/zero"), DEVICE),
        (("sweep", "job.toml", "--out", "out"), POINTS),
    ],
    ids=lambda each: str(each[:2])[:40],
)
def test_what_no_command_can_be_asked_for(told, arguments: tuple[str, ...], line: str) -> None:
    assert told(*arguments, text=GOOD + LATIN) == [f"cprsim: {line}"]


# --- What is shown --------------------------------------------------------------------------------


def test_json_and_tables_show_no_letter_that_a_terminal_acts_upon(capsys) -> None:
    print_json({"name": TURNED + CLEARED})
    table = Table("name")
    table.add_row(f"a{CLEARED}{TURNED}b")
    print_table(table)

    out = capsys.readouterr().out
    assert '"\\u202e\\u001b[2J"' in out
    assert r"a\u001b[2J\u202eb" in out
    assert printable(out) == out


def test_no_cell_of_a_csv_is_a_formula() -> None:
    table = pd.DataFrame({"=key": ["=1+1", "@SUM(A1)", "+1", "-1", "plain", None], "n": [-1.5] * 6})

    assert csv_bytes(table).decode() == (
        "'=key,n\n'=1+1,-1.5\n'@SUM(A1),-1.5\n'+1,-1.5\n'-1,-1.5\nplain,-1.5\n,-1.5\n"
    )
    assert list(table.columns) == ["=key", "n"]
    assert csv_bytes(pd.read_csv(io.BytesIO(csv_bytes(table[["n"]])))) == csv_bytes(table[["n"]])


# --- Policies of others ---------------------------------------------------------------------------


def scenario() -> cprsim.Scenario:
    return cprsim.Scenario(
        job={"useful_time": "10 h"},
        cluster={"parameter_servers": 4},
        costs={"save": "1 min", "load": "1 min"},
        failures={"exactly": 0},
        policies={"full": {"system": "full"}},
    )


def planning(plan: object) -> Full:
    class Odd(Full):
        came_by = "entry point 'odd = acme:Odd' of acme 1.0"

        def plan(self, _context: object) -> Plan:
            return plan() if callable(plan) else plan  # type: ignore[return-value]

    return Odd(system="full")


SOUND = ("full", every(3600.0), everything_returns)


@pytest.mark.parametrize(
    ("plan", "did"),
    [
        (lambda: 1 / 0, "its plan() raised ZeroDivisionError: division by zero"),
        (lambda: sys.exit(3), "its plan() raised SystemExit: 3"),
        (lambda: {}["x"], "its plan() raised KeyError: 'x'"),
        (None, "its plan() returned None, no cprsim.Plan"),
        (Plan("fulll", *SOUND[1:]),  # type: ignore[arg-type]
         "its plan() returned a plan whose recovery is 'fulll', none of full, partial, replica, "
         "parity"),
        (Plan("full", 3, everything_returns),  # type: ignore[arg-type]
         "its plan() returned a plan whose schedules are 3, no tuple of schedules"),
        (Plan("full", every(float("nan")), everything_returns),
         "its plan() returned a plan with an interval of nan s; it must be > 0"),
        (Plan("full", every(9.0, Save("moon")), everything_returns),
         "its plan() returned a plan with a save to 'moon', none of its tiers"),
        (Plan(*SOUND, tiers=()),
         "its plan() returned a plan whose tiers are (), no tuple of tiers"),
        (Plan(*SOUND, slowdown="x"),  # type: ignore[arg-type]
         "its plan() returned a plan whose slowdown is 'x', no number from 0"),
        (Plan("full", every(9.0), "x"),  # type: ignore[arg-type]
         "its plan() returned a plan whose recover is 'x', nothing to be called"),
        (Plan("full", every(9.0), lambda _: "x"),  # type: ignore[arg-type, return-value]
         "its plan() returned a plan that answers a loss with 'x', no Recover"),
    ],
)  # fmt: skip
def test_a_policy_that_does_not_plan_is_named_with_what_it_did(plan: object, did: str) -> None:
    with pytest.raises(PolicyError) as error:
        planning(plan).planned(scenario().context)

    assert str(error.value) == f"entry point 'odd = acme:Odd' of acme 1.0: {did}"


class Controller:
    """One that asks for what a function says."""

    def __init__(self, ask: Callable) -> None:
        self.ask = ask

    def tell(self, _event: object) -> None:
        pass


def asking(ask: Callable) -> Full:
    class Own(Plan):
        def start(self) -> Controller:  # type: ignore[override]
            return Controller(ask)

    return planning(Own(*SOUND))


def played(ask: Callable) -> str:
    own = scenario().with_policies({"own": asking(ask)})
    with pytest.raises(RunError) as error:
        cprsim.run(own, replications=1, engine="sim")
    return str(error.value)


def test_a_controller_that_never_advances_is_given_up() -> None:
    assert played(lambda now: Train(now.progress_s + 1e-9)) == (
        "policy 'own': the job gets nowhere: 2.78e-09 times its useful time is over, with 0 "
        "failures, and 0 % of it done; its controller asked 100,001 times for less than a "
        "billionth of it; ask for longer training"
    )


def test_a_controller_that_raises_is_told() -> None:
    assert played(lambda _: {}["x"]) == "policy 'own': playing it raised KeyError: 'x'"


def test_a_controller_that_raises_is_no_job_without_progress() -> None:
    """Fleets leave such jobs out, and `advise` counts them as very long."""
    raises, often = asking(lambda _: {}["x"]), {"failures": {"exactly": 2000}}
    job = cprsim.Scenario(**scenario().mapping() | often).with_policies({"own": raises})
    with pytest.raises(RunError, match="KeyError"):
        engines.attempt([(job, range(2))], {"own": "sim"}, 0)
    with pytest.raises(RunError, match="KeyError"):
        Trials(job, Criteria(), 0).gets_nowhere(raises)


@pytest.mark.parametrize("engine", ["sim", pytest.param("batch", marks=pytest.mark.slow)])
def test_a_job_that_fails_too_often_is_noticed_after_ten_thousand_failures(engine: str) -> None:
    often = cprsim.Scenario(
        **scenario().mapping()
        | {"failures": {"distribution": "exponential", "mean": "1 s"}, "costs": {
            "save": "1 min", "load": "1 min", "reschedule": "1 min"}}
    )  # fmt: skip
    with pytest.raises(RunError, match=r"with 10,000 failures, and 0 % of it done; make fail"):
        engines.simulate(often, dict.fromkeys(often.policies, engine), range(1), 0)


@pytest.mark.parametrize("engine", ["sim", pytest.param("batch", marks=pytest.mark.slow)])
def test_a_hopeless_job_is_noticed_on_its_first_part(engine: str) -> None:
    """A quick test: a run of the whole takes longer than it may, and there are a thousand."""
    often = scenario().mapping() | {
        "job": {"useful_time": "56 h"},
        "failures": {"distribution": "gamma", "shape": 0.6, "mean": "10 s"},
        "costs": {"save": "5 min", "load": "12 min", "reschedule": "10 min"},
    }
    told = (
        r"^policy '\w+': the job gets nowhere, nor would one of 16.7 min: 610 times its useful "
        r"time is over, with 1,000 failures"
    )
    with pytest.raises(RunError, match=told):
        cprsim.run(cprsim.Scenario(**often), replications=1000, engine=engine)
    if engine == "batch":  # which the advisor takes
        with pytest.raises(UsageError, match="full makes no progress under so many failures"):
            cprsim.advise(cprsim.Scenario(**often), systems=["full", "accepted-loss"])


def test_the_first_part_of_a_sound_job_tells_nothing() -> None:
    job = scenario()

    assert [*without_hope(job, dict.fromkeys(job.policies, "sim"), 0)] == []
