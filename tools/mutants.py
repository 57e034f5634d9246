"""Change one place of the code at a time, and see whether the quick tests notice.

Run `python -m tools.mutants COUNT [SEED]`. Mutants are drawn at random from all places of
`ROOMS`: a comparison, an operation, a number or a condition becomes another. Quick tests that play
jobs run once, to see which functions each of them calls; of a mutant those run that call its
function, the quickest first. It lists the mutants that no test notices, and their share. Everything
happens in a copy of the repository, a process a mutant; libraries are imported once, and nothing is
compiled: compiled code would not show its calls. Where a test asks for the compiled engine, which
gives the same results, the simulator plays. Tests of compiling itself are left out, and one of them
may notice a mutant that is listed.
"""

import ast
import importlib
import json
import math
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import tokenize
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import pytest

from tools.paths import ROOT

#: Tests that play jobs, and so call what is in `ROOMS`.
_TESTS: Final = tuple(
    f"tests/{each}"
    for each in (
        *("batch", "clusters", "contract", "fleets", "formulas", "policies", "properties"),
        *("selection", "sim", "sweeps"),
    )
)
#: Rooms of rules; other rooms print, draw or store results.
ROOMS: Final = ("machine", "formulas", "runs/selection")
_LIBRARIES: Final = (
    *("numpy", "scipy.stats", "scipy.optimize", "pandas", "numba", "simpy", "pydantic"),
    *("matplotlib.figure", "typer", "rich.table"),
)
_PAIRS: Final = (
    *("< <=", "<= <", "> >=", ">= >", "== !=", "!= ==", "+ -", "- +", "* /", "/ *"),
    *("and or", "or and", "min max", "max min", "True False", "False True", "not "),
)
#: Tokens that become others; a number becomes the next one.
_OTHERS: Final = dict(pair.split(" ") for pair in _PAIRS)
#: Of the tests of a mutant: one that waits for ever is noticed, too.
_LONGEST_S: Final = 900.0
#: CPU seconds of a test; those that take longer uncompiled are left out.
_LONGEST_TEST_S: Final = 20.0
#: CPU seconds that a test may take more than three times its own: an endless loop is ended by then,
#: and a busy machine ends none that is not.
_MORE_S: Final = 4.0
#: How many tests go first: most mutants are noticed by one of them, within seconds.
_FIRST: Final = 25


class Mutant(NamedTuple):
    """A token of a file of the package, and the token that replaces it.

    `function`: the innermost function around it, as `Calls` names it; "" if there is none.
    """

    path: str
    function: str
    line: int
    column: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.old} -> {self.new}"

    def put(self, text: str) -> str:
        """Return the text of the file with the mutant in it."""
        lines = text.splitlines(keepends=True)
        line = lines[self.line - 1]
        end = self.column + len(self.old)
        lines[self.line - 1] = f"{line[: self.column]} {self.new} {line[end:]}"
        return "".join(lines)


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield all mutants of a file, but for the columns of a row: a run sets them before use."""
    name = path.relative_to(ROOT).as_posix()
    tree, before = ast.parse(path.read_text(encoding="utf-8")), ""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            text, (line, column) = token.string, token.start
            binary = before not in {"", "(", ",", "[", "{", "=", ":", "return"}
            before, new = text.strip(), None
            if token.type == tokenize.NUMBER:
                new = f"({text} + 1)"
            elif text in _OTHERS and (binary or text not in {"*", "/"}):
                new = _OTHERS[text]
            if new is None:
                continue
            function = _around(tree, line, ast.FunctionDef)
            if function or not _around(tree, line, ast.ClassDef):
                yield Mutant(
                    name, f"{name}:{function}" if function else "", line, column, text, new
                )


def _around(tree: ast.AST, line: int, kind: type[ast.FunctionDef | ast.ClassDef]) -> int:
    """Return the first line of the innermost function or class around a line; 0 without one."""
    return max(
        (
            min(each.lineno for each in (node, *node.decorator_list))
            for node in ast.walk(tree)
            if isinstance(node, kind) and node.body[0].lineno <= line <= (node.end_lineno or 0)
        ),
        default=0,
    )


class Calls:
    """A plugin of pytest: which functions of `ROOMS` a test calls, and how long it takes.

    `of_tests[test]` is `[seconds, [function, ...]]`, a function by file and line.
    """

    def __init__(self, folder: Path) -> None:
        self.of_tests: dict[str, tuple[float, list[str]]] = {}
        self.failed: list[str] = []
        self._folder = f"{folder}/"
        self._rooms = tuple(f"{folder}/cprsim/{each}/" for each in ROOMS)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Leave out what fails without any mutant."""
        if report.failed:
            self.failed.append(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watch what a test calls, and what the fixtures do that are made for it."""
        called = set()

        def watch(frame: FrameType, _event: str, _argument: object) -> None:
            called.add(frame.f_code)

        begins_s = time.process_time()
        signal.signal(signal.SIGPROF, _takes_too_long)
        signal.setitimer(signal.ITIMER_PROF, _LONGEST_TEST_S)
        threading.settrace(watch)
        sys.settrace(watch)
        result = yield
        sys.settrace(None)
        threading.settrace(None)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        self.of_tests[item.nodeid] = (
            time.process_time() - begins_s,
            sorted(
                f"{each.co_filename.removeprefix(self._folder)}:{each.co_firstlineno}"
                for each in called
                if each.co_filename.startswith(self._rooms)
            ),
        )
        return result

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that call a mutant's function, the quickest first.

        If none does, as of what runs at import: those that call any of its file, or else all.
        """
        of_file = f"{mutant.path}:"
        for is_one in (mutant.function.__eq__, lambda each: each.startswith(of_file), bool):
            calls = sorted(
                (took_s, test)
                for test, (took_s, functions) in self.of_tests.items()
                if any(map(is_one, functions))
            )
            if calls:
                return [test for _, test in calls]
        return []


def _takes_too_long(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError


class InOrder:
    """A plugin of pytest: tests in an order of their own, each within its CPU seconds."""

    def __init__(self, limits_s: dict[str, float]) -> None:
        self._limits_s = limits_s
        self._places = {each: place for place, each in enumerate(limits_s)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort what was collected."""
        items[:] = sorted(
            (each for each in items if each.nodeid in self._places),
            key=lambda each: self._places[each.nodeid],
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """The signal of this timer ends the process."""
        signal.setitimer(signal.ITIMER_PROF, self._limits_s[item.nodeid])
        result = yield
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        return result


def _noticed(code: int) -> bool:
    """Tests failed, could not be read or were killed; 5 is said where none ran."""
    return code not in {0, 5}


def is_noticed(mutant: Mutant, folder: Path, calls: Calls) -> bool:
    """Return whether a quick test fails where a copy of the repository has the mutant."""
    path, tests = folder / mutant.path, calls.tests(mutant)
    text = (ROOT / mutant.path).read_text(encoding="utf-8")
    path.write_text(mutant.put(text), encoding="utf-8")
    try:
        first = _of_few_files(tests)
        others = [each for each in tests if each not in first]
        return any(_fails(folder, some, calls) for some in (first, others))
    finally:
        path.write_text(text, encoding="utf-8")


def _fails(folder: Path, tests: list[str], calls: Calls) -> bool:
    limits_s = {each: _MORE_S + 3 * calls.of_tests[each][0] for each in tests}
    return _noticed(_in_a_process(lambda: _run(folder, tests, "-x", plugin=InOrder(limits_s))))


def _of_few_files(tests: list[str]) -> list[str]:
    """The first tests of the first files: a file takes a moment to be read."""
    files = list(dict.fromkeys(each.partition("::")[0] for each in tests))[:5]
    return [each for each in tests if each.partition("::")[0] in files][:_FIRST]


def _in_a_process(what: Callable[[], int], longest_s: float = _LONGEST_S) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            code = what()
        finally:
            os._exit(code)
    ends_s = time.monotonic() + longest_s
    while time.monotonic() < ends_s:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return 1


def _run(folder: Path, tests: list[str], *more: str, plugin: object) -> int:
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    compiled, simulator = map(importlib.import_module, ("cprsim.batch.engine", "cprsim.sim.engine"))
    compiled.simulate = simulator.simulate
    files = list(dict.fromkeys(each.partition("::")[0] for each in tests))
    options = ("-q", "--quick", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:faulthandler")
    plugins: list[Any] = [plugin]
    return int(
        pytest.main([*options, "--timeout", f"{_LONGEST_S}", *more, *files], plugins=plugins)
    )


def _all_calls(folder: Path) -> Calls:
    calls = Calls(folder)
    kept = folder / "calls.json"

    def watched() -> int:
        code = _run(folder, [*_TESTS], plugin=calls)
        for each in calls.failed:
            calls.of_tests.pop(each, None)
        kept.write_text(json.dumps([calls.of_tests, calls.failed]), encoding="utf-8")
        return code

    _in_a_process(watched, math.inf)
    calls.of_tests, calls.failed = json.loads(kept.read_text(encoding="utf-8"))
    return calls


def main(count: int, seed: int = 0) -> None:
    """Print each mutant that nobody notices, and how many there are."""
    # No `TemporaryDirectory`: processes that tests fork would remove it as they end.
    scratch = Path(tempfile.mkdtemp())
    folder = scratch / ROOT.name
    ignored = shutil.ignore_patterns(".git", ".venv", "build", ".mypy_cache")
    shutil.copytree(ROOT, folder, ignore=ignored)
    os.environ |= {"PYTHONPATH": str(folder), "NUMBA_DISABLE_JIT": "1"}
    for name in _LIBRARIES:
        importlib.import_module(name)
    paths = [path for room in ROOMS for path in sorted((ROOT / "cprsim" / room).rglob("*.py"))]
    drawn = random.Random(seed).sample([each for path in paths for each in mutants(path)], count)
    calls = _all_calls(folder)
    sys.stdout.write(f"{len(calls.of_tests)} tests, {len(calls.failed)} fail uncompiled\n")
    kept = 0
    for number, mutant in enumerate(drawn, 1):
        noticed = is_noticed(mutant, folder, calls)
        kept += noticed
        said = "" if noticed else f"  NOT NOTICED by {len(calls.tests(mutant))} tests: {mutant}"
        sys.stdout.write(f"{number} of {count}, {kept} noticed{said}\n")
        sys.stdout.flush()
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
