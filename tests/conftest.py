"""What all tests share."""

import multiprocessing.util
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.gated import Gate, started

# The same examples on every machine and in every run: a test that passes must pass again, however
# slow the machine is.
settings.register_profile(
    "cprsim",
    derandomize=True,
    deadline=None,
    print_blob=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("cprsim")
# Into what it draws, Hypothesis mixes numbers and words that stand in the project's modules, of
# those that happen to be imported; so a file drew other examples alone than among others. There is
# no setting for it. `test_draws.py` holds that this is the place.
providers._get_local_constants = Constants

#: CPU seconds from which on a test is told of that isn't marked `slow`, "takes more than a second".
#: It fails nobody: on a busy machine, or a slower one, a test takes twice as many as on another.
QUICK_S = 5.0


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
    if not hasattr(session.config, "workerinput") and not session.config.option.collectonly:
        ready = "from cprsim.runs.engines import prepare; prepare(['batch'])"
        subprocess.run([sys.executable, "-c", ready], check=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Tell of a test that is slow and doesn't say so; fixtures are shared, so they don't count."""
    before_s = cpu_s()
    result = yield
    used_s = cpu_s() - before_s
    if used_s > QUICK_S and item.get_closest_marker("slow") is None:
        item.user_properties.append(("counted", f"{used_s:.1f} s of CPU, and not marked slow"))
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark nightly tests as slow; complain of a test that is essential and not slow."""
    for item in items:
        if item.get_closest_marker("nightly"):
            item.add_marker("slow")
        if item.get_closest_marker("essential") and not item.get_closest_marker("slow"):
            raise pytest.UsageError(f"{item.nodeid}: is marked essential, but not slow")


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder with a short path: those of sockets, in folders below it, have 108 bytes at most."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def no_width() -> Iterator[None]:
    """What is no terminal has no width: Python's readline gives its children COLUMNS = 80."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and no repository: files have bare names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _no_progress_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine changes nothing on stderr."""
    monkeypatch.setattr("cprsim.cli.common.EVERY_S", threading.TIMEOUT_MAX)


@pytest.fixture
def gate(tmp_path) -> Callable[..., Gate]:
    """Makes gates, each in a folder of its own."""
    made: list[Gate] = []

    def another(after: int, **more: bool) -> Gate:
        made.append(Gate.make(tmp_path / f"gate-{len(made)}", after, **more))
        return made[-1]

    return another


@pytest.fixture
def start() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts the command with a gate; what is left of it in the end is killed."""
    with ExitStack() as stack:
        yield lambda gate, *arguments: stack.enter_context(started(gate, *arguments))


@pytest.fixture
def counted(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Notes what a test has counted, to be told at the end of all tests."""
    return lambda text: record_property("counted", text)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What tests have counted, e.g. how many faults were injected."""
    for report in terminalreporter.stats.get("passed", ()):
        for name, value in report.user_properties:
            if name == "counted":
                terminalreporter.write_line(f"{report.nodeid}: {value}")
