"""The answer of `advise`: every candidate as it was found, and the certificate between them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from cprsim.advice.candidates import TUNED, Candidate, Refused
from cprsim.advice.criteria import Criteria
from cprsim.advice.decision import Decision
from cprsim.advice.round_numbers import inner
from cprsim.basics.schema import nearest
from cprsim.contract import Plan
from cprsim.contract.needs import TrainerNeed, trainer_need
from cprsim.errors import UsageError
from cprsim.runs.notebook import between, notebook_html, percent
from cprsim.runs.selection.certificate import Certificate
from cprsim.runs.summaries import Mean, finite
from cprsim.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Of `runs.measures.MEASURES`, those that are shown of each candidate.
SHOWN = (
    *("overhead", "pls", "updates_lost", "learning_lost", "overhead_retrained"),
    *("machine_overhead", "cost"),
)


@dataclass(frozen=True)
class Found:
    """A candidate and what came of it.

    `settings`: by key, as scenario files have them. `measures`: of `SHOWN` the mean of each,
    simulated; `causes`: of its overhead, shares of the useful time; `objective`: what is minimised.
    `closed_form`: the overhead that first order expects. `feasible`: whether it meets all
    bounds; None where that isn't sure; `why`: what it breaks or may. `replications`: how many it
    was given; jobs of a fleet. `lossless`: whether nothing that it answers failures with loses
    learning. `over`: by how much it is over the bound that it breaks most; below 0 where it breaks
    none. `in_sum`, of a fleet: the machine time of all jobs together, over the useful, - 1.
    `lacks`: by how much the mean overhead may be too low, with 95 %, because no replication met a
    rare loss that takes back much; its intervals allow for it.
    """

    candidate: Candidate
    plan: Plan
    settings: Mapping[str, Any]
    measures: dict[str, Mean]
    causes: dict[str, Mean]
    objective: Mean
    closed_form: float
    feasible: bool | None
    why: str | None
    replications: int
    lossless: bool
    over: float
    in_sum: Mean | None = None
    lacks: float = 0.0

    @property
    def name(self) -> str:
        """Name of its candidate."""
        return self.candidate.name

    @property
    def label(self) -> str:
        """Its name without the word that says that its settings were searched."""
        return self.name.removesuffix(TUNED)

    @property
    def needs(self) -> TrainerNeed:
        """The kind of trainer that its plan needs, see `TRAINER_NEEDS`."""
        return trainer_need(self.plan)

    @property
    def slowest_s(self) -> float:
        """Useful seconds from save to save of the farthest tier; 0 where none is made."""
        return self.plan.schedules[-1].interval_s if self.plan.schedules else 0.0

    @property
    def saves_every_s(self) -> float:
        """Useful seconds from save to save of the nearest tier; infinite where none is made."""
        return math.inf if self.settings.get("interval") == "never" else self.plan.interval_s

    def as_good(self, key: str) -> tuple[float, float]:
        """The ends of the durations of a setting that are as good, s: round ones, if there are."""
        low_s, high_s = self.candidate.ranges.get(key, (0.0, 0.0))
        return inner(low_s, high_s) or (high_s, high_s)

    @property
    def loses_nothing(self) -> bool:
        """Return whether no failure takes learning for good, by its recovery and in the runs."""
        seen = self.measures["updates_lost"].high, self.measures["pls"].high
        return self.lossless and not any(seen)

    def document(self) -> dict[str, Any]:
        """Return one JSON object."""
        means = {
            name: each.document() if math.isfinite(each.mean) else None
            for name, each in self.measures.items()
        }
        return {
            "name": self.name,
            "system": self.candidate.system,
            "settings": self.settings,
            **means,
            "breakdown": {cause: finite(each.mean) for cause, each in self.causes.items()},
            "breakdown_ci95": {c: each.document()["ci95"] for c, each in self.causes.items()},
            "memory_overhead": self.plan.memory_overhead,
            "needs": self.needs,
            "costs": self.plan.costs_document(),
            "closed_form_overhead": finite(self.closed_form),
            **({} if self.in_sum is None else {"machine_overhead_in_sum": self.in_sum.document()}),
            "feasible": self.feasible,
            "why": self.why,
            "origin": self.candidate.origin,
            "tuned": self.candidate.tuned,
            "ranges_s": {key: list(ends) for key, ends in self.candidate.ranges.items()},
            "replications": self.replications,
            "source": "simulated",
            "policy": self.candidate.policy.mapping(),
        }


@dataclass(frozen=True, repr=False)
class Advice:
    """The recommended policy, its settings, and how sure that is.

    `scenario`: the job, or the example of a fleet. `found`: all candidates, the lowest first, and
    those that break a bound after the others. `refused`: what couldn't take part. `certificate`:
    its candidates are the numbers of `found`. `decision`: CPR's own, by its equations alone; None
    where they have none. `apart`: by cause, what the second takes more than the best. `warnings`:
    where a number of it may mislead. `allowing`: the second answer, which may lose some learning,
    where the question says nothing of that.

    Examples
    --------
    >>> advice = cprsim.advise("quickstart", systems=["full"])
    >>> advice.best.name, advice.best.settings["interval"]
    ('full', '1.83 h')
    """

    scenario: Scenario
    criteria: Criteria
    seed: int
    found: tuple[Found, ...]
    refused: tuple[Refused, ...]
    certificate: Certificate
    decision: Decision | None
    apart: Mapping[str, Mean]
    warnings: tuple[str, ...]
    allowing: "Advice | None" = None

    @property
    def aim(self) -> Criteria:
        """The former name of `criteria`."""
        return self.criteria

    @property
    def of_fleet(self) -> bool:
        """Return whether it is of the jobs of a fleet."""
        return any(each.in_sum is not None for each in self.found)

    @property
    def verdict(self) -> str:
        """`"best"`, `"tied"`, `"undecided"`, or `"none"`: all exceed the bounds."""
        return self.certificate.verdict

    @property
    def best(self) -> Found | None:
        """The candidate with the least mean of those within the bounds."""
        return None if self.certificate.best is None else self.found[self.certificate.best]

    @property
    def tied(self) -> list[Found]:
        """Candidates that aren't surely worse, and those that do exactly the same."""
        certificate = self.certificate
        return [self.found[i] for i in (*certificate.same, *certificate.tied)]

    @property
    def runner_up(self) -> Found | None:
        """The nearest that does something else."""
        rival = self.certificate.runner_up
        return None if rival is None else self.found[rival.candidate]

    @property
    def lossless(self) -> Found | None:
        """The best candidate within the bounds that loses nothing of the learning."""
        return next((each for each in self.found if each.feasible and each.loses_nothing), None)

    @property
    def table(self) -> pd.DataFrame:
        """A row a candidate, in the order of `found`, indexed by name.

        `system`; `origin`, the policy of the scenario that it is or comes from, else its system;
        `given`, whether it is so in the scenario; `settings` in words; `standing`: `chosen`,
        `same`, `tied`, `open` (more replications may decide), `worse` or `over` (a bound); whether
        it is `sure` to be within the bounds, or not to be; `replications`; of each of `SHOWN`, and
        of the shares of the useful time by cause, the mean and its 95 % interval, `_low` to
        `_high`.
        """
        standings = ["over" if each.feasible is False else "worse" for each in self.found]
        for rival in self.certificate.rivals:
            is_open = rival.standing == "undecided"
            standings[rival.candidate] = "open" if is_open else rival.standing
        if self.certificate.best is not None:
            standings[self.certificate.best] = "chosen"
        rows = []
        for each, standing in zip(self.found, standings, strict=True):
            row: dict[str, Any] = {
                "system": each.candidate.system,
                "origin": each.candidate.origin or each.candidate.system,
                "given": each.candidate.given,
                "settings": ", ".join(f"{key} {value}" for key, value in each.settings.items()),
                "standing": standing,
                "sure": each.feasible is not None,
                "replications": each.replications,
            }
            for name, mean in (each.measures | each.causes).items():
                row |= mean.columns(name)
            rows.append(row)
        return pd.DataFrame(rows, index=pd.Index([e.name for e in self.found], name="policy"))

    def figure(self, name: str = "answer") -> "Figure":
        """A picture of the answer; raise `UsageError` if there is none of that name.

        `"answer"`: what each candidate costs; `"pareto"`: time against what else it takes.
        """
        from cprsim.figures.answer import answer, pareto  # noqa: PLC0415  (matplotlib is slow)

        pictures = {"answer": answer, "pareto": pareto}
        if name not in pictures:
            raise UsageError(
                f"figure {name!r}: there is none of that name; {nearest(name, pictures)}"
            )
        return pictures[name](
            self.table,
            self.criteria.measure,
            {each.measure: each.most for each in self.criteria.bounds},
            self.scenario.currency or "",
            self.scenario.title,
        )

    def __repr__(self) -> str:
        best = self.best
        chosen = "nobody" if best is None else f"{best.name}, {best.measures['overhead'].mean:.2%}"
        return f"<Advice {self.scenario.title!r}: {self.verdict}: {chosen}>"

    def _repr_html_(self) -> str:
        shares = ("pls", "updates_lost", "machine_overhead")
        rows = [
            [
                *(str(name), row["settings"], percent(row["overhead"]), between(row, "overhead")),
                *(percent(row[share]) for share in shares),
                row["standing"],
            ]
            for name, row in self.table.iterrows()
        ]
        head = (
            f"{self.verdict}: {'nobody' if self.best is None else self.best.name}, with "
            f"{self.criteria.confidence:.0%}; least {self.criteria.objective}; "
            "in % of the useful time"
        )
        lost = ("PLS", "updates lost")
        headings = ("policy", "settings", "overhead", "95 %", *lost, "machine time", "standing")
        return notebook_html(self.scenario.title, head, headings, rows, self.warnings)

    def document(self) -> dict[str, Any]:
        """The answer as one JSON document; numbers that are not finite are null."""
        best, second, lossless = self.best, self.runner_up, self.lossless
        refused = dict.fromkeys(SHOWN)
        return {
            "scenario": self.scenario.title,
            "seed": self.seed,
            "objective": self.criteria.objective,
            "limits": {
                **{each.option: each.most for each in self.criteria.bounds},
                "max_memory": finite(self.criteria.max_memory),
                "max_spares": finite(self.criteria.max_spares),
                "deployable": self.criteria.deployable,
                "max_interval_s": finite(self.criteria.max_interval_s),
            },
            "confidence": self.criteria.confidence,
            "within": self.criteria.within,
            "verdict": self.verdict,
            "best": None if best is None else best.document(),
            "tied": [each.name for each in self.tied],
            "runner_up": None if second is None else second.name,
            "runner_up_takes_more": {cause: e.document() for cause, e in self.apart.items()},
            "best_that_loses_nothing": None if lossless is None else lossless.name,
            "candidates": [
                *(each.document() for each in self.found),
                *(
                    {"name": each.name, "system": each.system, "settings": {}}
                    | refused
                    | {"feasible": False, "why": each.why}
                    for each in self.refused
                ),
            ],
            "warnings": list(self.warnings),
            "closed_form": None if self.decision is None else self.decision.document(),
            "allowing": None if self.allowing is None else self.allowing.brief(),
        }

    def brief(self) -> dict[str, Any]:
        """The limits, the verdict and the best as one JSON document."""
        return {
            **{each.option: each.most for each in self.criteria.bounds},
            "verdict": self.verdict,
            "best": None if self.best is None else self.best.document(),
            "tied": [each.name for each in self.tied],
        }
