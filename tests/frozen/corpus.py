"""The corpus: shipped scenarios, random ones, and the documents that commands print."""

import json
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from cprsim.cli.command import _main
from cprsim.scenario import Scenario, load_scenario
from tests.batch import harsh
from tests.drawn import scenarios
from tools.pages.batch import SHIPPED, is_there

REPLICATIONS: Final = 64
#: Random scenarios of each system and source of failures, after as many small ones, with which
#: Hypothesis begins.
_EACH: Final = 3
#: Of each answer to a notice.
_ANNOUNCED: Final = 12
#: What is said about a log in place of its path.
_LOG: Final = "LOG"


class Frozen(NamedTuple):
    """A random scenario: its tables, and the log that they name, if they name one."""

    tables: dict[str, Any]
    log: str | None

    def scenario(self, folder: Path) -> Scenario:
        """Return the scenario; its log is written into `folder`."""
        if self.log is None:
            return Scenario(**self.tables)
        path = folder / "log.csv"
        path.write_text(self.log, encoding="utf-8")
        failures = self.tables["failures"] | {"trace": str(path)}
        return Scenario(**self.tables | {"failures": failures})


def shipped() -> Iterator[tuple[str, Scenario]]:
    """Yield the shipped scenarios by name, but those whose log is missing."""
    for path in SHIPPED:
        if is_there(path):
            yield path.stem, load_scenario(path)


def drawn() -> list[Frozen]:
    """Draw the random scenarios: the same on each call with the same version of Hypothesis."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log.csv"
        found: list[Frozen] = []
        for system in harsh.SYSTEMS:
            sources = [*harsh.sources(log, [system]).values(), scenarios(systems=[system])]
            for strategy in sources:
                found += _examples(strategy, _EACH, len(found), log)
        for answer in ("save", "drain"):
            found += _examples(harsh.announced(log, answer), _ANNOUNCED, len(found), log)
        return found


def _examples(
    strategy: st.SearchStrategy[dict[str, Any]], count: int, number: int, log: Path
) -> list[Frozen]:
    found: list[Frozen] = []

    @seed(number)
    @settings(max_examples=2 * count, database=None, deadline=None, phases=[Phase.generate])
    @given(strategy)
    def collect(tables: dict[str, Any]) -> None:
        text = None
        if tables["failures"].get("trace") == str(log):
            text = log.read_text(encoding="utf-8")
            tables = tables | {"failures": tables["failures"] | {"trace": _LOG}}
        found.append(Frozen(json.loads(json.dumps(tables)), text))

    collect()
    return found[-count:]


def commands() -> list[str]:
    """Return the commands whose documents are frozen."""
    return [f"run {name} --replications 64 --json" for name, _ in shipped()] + list(_MORE)


_MORE: Final = (
    "run production-fleet --replications 20 --json",
    "advise quickstart --json",
    "advise criteo-kaggle --json --closed-form",
    "advise tiered --json --system tiered --system full",
    "rows criteo-kaggle --json",
)
#: Columns and keys that are newer than the corpus: they are compared with nothing.
NEWER: Final = frozenset({"learning_lost"})
#: Keys of documents that say when and with what they were made.
_OF_THE_TIME: Final = {"version", "versions", "engine", "engines", "seconds", "created"}


def document(command: str) -> str:
    """Return the JSON document that a command prints, without what isn't of the scenario."""
    printed = StringIO()
    with redirect_stdout(printed):
        code = _main(command.split())
    if code:
        return f"exit code {code}"
    return json.dumps(_timeless(json.loads(printed.getvalue())), sort_keys=True)


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _timeless(each) for key, each in value.items() if key not in _OF_THE_TIME | NEWER
        }
    if isinstance(value, list):
        return [_timeless(each) for each in value]
    return value


def written(found: Iterable[Frozen]) -> str:
    """Return random scenarios as text, one a line."""
    return "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in found)


def read(text: str) -> list[Frozen]:
    """Return the scenarios of a text."""
    return [Frozen(*json.loads(line)) for line in text.splitlines()]
