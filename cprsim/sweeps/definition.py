"""What makes two sweeps the same one, so that the second goes on with the first."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cprsim.errors import UsageError
from cprsim.sim.engine import MODEL_VERSION
from cprsim.sweeps.rule import Rule


@dataclass(frozen=True)
class Definition:
    """All that the numbers of a sweep depend on.

    Parameters
    ----------
    title
        Of the scenario; no part of what is compared.
    scenario, points
        Hashes of the scenario without what is varied, and of all points in order.
    keys
        What is varied, in order.
    policies, seed, rule, engine
        What is played at each point, how often, and by what.
    model_version
        Of the code that plays it.
    currency
        Of the scenario's prices, None where it has none; no part of what is compared.
    zipped
        Those of the keys whose values go together; no part of what is compared.
    code
        Of policies that aren't shipped, by name (`own_code`).
    """

    title: str
    scenario: str
    points: str
    keys: tuple[str, ...]
    policies: tuple[str, ...]
    seed: int
    rule: Rule
    engine: str = "auto"
    model_version: int = MODEL_VERSION
    currency: str | None = None
    zipped: tuple[str, ...] = ()
    code: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> str:
        """As it is stored."""
        return json.dumps(asdict(self))

    def check(self, stored: dict[str, Any], folder: Path) -> None:
        """Raise `UsageError` where `folder` holds another sweep, saying what differs."""
        theirs, ours = stored["model_version"], self.model_version
        if theirs != ours:
            age = "a newer" if theirs > ours else "an older"
            raise UsageError(
                f"--out {folder}: holds a sweep of {age} cprsim (model version {theirs}, this one "
                f"has {ours}), whose numbers don't go with these; install that one, or choose "
                "another folder"
            )
        difference = self._difference(stored)
        if difference:
            raise UsageError(
                f"--out {folder}: holds another sweep: {difference}; choose another folder"
            )

    def _difference(self, stored: dict[str, Any]) -> str:
        new = json.loads(self.document())
        for name, was, now in (
            ("policies are", ", ".join(stored["policies"]), ", ".join(new["policies"])),
            ("seed is", stored["seed"], new["seed"]),
            ("replications are", stored["rule"]["replications"], new["rule"]["replications"]),
            ("half-width is", stored["rule"]["half_width"], new["rule"]["half_width"]),
            ("engine is", stored["engine"], new["engine"]),
            ("blocks are of", stored["rule"]["block"], new["rule"]["block"]),
        ):
            if was != now:
                return f"its {name} {was}, not {now}"
        if stored["scenario"] != new["scenario"]:
            return "its scenario is another"
        if stored["points"] != new["points"]:
            return "its points are others"
        for name, was in stored.get("code", {}).items():  # an older cprsim didn't write it
            if self.code.get(name) != was:
                return f"the code of its policy {name!r} was another"
        return ""
