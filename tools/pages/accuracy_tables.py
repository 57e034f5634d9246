"""The tables of docs/accuracy.md and its like, in Markdown."""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from cprsim.studies import findings
from cprsim.studies.findings import Bend
from cprsim.studies.paired import PairedDifference
from cprsim.studies.predictors import Contest, told


def points(runs: pd.DataFrame, up_to: float) -> str:
    """Each point of a study, with its drop and what the line says of it."""
    lines = findings.slopes(runs, up_to)
    rows = []
    for row in findings.points(runs).to_dict("records"):
        slope = lines.get(row["system"])
        rows.append(
            (
                row["policy"],
                row["failures"],
                f"{row['servers_hit']} of {row['servers']}",
                f"{row['pls']:.3f}",
                f"{row['updates_lost']:.3f}",
                f"{row['auc_drop']:.5f} ± {row['auc_drop'] - row['auc_drop_low']:.5f}",
                "" if slope is None else f"{slope.auc_drop_per_pls * row['pls']:.5f}",
            )
        )
    heads = ("policy", "failures", "servers hit", "PLS", "updates lost", "AUC drop", "by the line")
    return table(heads, rows)


def slopes(runs: pd.DataFrame, up_to: float) -> str:
    """The line of each system."""
    rows = [
        (
            system,
            f"{slope.auc_drop_per_pls:.5f}",
            f"{slope.low:.5f} to {slope.high:.5f}",
            slope.points,
            f"{slope.pls_up_to:.2f}",
        )
        for system, slope in findings.slopes(runs, up_to).items()
    ]
    heads = ("system", "AUC drop for each unit of PLS", "95 % interval", "points", "up to PLS")
    return table(heads, rows)


def ranges(found: Mapping[str, Bend]) -> str:
    """The slopes of each system by range, and which applies."""
    rows = []
    for system, bend in found.items():
        tested = bend.difference
        for each in bend.ranges:
            first = each.above == 0
            rows.append(
                (
                    system,
                    each.name,
                    f"{each.auc_drop_per_pls:.5f}",
                    f"{each.low:.5f} to {each.high:.5f}",
                    "" if tested is None or not first else f"{tested.adjusted_p:.2g}",
                    bend.applies if first else "",
                )
            )
    heads = ("system", "PLS", "AUC drop for each further unit", "95 % interval", "p, bend")
    return table((*heads, "which slope applies"), rows)


def contests(found: Mapping[str, Contest]) -> str:
    """How well each measure foretells the drops, and which is best."""
    heads = ("over", "points", "measure", "variance", "95 % interval", "ranks", "95 % interval")
    rows = [
        (
            name,
            contest.points,
            f"`{each.measure}`",
            f"{each.explained:.2f}",
            f"{each.explained_low:.2f} to {each.explained_high:.2f}",
            f"{each.ranked:.2f}",
            f"{each.ranked_low:.2f} to {each.ranked_high:.2f}",
        )
        for name, contest in found.items()
        for each in contest.predictors
    ]
    said = [f"- AUC drop over {name}: {told(contest)}.\n" for name, contest in found.items()]
    return f"{table(heads, rows)}\n{''.join(said)}"


def differences(found: Sequence[PairedDifference]) -> str:
    """What was compared, with its tests and verdict."""
    rows = [
        (
            each.first,
            each.second,
            spread(each),
            f"{each.p:.2g}",
            f"{each.adjusted_p:.2g}",
            f"{each.equal_p:.2g}",
            each.verdict,
        )
        for each in found
    ]
    heads = ("of", "less that of", "difference", "p", "p, adjusted", "p, equal", "verdict")
    return table(heads, rows)


def spread(found: PairedDifference) -> str:
    """A mean difference and half of its interval."""
    return f"{found.mean:+.5f} ± {found.mean - found.low:.5f}"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Any table."""
    cells = [heads, ["---"] * len(heads), *([str(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(each)} |\n" for each in cells)
