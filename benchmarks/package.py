"""Start-up time of commands, and the disk space of an installation."""

import resource
import statistics
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

import cprsim

_ROUNDS = 9
_MB = 1e6
#: Arguments of Python, and the most processor time that they may take, ms.
_STARTS = {
    "`import cprsim`, beyond Python itself": (["-c", "import cprsim"], 50),
    "`cprsim --help`": (["-m", "cprsim.cli", "--help"], 300),
    "`cprsim --version`": (["-m", "cprsim.cli", "--version"], None),
    "a file that isn't there, refused": (["-m", "cprsim.cli", "run", "absent.toml"], 500),
}


def starts() -> list[tuple[str, ...]]:
    """Measure start-up: medians of a few processes each, ms."""
    bare_ms = _median_ms(["-c", "pass"])
    return [
        (
            what,
            f"{_median_ms(arguments) - bare_ms * what.startswith('`import'):,.0f}",
            "" if target is None else str(target),
        )
        for what, (arguments, target) in _STARTS.items()
    ]


def _median_ms(arguments: list[str]) -> float:
    return statistics.median(_cpu_ms(arguments) for _ in range(_ROUNDS))


def _cpu_ms(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def sizes() -> list[tuple[str, ...]]:
    """Measure cprsim and what it needs, each once, without what is optional: MB, all of it last."""
    found: dict[str, float] = {}
    wanted = ["cprsim"]
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        found[name] = _size_mb(name)
        for text in distribution(name).requires or ():
            required = Requirement(text)
            if required.marker is None or required.marker.evaluate({"extra": ""}):
                wanted.append(required.name.lower().replace("_", "-"))
    largest = sorted(found.items(), key=lambda each: -each[1])
    return [(name, f"{mb:,.1f}") for name, mb in (*largest, ("all", sum(found.values())))]


def _size_mb(name: str) -> float:
    if name == "cprsim":  # which may be installed as a link to the repository
        files = list(Path(cprsim.__file__).parent.rglob("*"))
        files += list(Path("scenarios").rglob("*"))
    else:
        files = [Path(str(each.locate())) for each in distribution(name).files or ()]
    kept = (each for each in files if each.is_file() and "__pycache__" not in each.parts)
    return sum(each.stat().st_size for each in kept) / _MB
