"""A sound scenario, and the mistakes in it that `mistakes.toml` lists with what users are told."""

import copy
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

LAW = 'distribution = "exponential"\nmean = "5 h"\n'
GOOD = f"""\
[job]
useful_time = "10 h"

[cluster]
trainers = 4
parameter_servers = 4

[costs]
save = "1 min"
load = "1 min"
reschedule = "1 min"

[failures]
{LAW}
[policies.full]
system = "full"
"""


class Mistake(NamedTuple):
    """What is told, a line a fault; keys and tables of the sound scenario that are different."""

    told: str
    without: list[str]
    log: str | None
    keys: dict[str, Any]

    def place(self) -> None:
        """Write job.toml, and log.csv if the mistake needs one, into the working directory."""
        Path("job.toml").write_text(tomli_w.dumps(self.tables()), encoding="utf-8")
        if self.log is not None:
            Path("log.csv").write_text(self.log, encoding="utf-8")

    def tables(self) -> dict[str, Any]:
        """Return the tables of the scenario with the mistake."""
        tables = tomllib.loads(GOOD)
        for path in self.without:
            *parts, last = path.split(".")
            table = tables
            for part in parts:
                table = table[part]
            del table[last]
        return _merged(tables, self.keys)


def _merged(tables: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(tables)
    for key, value in keys.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else copy.deepcopy(value)
    return merged


def mistakes() -> list[Mistake]:
    """Return the mistakes of `mistakes.toml`, in its order."""
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return [
        Mistake(told, keys.pop("without", []), keys.pop("log", None), keys)
        for told, cases in listed.items()
        for keys in cases
    ]
