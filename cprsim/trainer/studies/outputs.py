"""The files of a study: its table of runs, and a block `[accuracy]` for scenarios."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from cprsim.basics.manifest import with_manifest
from cprsim.basics.spreadsheet import csv_bytes
from cprsim.trainer.studies.findings import slopes, with_drops
from cprsim.trainer.studies.slope import Slope

#: Files of `cprsim study --out`, next to the folder of runs.
NAMES: Final = ("runs.csv", "accuracy.toml", "manifest.json")
_COLUMNS: Final = [
    "seed",
    "policy",
    "system",
    "failures",
    "servers_hit",
    "servers",
    "auc",
    "log_loss",
    "pls",
    "updates_lost",
    "learning_lost",
    "predictions_sha256",
]
_HASH_DIGITS: Final = 16  # of a hash, in the table: enough to see that two are the same


def runs_table(done: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """A row a run that is done: what it was, and what came out."""
    table = pd.DataFrame(done, columns=_COLUMNS)
    return table.assign(predictions_sha256=table["predictions_sha256"].str[:_HASH_DIGITS])


def contents(
    table: pd.DataFrame,
    planned: int,
    source: str,
    made_with: Sequence[Mapping[str, Any]],
) -> dict[str, bytes]:
    """Name and bytes of each of `NAMES`; `source` says what data the slopes come from."""
    runs = with_drops(table, "the study")
    about = {
        "source": source,
        "runs": len(table),
        "planned": planned,
        "made_with": made_with,
    }
    files = {
        "runs.csv": csv_bytes(table),
        "accuracy.toml": accuracy_block(slopes(runs), source).encode(),
    }
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


def made_with(done: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Versions that runs were made with; one entry, unless a study went on after a change."""
    found = []
    for document in done:
        versions = {name: each for name, each in document["versions"].items() if name != "git"}
        if versions not in found:
            found.append(versions)
    return found
