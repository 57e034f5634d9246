"""Small logs of every format, and all that a reader makes of each: the cases of small_logs.toml."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.options import Columns
from cprsim.failures.logs.readers import read_log

CASES = tomllib.loads(Path(__file__).with_name("small_logs.toml").read_text(encoding="utf-8"))


def told(log: FailureLog) -> dict[str, Any]:
    """All that a log holds, without what is None or empty; "?" for what isn't known."""
    found: dict[str, Any] = {each: getattr(log, each) for each in ("start_s", "span_s", "until_s")}
    for name in ("times_s", "nodes", "repaired_s", "racks", "came_s", "left_s"):
        if getattr(log, name) is not None:
            values = np.asarray(getattr(log, name)).tolist()
            found[name] = ["?" if each != each else each for each in values]  # noqa: PLR0124
    for name in ("kinds", "severities", "causes"):
        if getattr(log, name) is not None:
            found[name] = ["?" if each is None else each for each in getattr(log, name)]
    for name in ("epoch", "rows", "notes"):
        found[name] = list(getattr(log, name) or ())
    found |= {"population": log.population, "dropped": log.dropped, "unused": log.unused}
    found["planned"] = None if log.planned is None else told(log.planned)
    if not log.of_nodes:
        found["of_nodes"] = False
    return {name: each for name, each in found.items() if each not in (None, [], {})}


@pytest.mark.parametrize("case", CASES["case"], ids=lambda case: f"{case['reader']}-{case['name']}")
def test_a_small_log_is_read_as_it_is_true(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(case["text"], encoding="utf-8", newline="")
    columns = Columns(**case["columns"]) if "columns" in case else None

    assert told(read_log(path, case["reader"], case.get("system"), columns)) == case["log"]
