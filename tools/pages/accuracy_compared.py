"""A section of docs/accuracy.md: results of a study on two kinds of data, side by side."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from cprsim.trainer.studies import findings
from cprsim.trainer.studies.paired import (
    EQUAL_WITHIN,
    PairedDifference,
    compare,
    compare_all,
    enough,
)
from cprsim.trainer.studies.slope import seed_slopes
from tools.tables import markdown

#: Policies of which it is said in words: the one that CPR's authors recommend, and their baseline.
_CHOSEN: Final = {"cpr-mfu", "cpr-vanilla"}
#: Conclusions from the second data on a difference on the first.
_MEANING: Final = {
    "the same": "so the gain holds on both",
    "the other way round": "so on {0} it is a loss",
    "shown there alone": "so it is a gain on {0} alone",
    "equal there": "so nothing is gained on {0}",
    "not shown": "so on {0} no gain is shown",
}
_Pair = tuple[PairedDifference, PairedDifference]


class Study(NamedTuple):
    """The runs of a study, with their drops, and what its data are called."""

    label: str
    runs: pd.DataFrame


_SECTION = """\
## {first} and {second} side by side

Of the {points} points with failures and the {seeds} seeds that both have. What a unit of PLS costs,
in AUC, with its 95 % interval; equal is within {within:g} ({enough}):

{slopes}
AUC of one policy less that of another, after the same failures
([accuracy-differences.csv](accuracy-differences.csv)):

{said}"""


def section(first: Study, second: Study) -> str:
    """Return the section, from the seeds and points that both have."""
    runs = _shared(first.runs, second.runs)
    seeds = runs[0]["seed"].nunique()
    labels = (first.label, second.label)
    pairs = _pairs(runs)
    return _SECTION.format(
        first=_at_first(first.label),
        second=second.label,
        points=runs[0].groupby(findings.POINT).ngroups - 1,
        seeds=seeds,
        within=EQUAL_WITHIN,
        enough=enough("slopes on both", len(findings.slopes(runs[0])), seeds),
        slopes=_slopes(runs, labels),
        said=_said(pairs, labels),
    )


def best(studies: Sequence[Study]) -> str:
    """Return which measure predicts the drop best, a line for each study."""
    return "".join(
        f"- {_at_first(study.label)}, over {name}: {contest.best}.\n"
        for study in studies
        for name, contest in findings.contests(study.runs).items()
    )


def _at_first(label: str) -> str:
    """Return a label for the beginning of a sentence."""
    return label[0].upper() + label[1:]


def _shared(*tables: pd.DataFrame) -> list[pd.DataFrame]:
    """The runs that all have, by seed and point."""
    kinds = [pd.MultiIndex.from_frame(each[[*findings.POINT, "seed"]]) for each in tables]
    return [
        each[np.logical_and.reduce([those.isin(other) for other in kinds])]
        for each, those in zip(tables, kinds, strict=True)
    ]


def _slopes(runs: Sequence[pd.DataFrame], labels: Sequence[str]) -> str:
    lines = [findings.slopes(each) for each in runs]
    by_seed = [
        {system: seed_slopes(*of)[:, 0] for system, of in findings.by_system(each).items()}
        for each in runs
    ]
    systems = [system for system in lines[0] if system in lines[1]]
    found = compare([(*labels, by_seed[0][each] - by_seed[1][each]) for each in systems])
    rows = [
        (
            system,
            *(
                f"{slope.auc_drop_per_pls:.4f} ({slope.low:.4f} to {slope.high:.4f})"
                for slope in (each[system] for each in lines)
            ),
            difference.spread,
            f"{difference.adjusted_p:.2g}",
            f"{difference.equal_p:.2g}",
            difference.verdict,
        )
        for system, difference in zip(systems, found, strict=True)
    ]
    heads = ("system", *labels, "difference", "p, adjusted", "p, equal", "verdict")
    return markdown(heads, rows)


def _pairs(runs: Sequence[pd.DataFrame]) -> list[_Pair]:
    """Return each difference on the first data, and that of the same policies on the second.

    Policies are in the order of the first data, the more accurate one first.
    """
    first, second = (findings.compared_aucs(each) for each in runs)
    names = [name for name in first if name in second]
    found = (compare_all({name: each[name] for name in names}) for each in (first, second))
    return list(zip(*found, strict=True))


def _held(one: PairedDifference, other: PairedDifference) -> str:
    """Return how a difference on the first data holds on the second."""
    if not other.is_significant:
        return "equal there" if other.is_equal else "not shown"
    if not one.is_significant:
        return "shown there alone"
    return "the same" if one.mean * other.mean > 0 else "the other way round"


def _said(pairs: Sequence[_Pair], labels: Sequence[str]) -> str:
    held: dict[str, list[str]] = {}
    for a, b in pairs:
        if a.is_significant:
            held.setdefault(_held(a, b), []).append(f"`{a.first}` over `{a.second}`")
    told = [
        f"{len(names)} {kind}" + (f" ({', '.join(names)})" if kind != "the same" else "")
        for kind, names in held.items()
    ]
    count = sum(map(len, held.values()))
    lines = [f"Of {count} differences on {labels[0]}, on {labels[1]}: {', '.join(told) or 'none'}."]
    lines += [
        f"`{a.first}` over `{a.second}`: {a.spread} on {labels[0]} ({a.verdict}), {b.spread} on "
        f"{labels[1]} ({b.verdict}); {_MEANING[_held(a, b)].format(labels[1])}."
        for a, b in pairs
        if {a.first, a.second} == _CHOSEN
    ]
    return "".join(f"- {line}\n" for line in lines)
