"""Small logs of every format, and all that a reader makes of each: the cases of small_logs.toml."""

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cprsim.failures.logs.intervals import Intervals, read_intervals
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.options import Columns
from cprsim.failures.logs.readers import read_log

CASES = tomllib.loads(Path(__file__).with_name("small_logs.toml").read_text(encoding="utf-8"))


def told(log: FailureLog | Intervals) -> dict[str, Any]:
    """All that a log holds, without what is None, empty or usual; "?" for what isn't known."""
    found = {each.name: _plain(getattr(log, each.name)) for each in fields(log)}
    usual = {each.name: each.default for each in fields(log)} | {"columns": found.get("columns")}
    return {
        name: each
        for name, each in found.items()
        if each not in (None, [], {}) and each != usual[name]
    }


def _plain(value: Any) -> Any:
    """Return a value as TOML has it."""
    if isinstance(value, FailureLog):
        return told(value)
    if isinstance(value, np.ndarray | tuple):
        each = np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
        return ["?" if item is None or item != item else item for item in each]  # noqa: PLR0124
    return value


@pytest.mark.parametrize("case", CASES["case"], ids=lambda case: f"{case['reader']}-{case['name']}")
def test_a_small_log_is_read_as_it_is_true(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(case["text"], encoding="utf-8", newline="")
    columns = Columns(**case["columns"]) if "columns" in case else None
    if case["reader"] == "intervals":
        assert told(read_intervals(path, columns)) == case["log"]
    else:
        assert told(read_log(path, case["reader"], case.get("system"), columns)) == case["log"]
