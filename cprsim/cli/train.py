"""The command `cprsim train`."""

from pathlib import Path
from typing import TYPE_CHECKING

from cprsim.cli.common import ProgressBar, json_bytes, print_json, print_table, ready_to_train
from cprsim.cli.options import FORCE, JSON, OVERRIDES, TRAINED, option, options, output
from cprsim.cli.output import OutputFolder

if TYPE_CHECKING:
    from rich.table import Table

    from cprsim.trainer.training import Trained

_RESULT = "train.json"
_NAMES = (_RESULT, "scenario.toml", "manifest.json")


@options(
    config=TRAINED,
    policy=option("The policy; the first one by default.", metavar="NAME"),
    seed=option("Of samples, model and failures.", kind=int, default=0),
    overrides=OVERRIDES,
    out=output(f"Folder for {_RESULT} and scenario.toml."),
    force=FORCE,
    as_json=JSON,
)
def train(
    *,
    config: Path,
    policy: str | None,
    seed: int,
    overrides: list[str] | None,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Train a scenario for real: its policy on processes that are really killed."""
    from cprsim.runs.runner import check_whole

    ready_to_train()
    from cprsim.trainer.config import opened
    from cprsim.trainer.training import train as train_for_real

    check_whole("seed", seed, 0)
    with opened(config, overrides or ()) as (scenario, section):
        (name,) = scenario.select(policy if policy is not None else next(iter(scenario.policies)))
        folder = None if out is None else OutputFolder(out, _NAMES, force=force)
        with ProgressBar("training", "steps", silent=as_json) as progress:
            trained = train_for_real(scenario, section, name, seed, progress.update)
    if folder is not None:
        folder.write(_contents(trained, scenario.to_toml()), silent=as_json)
    if as_json:
        print_json(trained.document())
    else:
        print_table(_table(trained))


def _contents(trained: "Trained", scenario: str) -> dict[str, bytes]:
    from cprsim.basics.manifest import versions, with_manifest

    files = {_RESULT: json_bytes(trained.document()), "scenario.toml": scenario.encode()}
    return with_manifest(files, {**versions(), "seed": trained.seed})


def _table(trained: "Trained") -> "Table":
    from cprsim.basics.terminal import plain_table
    from cprsim.basics.units import counted, format_duration, percent

    steps = counted(trained.steps, "step")
    table = plain_table(f"{trained.policy}, seed {trained.seed}: {steps}")
    table.show_header = False
    table.add_column("what")
    table.add_column("value", justify="right")
    for cause, spent_s in trained.seconds.items():
        table.add_row(cause, format_duration(spent_s))
    table.add_section()
    table.add_row("failures", f"{trained.failures:,}")
    table.add_row("PLS %", percent(trained.pls))
    table.add_row("updates lost %", percent(trained.updates_lost))
    table.add_row("learning lost %", percent(trained.learning_lost))
    table.add_row("dense part lost %", percent(trained.dense_lost))
    table.add_row("AUC", f"{trained.auc:.5f}")
    table.add_row("log loss", f"{trained.log_loss:.5f}")
    return table
