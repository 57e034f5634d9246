"""What a user sees who got something wrong: exit code 2, a line a fault, nothing else, no files."""

import re
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from cprsim.runs import runner
from tests.mistakes import GOOD, Mistake, mistakes
from tests.studies.small import SMALL
from tests.sweeps.processes import SCENARIO
from tests.test_cli import QUICKSTART, python
from tests.test_cli_fit import gamma_csv


def named(mistake: Mistake) -> str:
    """Name a mistake by the section that it is in, and by what is told."""
    section, *_ = re.split(r"\W", mistake.told, maxsplit=1)
    return f"{section} | {mistake.told[:50]}"


@pytest.fixture
def nothing_runs(monkeypatch):
    """Whatever is wrong is found before the first second is simulated."""

    def simulate(*_args):
        raise AssertionError("bad input was simulated")

    monkeypatch.setattr(runner, "simulate", simulate)


def stderr_of(errors: Sequence[str], folder: Path) -> str:
    return "".join(f"cprsim: {line}\n" for line in errors).replace("{folder}", str(folder))


def test_the_scenario_that_the_cases_break_is_sound(folder, called):
    Path("job.toml").write_text(GOOD, encoding="utf-8")
    # Without --out, which would need the picture.
    assert called("run", "job.toml", "--replications", "2", "--json").err == ""


@pytest.mark.parametrize("mistake", mistakes(), ids=named)
def test_a_mistake_in_a_scenario_is_told_in_a_line_a_fault(folder, nothing_runs, called, mistake):
    mistake.place()
    before = sorted(folder.iterdir())
    said = called("run", "job.toml", "--replications", "2", "--out", "result", code=2)

    assert said == ("", stderr_of(mistake.told.splitlines(), folder))
    assert sorted(folder.iterdir()) == before


def test_a_process_of_its_own_tells_the_same(folder):
    (mistake,) = (each for each in mistakes() if each.told.count("\n") == 3 and "sav:" in each.told)
    mistake.place()
    done = python("-m", "cprsim.cli", "run", "job.toml", "--out", "result", cwd=folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == stderr_of(mistake.told.splitlines(), folder)
    assert [path.name for path in folder.iterdir()] == ["job.toml"]


# The scenario file itself


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (
            b"",
            "job: the table [job] is missing\n"
            "cluster: the table [cluster] is missing\n"
            "failures: the table [failures] is missing\n"
            'policies: there are none; write e.g. [policies.full] with system = "full", '
            "or let cprsim advise ask all systems",
        ),
        (
            GOOD.replace("trainers = 4", "trainers 4").encode(),
            "job.toml: is not TOML: "
            "Expected '=' after a key in a key/value pair (at line 5, column 10)",
        ),
        (b"title = '\xff'", "job.toml: can't be read: is not UTF-8 text"),
    ],
    ids=["empty", "not-toml", "not-utf-8"],
)
@pytest.mark.parametrize("name", ["run", "advise"])
def test_a_file_that_is_no_scenario_is_told_by_its_name(folder, called, name, content, error):
    Path("job.toml").write_bytes(content)

    if name == "advise":  # which asks every system, and needs no policies
        error = error.partition("\npolicies: there are none")[0]
    assert called(name, "job.toml", code=2) == ("", stderr_of(error.splitlines(), folder))


def test_a_byte_order_mark_does_no_harm(folder, called):
    Path("job.toml").write_text(GOOD, encoding="utf-8-sig")

    called("run", "job.toml", "--replications", "1")


# The command line itself


@pytest.mark.parametrize(
    ("arguments", "start"),
    [  # The words are typer's and change with it: only what they must name is held.
        (["run"], "Missing argument 'SCENARIO'"),
        (["advise"], "Missing argument 'SCENARIO'"),
        (["rum"], "No such command 'rum'"),
        (["run", "a.toml", "--replication", "3"], "No such option"),
        (["run", "a.toml", "--replications", "many"], "Invalid value for '--replications'"),
        (["run", "a.toml", "--seed", "1.5"], "Invalid value for '--seed'"),
        (["run", "a.toml", "--out"], "Option '--out' requires an argument"),
        (["run", "a.toml", "b.toml"], "Got unexpected extra argument"),
    ],
)
def test_a_command_that_can_not_be_read_is_told_in_one_line(folder, called, arguments, start):
    Path("a.toml").write_text(GOOD, encoding="utf-8")
    out, err = called(*arguments, code=2)
    assert out == ""
    assert err.startswith(f"cprsim: {start}")
    assert err.count("\n") == 1


# --- Commands that make no sense: refusals.toml ---------------------------------------------------


LOGS = Path(__file__).parent / "failures/log_cases"
LISTED = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8"))
CASES = [(told, each["asked"]) for told, cases in LISTED.items() for each in cases]


@pytest.fixture
def place(folder, nothing_runs):
    """A folder with files that a command may name."""
    Path("job.toml").write_text(GOOD, encoding="utf-8")
    Path("short.toml").write_text(SCENARIO, encoding="utf-8")
    Path("mine.toml").write_text("mine", encoding="utf-8")
    Path("bare.toml").write_text("[job]\nuseful_time = 4 d\n", encoding="utf-8")
    gamma_csv()
    for path in LOGS.iterdir():
        shutil.copy(path, path.name)
    return folder


@pytest.mark.parametrize(
    ("told", "asked"), CASES, ids=[f"{asked[0]} | {told[:50]}" for told, asked in CASES]
)
def test_a_command_that_makes_no_sense_is_refused_in_a_line(place, told, asked, called):
    before = {path.name: path.read_bytes() for path in place.iterdir()}

    assert called(*asked, code=2) == ("", f"cprsim: {told}\n")
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


# --- Counts that no machine serves ----------------------------------------------------------------


WORKERS = (
    "cprsim: workers {}: each is a process; the most are 32 here, 16 for each core; "
    "give as many as there are cores\n"
)
VARIED = ("--vary", "costs.save=1 min", "--replications", "2", "--out", "out")
ASKED = {
    "run": ("run", QUICKSTART, "--workers", "33"),
    "fleet": ("run", "production-fleet", "--replications", "2", "--workers", "1000"),
    "sweep": ("sweep", QUICKSTART, *VARIED, "--workers", "100000"),
    "study": ("study", "small.toml", "--out", "out", "--workers", "99999999999999999999"),
}


@pytest.mark.parametrize("name", ASKED)
def test_more_workers_than_cores_can_run(name, folder, called, monkeypatch):
    if name == "study":
        pytest.importorskip("torch")
    monkeypatch.setattr(runner, "cores", lambda: 2)
    Path("small.toml").write_text(SMALL)

    assert called(*ASKED[name], code=2).err == WORKERS.format(f"{int(ASKED[name][-1]):,}")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "asked", [("run", "job.toml"), ("advise", "job.toml", "--closed-form"),
              ("sweep", "job.toml", *VARIED), ("run", "job.toml", "--policy", "full")],
    ids=lambda asked: " ".join(asked[:3]),
)  # fmt: skip
def test_more_policies_than_a_table_can_show(asked, folder, called):
    more = "".join(f'[policies.p{number}]\nsystem = "full"\n' for number in range(1000))
    Path("job.toml").write_text(f"{GOOD}{more}")

    assert called(*asked, code=2).err == (
        "cprsim: policies: 1,001 are given; the most are 1,000: divide them among several files\n"
    )
    assert not Path("out").exists()
