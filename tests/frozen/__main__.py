"""Write the results of the engines down, or compare with them.

Run `python -m tests.frozen` (`make frozen`) to compare all, or name some of `batch`, `sim`,
`watched` and `documents`. `python -m tests.frozen freeze` writes the results of today down: do
that before the engines are rebuilt, not after.
"""

import gzip
import json
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cprsim.batch import engine as batch
from cprsim.errors import RunError
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from cprsim.sim.history.recorder import record
from tests.frozen.corpus import (
    NEWER,
    REPLICATIONS,
    commands,
    document,
    drawn,
    read,
    shipped,
    written,
)

FOLDER: Final = Path(__file__).parent
SCENARIOS, LEDGERS, TEXTS = FOLDER / "random.json.gz", FOLDER / "ledgers.npz", FOLDER / "texts.json"
#: Of these the simulator plays the first alone: one takes a good part of a second.
_LONG: Final = {"airesim": 2, "ett-ladder": 8, "production": 16}

#: Relative: logarithms and powers end otherwise on a processor with other vector instructions.
_ROUNDING: Final = 1e-10

Values = NDArray[np.float64]
_COMPARED: Final = [name for name in sim.COLUMNS if name not in NEWER]
_OLD: Final = [sim.COLUMNS.index(name) for name in _COMPARED]
Engine = Callable[[Scenario, Sequence[str], range, int], Values]


def freeze() -> None:
    """Write the corpus."""
    FOLDER.mkdir(exist_ok=True)
    SCENARIOS.write_bytes(gzip.compress(written(drawn()).encode(), mtime=0))
    ledgers: dict[str, Values] = {}
    texts: dict[str, str] = {command: document(command) for command in commands()}
    for name, scenario, policy in _played():
        key = f"{name}/{policy}"
        found = _ledgers(batch.simulate, scenario, policy, REPLICATIONS)
        if isinstance(found, str):
            texts[key] = found
        else:
            ledgers[key] = found
            texts[key] = _digest(found)
            texts[f"{key}, watched"] = _watched(scenario, policy)
    np.savez_compressed(LEDGERS, **{key: _split(value) for key, value in ledgers.items()})
    TEXTS.write_text(json.dumps(texts, indent=0, sort_keys=True) + "\n", encoding="utf-8")


def differences(compared: Collection[str]) -> Iterator[str]:
    """Yield a line for each ledger, watched run and document that isn't as it was."""
    texts, ledgers = json.loads(TEXTS.read_text(encoding="utf-8")), np.load(LEDGERS)
    if "documents" in compared:
        known = (command for command in commands() if command in texts)  # not of newer scenarios
        yield from (command for command in known if document(command) != texts[command])
    engines = {name: each for name, each in _ENGINES.items() if name in compared}
    if not engines and "watched" not in compared:
        return
    for name, scenario, policy in _played():
        key = f"{name}/{policy}"
        if key not in texts:  # of a scenario that is newer
            continue
        frozen = _joined(ledgers[key]) if key in ledgers else texts[key]
        for engine, simulate in engines.items():
            count = REPLICATIONS if engine == "batch" else _LONG.get(name, REPLICATIONS)
            found = _ledgers(simulate, scenario, policy, count)
            expected = frozen if isinstance(frozen, str) else frozen[:count]
            yield from (f"{engine}: {key}: {each}" for each in _unlike(found, expected))
        seen = texts.get(f"{key}, watched")
        if "watched" in compared and seen is not None and seen != _watched(scenario, policy):
            yield f"watched: {key}"


_ENGINES: Final[dict[str, Engine]] = {"batch": batch.simulate, "sim": sim.simulate}


def _played() -> Iterator[tuple[str, Scenario, str]]:
    """Yield all that is played: a name, a scenario, a policy of it."""
    for name, scenario in shipped():
        for policy in scenario.policies:
            yield name, scenario, policy
    with TemporaryDirectory() as folder:
        for number, each in enumerate(read(gzip.decompress(SCENARIOS.read_bytes()).decode())):
            scenario = each.scenario(Path(folder))
            for policy in scenario.policies:
                yield f"random {number}", scenario, policy


def _ledgers(engine: Engine, scenario: Scenario, policy: str, count: int) -> Values | str:
    try:
        return engine(scenario, [policy], range(count), 0)[:, 0][:, _OLD]
    except RunError as error:
        return str(error)


def _watched(scenario: Scenario, policy: str) -> str:
    """Return a digest of what an observer sees of replication 0."""
    found = record(scenario, policy)
    told = ", ".join(f"{name}={getattr(found.ledger, name)!r}" for name in _COMPARED)
    ledger = f"{type(found.ledger).__name__}({told})"
    seen = f"({found.phases!r}, {found.failures!r}, {found.background!r}, {ledger})"
    return sha256(seen.encode()).hexdigest()


def _unlike(found: Values | str, expected: Values | str) -> Iterator[str]:
    if isinstance(found, str) or isinstance(expected, str):
        if not (isinstance(found, str) and isinstance(expected, str) and found == expected):
            yield f"{_short(found)} for {_short(expected)}"
        return
    unlike = ~np.isclose(found, expected, rtol=_ROUNDING, atol=0.0, equal_nan=True)
    for row, column in np.argwhere(unlike)[:1]:
        name = _COMPARED[column]
        count = int(unlike.any(axis=1).sum())
        numbers = f"{found[row, column]!r} for {expected[row, column]!r}"
        yield f"replication {row} of {count} that differ: {name} = {numbers}"


def _short(found: Values | str) -> str:
    return found if isinstance(found, str) else "ledgers"


def _digest(values: Values) -> str:
    return sha256(values.tobytes()).hexdigest()


def _split(values: Values) -> NDArray[Any]:
    """Return the columns one after the other, byte by byte: so they are compressed well."""
    return values.T.copy().view(np.uint8).reshape(-1, 8).T.copy()


def _joined(planes: NDArray[Any]) -> Values:
    """Return what was split."""
    return planes.T.copy().view(np.float64).reshape(len(_COMPARED), -1).T.copy()


def main(arguments: list[str]) -> int:
    """Freeze or compare; 1 where something differs."""
    if arguments == ["freeze"]:
        freeze()
        return 0
    parts = (*_ENGINES, "watched", "documents")
    if unknown := set(arguments) - set(parts):
        sys.stderr.write(f"{', '.join(unknown)}: give freeze, or some of {', '.join(parts)}\n")
        return 2
    found = 0
    for line in differences(arguments or parts):
        found += 1
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"{found} that differ\n" if found else "All is as it was\n")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
