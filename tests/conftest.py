"""What all tests share."""

import gc
import math
import multiprocessing.util
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from cprsim.cli import command
from tests.gated import Gate, started

# Before NumPy and torch are imported, here and in processes that tests start: several threads would
# spin for cores, and add numbers up in another order now and then.
os.environ["OMP_NUM_THREADS"] = "1"
# The first of such processes leaves the package compiled, which takes most of a second, to others.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Modules and tests stay until the end: to search them for garbage again and again takes a third of
# the time in which they are collected.
gc.disable()

# The same examples on every machine and in every run: a test that passes must pass again, however
# slow the machine is. The quick tier draws few of them, `--drawn` most. A test that needs more than
# others says so by `examples(times)`.
for _tier, _examples in (("all", 24), ("quick", 8), ("drawn", 120)):
    settings.register_profile(
        _tier,
        derandomize=True,
        deadline=None,
        print_blob=True,
        max_examples=_examples,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("all")
# Into what it draws, Hypothesis mixes numbers and words that stand in the project's modules, of
# those that happen to be imported; so a file drew other examples alone than among others. There is
# no setting for it. `test_draws.py` holds that this is the place.
providers._get_local_constants = Constants

#: Files and folders of tests that the quick tier leaves out, and doesn't import: they need torch,
#: processes of their own, a browser, or minutes. A single slow test is marked `slow` instead.
SLOW = (
    "advice",
    "clusters/test_alone.py",
    "failures/test_ages.py",
    "failures/test_frailty.py",
    "failures/test_logs_at_hand.py",
    "failures/test_offenders.py",
    "faults",
    "figures",
    "fitting/test_told.py",
    "fleets/test_fits.py",
    "fleets/test_production_fleet.py",
    "gallery",
    "hooks",
    "report/test_answer_page.py",
    "rows/test_change.py",
    "rows/test_meanfield.py",
    "sim/test_attempts_in_the_mean.py",
    "sim/test_silent_in_the_mean.py",
    "studies",
    "survival/test_frailty.py",
    "sweeps/test_damage.py",
    "sweeps/test_own_code.py",
    "test_fuzz.py",
    "test_interrupts.py",
    "test_reproduction.py",
    "trainer",
    "validation",
)
#: Of a test with more cases than that the quick tier runs some, evenly spread: of each kind of them
#: where the names of cases are "kind | case", as in large tables. Of a test marked `whole` it runs
#: all.
CASES = 6
#: CPU seconds from which on a test of the quick tier is named in the summary: it should be faster,
#: or marked `slow`. It is no failure: a busy machine takes twice as long as a quiet one.
QUICK_S = 1.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--quick`, which `make test` gives, and `--drawn` of `make nightly`."""
    parser.addoption("--quick", action="store_true", help="leave slow tests out (make test)")
    many = "only tests that draw examples, and many of these (make nightly)"
    parser.addoption("--drawn", action="store_true", help=many)


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples Hypothesis draws, before any test is imported."""
    for tier in ("quick", "drawn"):
        if getattr(config.option, tier):
            settings.load_profile(tier)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the files and folders of `SLOW` out of the quick tier."""
    own = {Path(__file__).parent / each for each in SLOW}
    return True if config.option.quick and collection_path in own else None


def cpu_s() -> float:
    """CPU seconds of this process and of those that it has started and waited for.

    Not wall-clock time: that depends on what else the machine does.
    """
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Settle the folder of sockets; compile the batch engine once, before several processes do.

    Python keeps the folder that it first finds for its sockets: were that one of a test's, its
    path might be too long for every test after it in the same process.
    """
    multiprocessing.util.get_temp_dir()
    compiles = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
    first = not hasattr(session.config, "workerinput")  # not a process of xdist's
    if first and compiles and not session.config.option.collectonly:
        ready = "from cprsim.runs.engines import prepare; prepare(['batch'])"
        subprocess.run([sys.executable, "-c", ready], check=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Name a test that is too slow for the quick tier; fixtures are shared, so they don't count."""
    before_s = cpu_s()
    result = yield
    used_s = cpu_s() - before_s
    if item.config.option.quick and used_s > QUICK_S:
        item.user_properties.append(("counted", f"{used_s:.1f} s of CPU, and not marked slow"))
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out of the quick tier what is marked `slow` or `nightly`, and most of many cases."""
    if config.option.drawn:
        keep(config, items, [each for each in items if _draws(each)])
    if not config.option.quick:
        return
    of_a_test: dict[str, list[pytest.Item]] = {}
    for each in items:
        if not any(map(each.get_closest_marker, ("slow", "nightly"))):
            kind, in_kinds, _ = each.nodeid.partition(" | ")
            test = kind if in_kinds else each.nodeid.partition("[")[0]
            if each.get_closest_marker("whole"):
                test = each.nodeid
            of_a_test.setdefault(test, []).append(each)
    cases_of = of_a_test.values()
    some = [each for cases in cases_of for each in cases[:: math.ceil(len(cases) / CASES)]]
    keep(config, items, some)


def pytest_collection_finish() -> None:
    """Search for garbage from now on, but not among what was collected."""
    gc.freeze()
    gc.enable()


def _draws(item: pytest.Item) -> bool:
    """Return whether a test draws examples by Hypothesis."""
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


def keep(config: pytest.Config, items: list[pytest.Item], some: Iterable[pytest.Item]) -> None:
    """Deselect all items but some."""
    kept = {*some}
    config.hook.pytest_deselected(items=[each for each in items if each not in kept])
    items[:] = [each for each in items if each in kept]


@pytest.fixture
def short_folder():
    """A folder with a short path: those of sockets, in folders below it, have 108 bytes at most."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def no_width():
    """What is no terminal has no width: Python's readline gives its children COLUMNS = 80."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        yield


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, and no repository: files have bare names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def called(capsys):
    """Calls the command, which ends with a code, and gives what it says on stdout and stderr."""

    def call(*arguments, code=0):
        assert command._main([*arguments]) == code
        return capsys.readouterr()

    return call


@pytest.fixture(autouse=True)
def _no_progress_lines(monkeypatch):
    """A slow machine changes nothing on stderr."""
    monkeypatch.setattr("cprsim.cli.common.EVERY_S", threading.TIMEOUT_MAX)


@pytest.fixture
def gate(tmp_path):
    """Makes gates, each in a folder of its own."""
    made: list[Gate] = []

    def another(after, **more):
        made.append(Gate.make(tmp_path / f"gate-{len(made)}", after, **more))
        return made[-1]

    return another


@pytest.fixture
def start():
    """Starts the command with a gate; what is left of it in the end is killed."""
    with ExitStack() as stack:
        yield lambda gate, *arguments: stack.enter_context(started(gate, *arguments))


@pytest.fixture
def counted(record_property):
    """Notes what a test has counted, to be told at the end of all tests."""
    return lambda text: record_property("counted", text)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What tests have counted, e.g. how many faults were injected."""
    for report in terminalreporter.stats.get("passed", ()):
        for name, value in report.user_properties:
            if name == "counted":
                terminalreporter.write_line(f"{report.nodeid}: {value}")
