"""Runs worked by hand, in the files `by_hand.toml`: their ledgers have the entries there."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.policies.by_hand import assert_entries, played

TESTS = Path(__file__).parents[1]
SYSTEMS = {
    name: of
    for room in ("policies", "sim")
    for name, of in tomllib.loads((TESTS / room / "by_hand.toml").read_text("utf-8")).items()
}
RUNS = {f"{name} | {run[0]}": (of, *run[1:]) for name, of in SYSTEMS.items() for run in of["runs"]}


def worked(entry: float | str) -> float:
    """Return a number, or the value of a sum such as "15 + 30"."""
    return float(eval(entry, {})) if isinstance(entry, str) else entry


def merged(tables: dict[str, Any], others: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return tables with other values in their places."""
    found = dict(tables)
    for key, value in (others or {}).items():
        inner = found.get(key)
        both = isinstance(value, dict) and isinstance(inner, dict)
        found[key] = merged(inner, value) if both else value
    return found


@pytest.mark.whole
@pytest.mark.parametrize("name", RUNS)
def test_a_run_by_hand(name: str, tmp_path: Path) -> None:
    of, strikes, keys, entries, *others = RUNS[name]
    tables = merged(of.get("tables", {}), *others)
    ledger, seen = played(tmp_path, strikes, of["policy"] | keys, **tables)

    entries = of.get("always", {}) | entries
    for cause, first in entries.pop("spans", {}).items():
        found = [[start_s, end_s] for name, start_s, end_s in seen.spans if name == cause]
        assert found[: len(first)] == [pytest.approx(span) for span in first], cause
    assert seen.returns == entries.pop("returns", seen.returns)
    assert_entries(ledger, {key: worked(entry) for key, entry in entries.items()})


def test_no_two_runs_have_one_name() -> None:
    assert len(RUNS) == sum(len(of["runs"]) for of in SYSTEMS.values()) > 100
