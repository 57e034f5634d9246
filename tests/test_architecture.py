"""docs/architecture.md says of the machine what its code does."""

import re
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
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


# --- One more of each ----------------------------------------------------------------------------

#: By the heading of its list: in each file, after or in place of which text what is put.
ADDED = {
    "A rule": {
        "machine/rules.py": [
            (
                "\n\ndef lost_samples(",
                "\n\ndef detect_again_s(first_s: float, later_s: float, failures: int) -> float:\n"
                '    """Return the detection time of the first or a later failure (rule 8)."""\n'
                "    return first_s if failures == 1 else later_s\n\n\ndef lost_samples(",
            )
        ],
        "machine/recovery.py": [
            (
                "wait_for(job, DETECTING, detect_s)",
                "wait_for(job, DETECTING,"
                " rules.detect_again_s(plan.detect_s, plan.detect_again_s, run.failures))",
            )
        ],
        "machine/plan_rows.py": [
            (
                "    detect_s: float = 0.0\n",
                "    detect_s: float = 0.0\n    detect_again_s: float = 0.0\n",
            )
        ],
        "sim/tables.py": [
            (
                '            "detect_s": scenario.costs.detect_s,\n',
                '            "detect_s": scenario.costs.detect_s,\n'
                '            "detect_again_s": scenario.costs.detect_s / 2,\n',
            )
        ],
    },
    "A cause of time": {
        "machine/codes.py": [
            ("START, SHUTDOWN = range(9)", "START, SHUTDOWN, INSPECT = range(10)"),
            ("CAUSES: Final = 9", "CAUSES: Final = 10"),
        ],
        "machine/phases.py": [
            ("    DETECT,\n", "    DETECT,\n    INSPECT,\n"),
            (
                "TURN: Final = 16",
                "TURN: Final = 17\n#: A look at what was loaded.\nINSPECTING: Final = 16",
            ),
            ("HELD: Final = 17", "HELD: Final = 18"),
            ("OVER: Final = 18", "OVER: Final = 19"),
            ("  # ENDING\n", "  # ENDING\n    INSPECT,  # INSPECTING\n"),
        ],
        "machine/step.py": [
            ("    HELD,\n", "    HELD,\n    INSPECTING,\n"),
            (
                "    elif phase == LOADING:\n",
                "    elif phase == INSPECTING:\n        recovery.inspected(job)\n"
                "    elif phase == LOADING:\n",
            ),
        ],
        "machine/recovery.py": [
            ("import ARRIVING, DETECTING,", "import ARRIVING, DETECTING, INSPECTING,"),
            (
                "    if job.run.fails_after_load:\n",
                "    wait(job, INSPECTING, 60.0)\n\n\ndef inspected(job: Running) -> None:\n"
                '    """What was loaded is sound."""\n'
                "    if job.run.fails_after_load:\n",
            ),
        ],
        "machine/ledger.py": [
            ("    DONE,\n", "    DONE,\n    INSPECT,\n"),
            ("    ledger[18],", "    ledger[21] = job.spent[INSPECT]\n    ledger[18],"),
        ],
        "contract/ledger.py": [
            (
                '    *("verify", "start", "shutdown"),\n',
                '    *("verify", "start", "shutdown", "inspect"),\n',
            ),
            ("RARE_CAUSES: Final = (", 'RARE_CAUSES: Final = ("inspect", '),
            (
                '    "shutdown": "shutdown",\n',
                '    "shutdown": "shutdown",\n    "inspect": "inspection",\n',
            ),
            ("    corrupt: int = 0\n", "    corrupt: int = 0\n    inspect: float = 0.0\n"),
        ],
        "sim/outside.py": [('"start", "shutdown")', '"start", "shutdown", "inspect")')],
        "sim/engine.py": [("MODEL_VERSION = 7", "MODEL_VERSION = 8")],
        "formulas/expected.py": [
            (
                "    shutdown: float = 0.0\n",
                "    shutdown: float = 0.0\n    inspect: float = 0.0\n",
            ),
            ("self.start, self.shutdown)", "self.start, self.shutdown, self.inspect)"),
        ],
        "contract/vocabulary.py": [
            ('("slowdown", "verify")', '("slowdown", "verify", "inspect")'),
            ('("save", "stall", "verify")', '("save", "stall", "verify", "inspect")'),
        ],
        "figures/style.py": [
            ('    "start": "#601800",', '    "inspect": "#333333",\n    "start": "#601800",')
        ],
        "report/decision.py": [
            ('    "start": "start",', '    "inspect": "look",\n    "start": "start",')
        ],
        "report/tables.py": [
            ('    *("start", "shutdown"),\n', '    *("start", "shutdown", "inspect"),\n')
        ],
    },
    "A kind of flow": {
        "machine/codes.py": [
            ("STOPPING, NOTICING = range(2, 4)", "STOPPING, NOTICING, BEATING = range(2, 5)"),
            ("REPLACING: Final = 4", "REPLACING: Final = 5"),
            ("FILLING: Final = 5", "FILLING: Final = 6"),
        ],
        "machine/run_rows.py": [
            (
                "    taken_rate: float = 0.0\n",
                "    taken_rate: float = 0.0\n    sends: float = 0.0\n",
            )
        ],
        "machine/allocations.py": [
            ("import HELD_SHORTLY,", "import BEATING, HELD_SHORTLY,"),
            (
                "    if plan.starts:\n        cursors.unpause(job)\n",
                "    if plan.starts:\n        cursors.unpause(job)\n"
                "    job.flows[open_flow(job, BEATING, job.transfers[0], 900.0)].sends = 0.5\n",
            ),
        ],
        "machine/flows.py": [
            ("    FILLING,\n", "    BEATING,\n    FILLING,\n"),
            (
                "    elif flow.kind == NOTICING:\n",
                "    elif flow.kind == BEATING:\n        job.run.sent += flow.sends\n"
                "    elif flow.kind == NOTICING:\n",
            ),
        ],
        "sim/outside.py": [
            (
                '    codes.SAVING: "save",\n',
                '    codes.SAVING: "save",\n    codes.BEATING: "beat",\n',
            ),
            (
                "        else:\n            down = self._loss(flow.down)",
                "        elif flow.kind == codes.BEATING:\n"
                '            task = BackgroundTask(kind, "")\n'
                "        else:\n            down = self._loss(flow.down)",
            ),
        ],
        "sim/observer.py": [('"reschedule", "load"]', '"reschedule", "load", "beat"]')],
    },
}


@pytest.fixture(scope="module")
def more(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a copy of the package with one more of each, which imports as `cprsim`."""
    folder = tmp_path_factory.mktemp("more")
    shutil.copytree(PACKAGE, folder / "cprsim", ignore=shutil.ignore_patterns("__pycache__"))
    for files in ADDED.values():
        for file, edits in files.items():
            path = folder / "cprsim" / file
            text = path.read_text(encoding="utf-8")
            for old, new in edits:
                assert text.count(old) == 1, (file, old)
                text = text.replace(old, new)
            path.write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name in [each for each in sys.modules if each.partition(".")[0] == "cprsim"]:
            patch.delitem(sys.modules, name)
        patch.syspath_prepend(folder)
        yield folder
        for name in [each for each in sys.modules if each.partition(".")[0] == "cprsim"]:
            del sys.modules[name]


@pytest.mark.parametrize("what", ADDED)
def test_the_list_names_the_files_that_one_more_takes(what: str) -> None:
    own = TEXT.partition(f"\n**{what}**\n")[2].partition("\n**")[0].partition("\n`")[0]

    assert set(re.findall(r"`([\w/]+\.py)`", own)) == set(ADDED[what])


def test_one_more_rule_cause_and_flow_work_in_the_simulator(more: Path) -> None:
    sim, scenario = import_module("cprsim.sim.engine"), import_module("cprsim.scenario")
    seen = import_module("cprsim.sim.observer").Observer()
    spans, tasks = [], []
    seen.span = lambda cause, start_s, end_s: spans.append((cause, end_s - start_s))
    seen.background = lambda *task: tasks.append(task)
    assert Path(str(sim.__file__)).is_relative_to(more)
    job = scenario.Scenario(**tables(more))
    ledger = sim.play(job, "it", 0, 0)

    assert ledger == sim.play(job, "it", 0, 0, seen)
    assert ledger.failures == 3
    assert ledger.detect == pytest.approx(8 + 4 + 4)
    assert ledger.inspect == pytest.approx(3 * 60)
    assert [took_s for cause, took_s in spans if cause == "inspect"] == pytest.approx([60] * 3)
    assert ledger.sent == 0.5
    assert [(task.kind, start_s, end_s) for task, start_s, end_s, _ in tasks] == [("beat", 0, 900)]
    assert ledger.wall == pytest.approx(
        sum(getattr(ledger, cause) for cause in import_module("cprsim.contract.ledger").CAUSES)
    )


def test_results_have_the_cause_as_well(more: Path) -> None:
    import_module("cprsim.report.tables")  # which looks whether it has all causes
    labels = import_module("cprsim.contract.ledger").CAUSE_LABELS
    assert set(import_module("cprsim.figures.style").CAUSE_COLOURS) == set(labels)
    for each in import_module("cprsim.contract.vocabulary").VOCABULARIES.values():
        assert "inspect" in each.words
    row = import_module("cprsim").run(
        import_module("cprsim.scenario").Scenario(**tables(more)), replications=1, engine="sim"
    )
    assert row.summary.loc["it", "inspect"] == pytest.approx(180 / (4 * 3600))
