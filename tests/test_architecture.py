"""docs/architecture.md says of the machine what its code does."""

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import cprsim
from cprsim.machine import phases as codes
from cprsim.scenario import Scenario
from cprsim.sim import engine
from cprsim.sim.observer import Observer
from tools.pages import phases as page

TEXT = page.PAGE.read_text(encoding="utf-8")
PACKAGE = Path(cprsim.__file__).parent
MACHINE = PACKAGE / "machine"
JOB = {
    "job": {"useful_time": "4 h"},
    "cluster": {"parameter_servers": 4},
    "costs": {"save": "2 s", "load": "10 s", "reschedule": "30 s", "detect": "8 s"},
    "policies": {"it": {"system": "partial", "interval": "1 h"}},
}


def tables(folder: Path) -> dict[str, Any]:
    """A job whose servers fail after 30 min, 2 h and 3 h."""
    (folder / "log.csv").write_text(
        "time_s,node,severity\n1800,0,node\n7200,1,node\n10800,2,node\n"
    )
    return JOB | {"failures": {"trace": str(folder / "log.csv")}}


# --- Phases --------------------------------------------------------------------------------------


def test_the_tables_of_phases_are_what_the_code_gives() -> None:
    assert page.refreshed(TEXT) == TEXT, "run `make pages` and commit docs/architecture.md"


def test_every_phase_has_a_row_and_a_cause_where_it_takes_time() -> None:
    found = page.phases()

    assert [number for number, _ in found.values()] == list(range(len(found)))
    assert len(codes.CAUSE_OF) == codes.TURN == found["TURN"][0]


def test_branches_by_hand() -> None:
    source = """
def follow(job):
    run, phase = job.run, job.run.phase
    if phase in (ONE, TWO):
        save.interrupt(job)
    elif phase == THREE or run.volume:
        return
    else:
        run.phase = FOUR
"""
    assert page.branches("follow", source) == {
        "ONE": "save.interrupt",
        "TWO": "save.interrupt",
        "THREE": "",
        "": "FOUR",
    }
    with pytest.raises(ValueError, match="by phase"):
        page.branches("follow", "def follow(job):\n    save.interrupt(job)\n")


# --- A failure under partial recovery ------------------------------------------------------------


def calls(scenario: Scenario) -> list[str]:
    """What a run that is observed calls in the machine, by module and function."""
    found = []

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.parent == MACHINE:
            found.append(f"{path.stem}.{frame.f_code.co_name}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        engine.play(scenario, "it", 0, 0, Observer())
    finally:
        sys.setprofile(before)
    return found


def test_a_failure_under_partial_recovery_is_as_the_page_says(tmp_path: Path) -> None:
    walk = TEXT.partition("### What happens when a failure strikes")[2].partition("\n### ")[0]
    steps = re.findall(r"^\d\. (.*(?:\n   .*)*)", walk, re.MULTILINE)
    expected = [name for step in steps for name in re.findall(r"`(\w+\.\w+)`", step)]
    files = set(re.findall(r"`(\w+)\.py`", walk))

    made = calls(Scenario(**tables(tmp_path)))
    strike = made.index("cursors.strike")
    made = made[: made.index("cursors.strike", strike + 1)]  # of the first failure alone
    place, missing = strike - made[strike::-1].index("step.happen"), []
    for name in expected:
        try:
            place = made.index(name, place) + 1
        except ValueError:
            missing.append(name)

    assert missing == []
    assert len(expected) > len(steps)
    assert {name.partition(".")[0] for name in expected} == files
    assert len(files) <= 5
