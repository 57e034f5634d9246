"""What the compiled engine plays, and whether it is compiled: known without loading it."""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from cprsim.contract import Answers, Chains, Differences, Growing, Learned, Plan, Rotations
from cprsim.failures.cohorts import InstantCohort, NodeCohort, RenewalCohort, ReplayCohort
from cprsim.machine import codes
from cprsim.scenario import Scenario

_SEQUENCES = (Chains, Growing, Learned, Rotations, Differences)
_HERE = Path(__file__).parent
_ROOT = _HERE.parent
#: Modules whose functions are compiled.
COMPILED = (
    *sorted(f"cprsim.machine.{path.stem}" for path in (_ROOT / "machine").glob("[!_]*.py")),
    *("cprsim.contract.rules", "cprsim.contract.differences", "cprsim.contract.growing"),
    *("cprsim.contract.learned", "cprsim.closed_form.incremental", "cprsim.closed_form.intervals"),
)
#: Modules whose numbers are.
_NUMBERS = ("cprsim.failures.hit", "cprsim.job.platform")


def why_unsupported(scenario: Scenario, policy: str) -> str | None:
    """Why a policy can't be played, or None."""
    return refusals(scenario, [policy])[policy]


def refusals(scenario: Scenario, policies: Iterable[str]) -> dict[str, str | None]:
    """Of each policy why it can't be played, or None."""
    if source_of(scenario) is None:
        kind = type(scenario.failure_model.process.cohort(0, 0)).__name__
        return dict.fromkeys(policies, f"failures of kind {kind} are not known to it")
    return {name: _of_plan(scenario.plan(name)) for name in policies}


def _of_plan(plan: Plan) -> str | None:
    if type(plan).start is not Plan.start:
        return "it has a controller of its own, which decides while the job runs"
    if type(plan.recover).__call__ is not Answers.__call__:
        return "its rule for losses is code of its own"
    if plan.sequence is not None and type(plan.sequence) not in _SEQUENCES:
        return "its sequence of saves is code of its own"
    if len(plan.schedules) > codes.TIERS:
        return f"it saves to {len(plan.schedules)} tiers, more than {codes.TIERS}"
    return None


def source_of(scenario: Scenario) -> int | None:
    """Where the failures of a scenario come from; None for what is not known here."""
    cohort = scenario.failure_model.process.cohort(0, 0)
    if isinstance(cohort, RenewalCohort):
        return codes.RENEWAL
    if isinstance(cohort, InstantCohort | ReplayCohort):
        return codes.ABSOLUTE
    if not isinstance(cohort, NodeCohort):
        return None
    shared = cohort.bursts is not None or cohort.severities is not None
    return codes.SHARED if shared else codes.LIVES


def sources() -> str:
    """A digest of all that is compiled."""
    modules = [
        _ROOT / f"{name.removeprefix('cprsim.').replace('.', '/')}.py"
        for name in (*COMPILED, *_NUMBERS)
    ]
    paths = [*_HERE.glob("*.py"), *modules]
    return sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()


#: Settings of Numba for commands that start in a folder.
_NUMBA_FILE = ".numba_config.yaml"


def is_compiled() -> bool:
    """Whether it was compiled before, as it is now."""
    own, name = os.environ.get("NUMBA_CACHE_DIR"), _mark()
    if own is not None:
        return any(Path(own).glob(f"*/{name}"))
    if (_HERE / "__pycache__" / name).exists():
        return True
    # Where Numba keeps it if it may not write beside the source.
    of_user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return any((of_user / "numba").glob(f"*/{name}"))


def can_compile() -> bool:
    """Return whether Numba compiles; without it the engine is slower than the simulator."""
    if find_spec("numba") is None:
        return False
    with suppress(ValueError):  # what is no number Numba takes for 0
        if int(os.environ.get("NUMBA_DISABLE_JIT", "0")):
            return False
    # Numba takes half a second to import, and is asked only where it reads a file of its own.
    return not (Path(_NUMBA_FILE).exists() and import_module("numba").config.DISABLE_JIT)


def note_compiled(folder: Path) -> None:
    """Machine code of these sources has been put into that folder."""
    with suppress(OSError):
        (folder / _mark()).touch()


def _mark() -> str:
    python = sys.implementation.cache_tag
    return f"compiled-{python}-numba-{version('numba')}-{sources()[:16]}"
