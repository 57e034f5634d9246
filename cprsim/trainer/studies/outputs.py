"""The results of a study: files of `--out`, and tables of the terminal and of docs/accuracy.md."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from cprsim.basics.manifest import with_manifest
from cprsim.basics.spreadsheet import csv_bytes
from cprsim.trainer.studies import findings
from cprsim.trainer.studies.paired import EQUAL_WITHIN, compare_all
from cprsim.trainer.studies.slope import Slope

#: Files of `cprsim study --out`, next to the folder of runs.
NAMES: Final = ("runs.csv", "accuracy.toml", "manifest.json")
_COLUMNS: Final = (
    *("seed", "policy", "system", "failures", "servers_hit", "servers", "auc", "log_loss"),
    *("pls", "updates_lost", "learning_lost", "predictions_sha256"),
)
_HASH_DIGITS: Final = 16  # of a hash, in the table: enough to see that two are the same


def runs_table(done: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """A row a run that is done: what it was, and what came out."""
    table = pd.DataFrame(done, columns=[*_COLUMNS])
    return table.assign(predictions_sha256=table["predictions_sha256"].str[:_HASH_DIGITS])


def contents(done: Sequence[Mapping[str, Any]], planned: int, source: str) -> dict[str, bytes]:
    """Name and bytes of each of `NAMES`; `source` says what data the slopes come from.

    Without any slope there is no accuracy.toml.
    """
    table, made_with = runs_table(done), []
    for document in done:  # versions: one entry, unless a study went on after a change
        versions = {name: each for name, each in document["versions"].items() if name != "git"}
        if versions not in made_with:
            made_with.append(versions)
    lines = findings.slopes(findings.with_drops(table, "the study"))
    files = {"runs.csv": csv_bytes(table)}
    if lines:
        files["accuracy.toml"] = accuracy_block(lines, source).encode()
    about = {"source": source, "runs": len(table), "planned": planned, "made_with": made_with}
    return with_manifest(files, about)


def accuracy_block(found: Mapping[str, Slope], source: str) -> str:
    """The block `[accuracy]` with these slopes, each with four significant digits."""
    # Rounded down: nothing is predicted beyond what was measured.
    up_to = math.floor(100 * min(each.up_to for each in found.values())) / 100
    head = ["[accuracy]", f"source = {json.dumps(source)}", f"pls_up_to = {up_to}", ""]
    lines = [
        f"{json.dumps(system)} = {{ auc_drop_per_pls = {slope.auc_drop_per_pls:.4g}, "
        f"ci95 = [{slope.low:.4g}, {slope.high:.4g}] }}"
        for system, slope in found.items()
    ]
    return "\n".join([*head, "[accuracy.systems]", *lines, ""])


def points(runs: pd.DataFrame) -> pd.DataFrame:
    """Return each point of a study, with its drop and what the line says of it."""
    lines = findings.slopes(runs)
    rows = [
        (
            row["policy"],
            row["failures"],
            f"{row['servers_hit']} of {row['servers']}",
            f"{row['pls']:.3f}",
            f"{row['updates_lost']:.3f}",
            f"{row['auc_drop']:.5f} ± {row['auc_drop'] - row['auc_drop_low']:.5f}",
            f"{slope.auc_drop_per_pls * row['pls']:.5f}" if slope is not None else "",
        )
        for row in findings.points(runs).to_dict("records")
        for slope in [lines.get(row["system"])]
    ]
    names = ["policy", "failures", "servers hit", "PLS", "updates lost", "AUC drop", "by the line"]
    return pd.DataFrame(rows, columns=names)


def slopes(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the line of each system, then its slopes by range and which applies."""
    lines, rows = findings.slopes(runs), []
    for system, bend in findings.bends(runs).items():
        line, tested = lines.get(system), bend.difference
        p = "" if tested is None else f"{tested.adjusted_p:.2g}"
        of_line = [] if line is None else [(f"0 to {line.up_to:.2f}", line, p, bend.applies)]
        of_ranges = [(each.name, each, "", "") for each in bend.ranges]
        for of, each, *more in of_line + of_ranges:
            interval = f"{each.low:.5f} to {each.high:.5f}"
            rows.append((system, of, f"{each.auc_drop_per_pls:.5f}", interval, *more))
    names = ["system", "PLS", "AUC drop for each unit", "95 % interval"]
    return pd.DataFrame(rows, columns=[*names, "p, bend", "which slope applies"])


def differences(runs: pd.DataFrame) -> pd.DataFrame:
    """Return differences of policies in AUC, and of slopes by servers hit, with their verdicts."""
    policies, servers = compare_all(findings.compared_aucs(runs)), findings.share_differences(runs)
    rows = [
        (
            what,
            each.first,
            each.second,
            each.spread,
            *(f"{p:.2g}" for p in (each.p, each.adjusted_p, each.equal_p)),
            each.verdict,
        )
        for what, compared in (("AUC", policies), ("slope", servers))
        for each in compared
    ]
    names = ["what", "of", "less that of", "difference", "p", "p, adjusted", "p, equal", "verdict"]
    return pd.DataFrame(rows, columns=names)


def predictors(runs: pd.DataFrame) -> pd.DataFrame:
    """Return how well each measure predicts the drops."""
    rows = [
        (
            name,
            contest.points,
            each.measure,
            *(
                text
                for share in (each.explained, each.ranked)
                for text in (f"{share.mean:.2f}", f"{share.low:.2f} to {share.high:.2f}")
            ),
        )
        for name, contest in findings.contests(runs).items()
        for each in contest.predictors
    ]
    names = ["over", "points", "measure", "variance", "95 % interval", "ranks"]
    return pd.DataFrame(rows, columns=[*names, "95 % interval of ranks"])


#: The tables of a study's runs, by their titles.
TABLES: Final[dict[str, Callable[[pd.DataFrame], pd.DataFrame]]] = {
    "Accuracy at each point: means, ± half of the 95 % interval": points,
    f"AUC drop for each unit of PLS: of points up to {findings.LINEAR_UP_TO:g}, and by "
    "range": slopes,
    "AUC of policies at the same failures, and slopes by servers hit; equal is within "
    f"{EQUAL_WITHIN:g}": differences,
    "What predicts the AUC drop, 95 % by bootstrap of seeds; the form of change_lost was chosen on "
    "the planted samples": predictors,
}
