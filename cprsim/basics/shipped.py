"""The scenarios that come with cprsim: by name, in the place of a path."""

import os
import tomllib
from pathlib import Path
from typing import NamedTuple

from cprsim.basics.files import absent
from cprsim.basics.schema import nearest
from cprsim.basics.version import PACKAGE
from cprsim.errors import UsageError

#: In an installed package, and in a checkout.
_HOMES = (PACKAGE / "scenarios", PACKAGE.parent / "scenarios")
_SCENARIO = ".toml"
#: Small logs among them that a scenario or a page can be tried with.
_LOGS = ("failures.csv",)


class Shipped(NamedTuple):
    """A scenario that comes with cprsim: its name, the title that the file has, and where it is.

    `log`: the log that it replays, where that isn't here.
    """

    name: str
    title: str
    path: Path
    log: str = ""


def scenarios() -> list[Shipped]:
    """All of them, by name."""
    found = []
    for path in sorted(_home().glob(f"*{_SCENARIO}")):
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        log = tables["failures"].get("trace", "")
        there = (path.parent / log).exists()
        found.append(Shipped(path.stem, tables["title"], path, "" if there else log))
    return found


def names() -> list[str]:
    """The names of the scenarios."""
    return sorted(path.stem for path in _home().glob(f"*{_SCENARIO}"))


def named(name: str) -> Path:
    """The file of a scenario, of a cluster, or of a log among them.

    Raises
    ------
    UsageError
        Where there is none of that name.
    """
    stem = Path(name.removesuffix(_SCENARIO))
    if _bare(stem) and (file := _file(stem.name)):
        return file
    if name in _LOGS:
        return shipped(name)
    raise UsageError(f"scenario {name!r}: none of that name is shipped; {nearest(name, names())}")


def located(path: str | Path) -> Path:
    """Return the file of that name: unchanged, with `.toml`, or else a shipped one's.

    Clusters are shipped, too, in a folder of their own among the scenarios.
    """
    path = Path(path)
    if not _bare(path) or path.is_file():
        return path
    own = path.with_name(f"{path.name}{_SCENARIO}")
    return own if own.is_file() else _file(path.name) or path


def _file(name: str) -> Path | None:
    """Return the file of the shipped scenario or cluster of that name, if there is one."""
    files = (folder / f"{name}{_SCENARIO}" for folder in (_home(), _home() / "clusters"))
    return next((file for file in files if file.is_file()), None)


def missing(path: Path) -> str:
    """Return a message for a scenario that isn't there."""
    if not _bare(path) or path.is_symlink():
        return f"{path}: {absent(path)}"
    return f"{path}: no such file, and no scenario of that name; {nearest(path.name, names())}"


def shipped(name: str) -> Path:
    """The shipped file of that name, as short as its path can be written: titles name logs."""
    path = _home() / name
    if not path.exists():
        raise UsageError(f"scenarios/{name} is not here; give a scenario of your own")
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _bare(path: Path) -> bool:
    """Return whether it may be a name: no folder, no ending."""
    return path.name == os.fspath(path) and not path.suffix


def _home() -> Path:
    return next((home for home in _HOMES if home.is_dir()), PACKAGE / "scenarios")
