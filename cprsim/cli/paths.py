"""Paths that commands read, refused before libraries are imported that take a second."""

from pathlib import Path


def scenario_file(path: Path | None) -> Path | None:
    """Return the path of a scenario; raise `ScenarioError` where there is none."""
    from cprsim.basics.shipped import located, missing
    from cprsim.basics.toml import parse_file, text_of
    from cprsim.errors import ScenarioError

    if path is None:
        return None
    where = located(path)
    if where.is_dir():
        raise ScenarioError(f"{path}: can't be read: Is a directory")
    if not where.exists():
        raise ScenarioError(missing(path))
    if where.is_file():  # a pipe can be read but once
        tables = parse_file(text_of(where), where)
        others = any(isinstance(each, dict) for each in tables.values())
        if others and not tables.keys() & {"job", "cluster", "failures", "policies"}:
            raise ScenarioError(
                f"{where}: is no scenario: it has none of [job], [cluster], [failures] and "
                "[policies]"
            )
    return path


def scenario_or_sweep(path: Path) -> Path:
    """Return the path of a scenario, or of the folder of a sweep."""
    from cprsim.basics.reading import note
    from cprsim.errors import UsageError

    if not path.is_dir():
        return scenario_file(path) or path
    if not (path / "sweep.db").is_file():
        raise UsageError(f"{path}: holds no sweep; name the folder given to cprsim sweep --out")
    note(path / "sweep.db")
    return path


def sweep_or_run(path: Path) -> Path:
    """Return the folder of a sweep or of a run."""
    from cprsim.errors import UsageError

    if not any((path / name).is_file() for name in ("sweep.db", "results.csv")):
        raise UsageError(
            f"{path}: holds no sweep and no run; name a folder given to cprsim sweep --out, or to "
            "cprsim run --out"
        )
    return path


def there(path: Path | None) -> Path | None:
    """Return the path of a log or a folder, which is there, or the name of a shipped scenario."""
    from cprsim.basics.files import absent
    from cprsim.basics.reading import note
    from cprsim.basics.shipped import located
    from cprsim.errors import LogError

    if path is not None:
        if not located(path).exists():
            raise LogError(f"{path}: {absent(path)}")
        note(located(path))
    return path


def check_text(path: Path) -> None:
    """Raise `LogError` for a log whose first line is no text."""
    from contextlib import closing

    from cprsim.basics.tabular import lines

    if there(path) and (path.is_file() or path.is_dir()):  # a pipe can be read but once
        with closing(lines(path)) as text:
            next(text, None)
