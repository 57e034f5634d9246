"""Killed or failing at every call that changes a file: what is there is old or new."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compiled import compiled
from tests.faults.injected import SOURCE, Fault
from tests.tiers import one_of_each
from tests.waiting import HANGS_S

#: Of how many calls of a case one goes wrong in the quick tests. In the slow ones each does, in all
#: ways or in one of them.
QUICK = {"run": 34}
OTHERS = {"files": 2, "new folder": 3}
SLOW = {"run": 1, "export": 1, "sweep": len(Fault)}
#: At least so many calls change a file; fewer would say that some are not counted.
LEAST = {"files": 15, "new folder": 14, "run": 15, "sweep": 90, "export": 6, "study": 80}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, tmp_path_factory.mktemp("calls"))


@pytest.fixture
def injected(library: Path, tmp_path: Path, counted: Callable[[str], None]) -> Callable[..., None]:
    def play(name: str, every: int, *faults: Fault) -> None:
        command = ["-m", "tests.faults.injected", name, str(tmp_path), str(every)]
        done = subprocess.run(
            [sys.executable, *command, *(each.name for each in faults)],
            env=os.environ | {"LD_PRELOAD": str(library)},
            capture_output=True,
            text=True,
            check=False,
            timeout=HANGS_S,
        )
        assert done.returncode == 0, done.stderr
        counts = json.loads(done.stdout)
        if not any(counts.values()):
            pytest.skip("this Python makes its calls past what is preloaded")
        assert min(counts.values()) >= LEAST[name] // every
        counted(f"{name}: {sum(counts.values())} faults, {counts}")

    return play


@pytest.mark.slow
@pytest.mark.parametrize("name", [*QUICK, *OTHERS])
def test_some_faults_leave_old_or_new(injected: Callable[..., None], name: str) -> None:
    injected(name, (QUICK | OTHERS)[name], *Fault)


@pytest.mark.nightly
@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
@pytest.mark.parametrize("name", SLOW)
def test_any_fault_leaves_old_or_new(
    injected: Callable[..., None], name: str, fault: Fault
) -> None:
    injected(name, SLOW[name], fault)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", one_of_each(("FULL", "KILL_HALFWAY"), Fault, lambda fault: fault.name)
)
def test_any_fault_of_a_study_leaves_old_or_new(
    injected: Callable[..., None], fault: Fault
) -> None:
    pytest.importorskip("torch")
    injected("study", len(Fault), fault)
