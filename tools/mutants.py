"""Change one place of the code at a time, and see whether the quick tests notice.

Run `python -m tools.mutants COUNT [SEED]`. Mutants are drawn at random from all places of
`ROOMS`: a comparison, an operation, a number or a condition becomes another. Tests of the room come
first, then all quick ones. It lists the mutants that no test notices, and their share. Everything
happens in a copy of the repository, a process a mutant; libraries are imported once.
"""

import importlib
import os
import random
import shutil
import sys
import tempfile
import time
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tools.paths import ROOT

#: Rooms by the tests that are likeliest to notice a mutant.
ROOMS: Final = {
    "machine": ("tests/sim", "tests/batch", "tests/policies", "tests/properties"),
    "formulas": ("tests/formulas", "tests/policies", "tests/advice"),
    "runs/selection": ("tests/selection", "tests/advice", "tests/sweeps"),
}
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
_LONGEST_S: Final = 600  # of one mutant; a loop without an end is noticed, too


class Mutant(NamedTuple):
    """A token of a file of the package, and the token that replaces it."""

    path: str
    line: int
    column: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old} -> {self.new}"

    def put(self, text: str) -> str:
        """Return the text of the file with the mutant in it."""
        lines = text.splitlines(keepends=True)
        line = lines[self.line - 1]
        end = self.column + len(self.old)
        lines[self.line - 1] = f"{line[: self.column]} {self.new} {line[end:]}"
        return "".join(lines)


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    name = path.relative_to(ROOT).as_posix()
    before = ""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            text, (line, column) = token.string, token.start
            binary = before not in {"", "(", ",", "[", "{", "=", ":", "return"}
            if token.type == tokenize.NUMBER:
                yield Mutant(name, line, column, text, f"({text} + 1)")
            elif text in _OTHERS and (binary or text not in {"*", "/"}):
                yield Mutant(name, line, column, text, _OTHERS[text])
            before = text.strip()


def is_noticed(mutant: Mutant, folder: Path) -> bool:
    """Return whether a quick test fails where a copy of the repository has the mutant."""
    path = folder / mutant.path
    text = path.read_text(encoding="utf-8")
    room = next(each for each in ROOMS if mutant.path.startswith(f"cprsim/{each}/"))
    path.write_text(mutant.put(text), encoding="utf-8")
    try:
        return any(_fails(folder, tests) for tests in (ROOMS[room], ("tests",)))
    finally:
        path.write_text(text, encoding="utf-8")


def _fails(folder: Path, tests: tuple[str, ...]) -> bool:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = _tested(folder, tests)
        finally:
            os._exit(code)
    ends_s = time.monotonic() + _LONGEST_S
    while time.monotonic() < ends_s:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) != 0
        time.sleep(0.2)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return True


def _tested(folder: Path, tests: tuple[str, ...]) -> int:
    import pytest  # noqa: PLC0415  (in the process of the mutant alone)

    os.chdir(folder)
    sys.path.insert(0, str(folder))
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        return int(pytest.main(["-x", "-q", "--quick", "-p", "no:cacheprovider", *tests]))


def main(count: int, seed: int = 0) -> None:
    """Print each mutant that nobody notices, and how many there are."""
    # No `TemporaryDirectory`: processes that tests fork would remove it as they end.
    scratch = Path(tempfile.mkdtemp())
    folder = scratch / ROOT.name
    ignored = shutil.ignore_patterns(".git", ".venv", "build", ".mypy_cache")
    shutil.copytree(ROOT, folder, ignore=ignored)
    os.environ |= {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / ".numba")}
    for name in _LIBRARIES:
        importlib.import_module(name)
    paths = [path for room in ROOMS for path in sorted((ROOT / "cprsim" / room).rglob("*.py"))]
    drawn = random.Random(seed).sample([each for path in paths for each in mutants(path)], count)
    kept = 0
    for tests in ROOMS.values():
        if _fails(folder, tests):
            sys.exit(f"{', '.join(tests)}: fail without any mutant")
    for number, mutant in enumerate(drawn, 1):
        noticed = is_noticed(mutant, folder)
        kept += noticed
        said = "" if noticed else f"  NOT NOTICED: {mutant}"
        sys.stdout.write(f"{number} of {count}, {kept} noticed{said}\n")
        sys.stdout.flush()
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
