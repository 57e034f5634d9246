"""What the compiled engine plays, and whether it is compiled: known without loading it."""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from cprsim.batch import rows
from cprsim.contract import Answers, Plan
from cprsim.failures.cohorts import InstantCohort, NodeCohort, RenewalCohort, ReplayCohort
from cprsim.scenario import Scenario

_HERE = Path(__file__).parent
#: What else is compiled, beside this package.
_ELSEWHERE = (
    *("contract/rules.py", "contract/differences.py", "contract/growing.py"),
    *("closed_form/incremental.py", "sim/limits.py"),
)


def why_unsupported(scenario: Scenario, policy: str) -> str | None:
    """Why a policy can't be played, or None."""
    plan = scenario.plan(policy)
    if source_of(scenario) is None:
        kind = type(scenario.failure_model.process.cohort(0, 0)).__name__
        return f"failures of kind {kind} are not known to it"
    if type(plan).start is not Plan.start:
        return "it has a controller of its own, which decides while the job runs"
    if not isinstance(plan.recover, Answers):
        return "its rule for losses is code of its own"
    if len(plan.schedules) > rows.TIERS:
        return f"it saves to {len(plan.schedules)} tiers, more than {rows.TIERS}"
    return None


def source_of(scenario: Scenario) -> int | None:
    """Where the failures of a scenario come from; None for what is not known here."""
    cohort = scenario.failure_model.process.cohort(0, 0)
    if isinstance(cohort, RenewalCohort):
        return rows.RENEWAL
    if isinstance(cohort, InstantCohort | ReplayCohort):
        return rows.ABSOLUTE
    if not isinstance(cohort, NodeCohort):
        return None
    shared = cohort.bursts is not None or cohort.severities is not None
    return rows.SHARED if shared else rows.LIVES


def sources() -> str:
    """A digest of all that is compiled."""
    paths = [*_HERE.glob("*.py"), *(_HERE.parent / name for name in _ELSEWHERE)]
    return sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()


def is_compiled() -> bool:
    """Whether it was compiled before, as it is now."""
    own, name = os.environ.get("NUMBA_CACHE_DIR"), _mark()
    if own is not None:
        return any(Path(own).glob(f"*/{name}"))
    return (_HERE / "__pycache__" / name).exists()


def note_compiled(folder: Path) -> None:
    """Machine code of these sources has been put into that folder."""
    with suppress(OSError):
        (folder / _mark()).touch()


def _mark() -> str:
    return f"compiled-{sources()[:16]}"
