"""The command `cprsim validate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cprsim.cli.common import (
    Json,
    Overrides,
    Policies,
    ProgressBar,
    TrainedFile,
    echo,
    json_bytes,
    print_json,
    print_table,
    ready_to_train,
)

if TYPE_CHECKING:
    from rich.table import Table

    from cprsim.trainer.validation.predicted import Compared, Validated

_RESULT = "validate.json"
#: Of shares: what is beyond is rounding.
_DIGITS = 12
_PICTURE = "predicted-measured.png"
_FILES = (_RESULT, "scenario.toml", "failures.csv", _PICTURE)


def validate(
    config: TrainedFile,
    policy: Policies = None,
    seed: Annotated[int, typer.Option(help="Of samples, model and failures.")] = 0,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(help=f"Folder for {', '.join(_FILES)}.")] = None,
    as_json: Json = False,
) -> None:
    """Predicted beside measured: calibrate, simulate, and train for real, failures and all."""
    from cprsim.basics import files
    from cprsim.runs.runner import check_whole

    ready_to_train()
    from cprsim.trainer.config import opened
    from cprsim.trainer.validation.predicted import validate as predict_and_train

    check_whole("seed", seed, 0)
    with opened(config, overrides or ()) as (scenario, section):
        if out is not None:
            files.check_writable(out, _FILES)
        with ProgressBar("training", "steps", silent=as_json) as progress:
            found = predict_and_train(scenario, section, policy, seed, progress.update)
    if out is not None:
        files.write_all(out, _contents(found))
    if as_json:
        print_json(found.document())
    else:
        _show(found)


def _contents(found: "Validated") -> dict[str, bytes]:
    from cprsim.figures import save_bytes

    picture = {_PICTURE: save_bytes(found.figure(), "png")}
    return {_RESULT: json_bytes(found.document()), **found.files(), **picture}


def _show(found: "Validated") -> None:
    from rich import box
    from rich.table import Table

    table = Table(title=f"{found.scenario.title}, seed {found.seed}", box=box.SIMPLE_HEAD)
    for heading in ("policy", "", "predicted", "measured", "distance", "%"):
        table.add_column(heading, justify="left" if heading in ("policy", "") else "right")
    for compared in found.compared:
        _add(table, compared)
    print_table(table)
    for each in found.compared:
        if each.silent:
            echo(f"{each.policy}: {each.silent} members were silent for too long, and replaced")
    if found.left_out:
        echo(f"Left out, for they can't be predicted yet: {', '.join(found.left_out)}")
    costs = (
        f"{name.removesuffix('_s')} {value_s * 1e3:.2f} ms"
        for name, value_s in vars(found.calibration).items()
    )
    echo(f"Calibrated: {', '.join(costs)} (gather: a million rows)")


def _add(table: "Table", compared: "Compared") -> None:
    """The rows of one policy: seconds by cause, then counts."""
    name = compared.policy
    for cause, predicted, measured in compared.seconds():
        off_s = predicted - measured
        share = f"{100 * off_s / measured:+.0f}" if measured else ""
        cells = (f"{predicted:.3f} s", f"{measured:.3f} s", f"{off_s * 1e3:+,.0f} ms", share)
        table.add_row(name, cause, *cells)
        name = ""
    for what, (predicted, measured) in compared.counts().items():
        off = round(predicted - measured, _DIGITS)
        share = f"{100 * off / measured:+.1f}" if measured else ""
        cells = (f"{predicted:.5g}", f"{measured:.5g}", f"{off:+.2g}", share)
        table.add_row("", what, *cells)
    table.add_section()
