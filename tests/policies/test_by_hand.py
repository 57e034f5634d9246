"""Runs of policies worked by hand, in `by_hand.toml`: their ledgers have the entries there."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.policies.by_hand import assert_entries, played

SYSTEMS = tomllib.loads(Path(__file__).with_name("by_hand.toml").read_text(encoding="utf-8"))
RUNS = {f"{name} | {run[0]}": (of, *run[1:]) for name, of in SYSTEMS.items() for run in of["runs"]}


def worked(entry: float | str) -> float:
    """Return a number, or the value of a sum such as "15 + 30"."""
    return float(eval(entry, {})) if isinstance(entry, str) else entry


@pytest.mark.whole
@pytest.mark.parametrize("name", RUNS)
def test_a_run_by_hand(name: str, tmp_path: Path) -> None:
    of, strikes, keys, entries, *others = RUNS[name]
    tables: dict[str, Any] = of.get("tables", {}) | (others[0] if others else {})
    ledger = played(tmp_path, strikes, of["policy"] | keys, **tables)

    entries = of.get("always", {}) | entries
    assert_entries(ledger, {key: worked(entry) for key, entry in entries.items()})


def test_no_two_runs_have_one_name() -> None:
    assert len(RUNS) == sum(len(of["runs"]) for of in SYSTEMS.values()) > 100
