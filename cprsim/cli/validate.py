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
    echo_wrapped,
    json_bytes,
    print_json,
    print_table,
    ready_to_train,
    write,
)

if TYPE_CHECKING:
    from rich.table import Table

    from cprsim.trainer.validation.predicted import Compared, Validated

_RESULT = "validate.json"
#: Of shares: what is beyond is rounding.
_DIGITS = 12
#: What has another name for people.
_WHAT = {"pls": "PLS"}
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
        write(out, _contents(found), silent=as_json)
    if as_json:
        print_json(found.document())
    else:
        _show(found)


def _contents(found: "Validated") -> dict[str, bytes]:
    from cprsim.figures import save_bytes

    picture = {_PICTURE: save_bytes(found.figure(), "png")}
    return {_RESULT: json_bytes(found.document()), **found.files(), **picture}


def _show(found: "Validated") -> None:
    from cprsim.basics.units import format_duration
    from cprsim.report.terminal import plain_table

    table = plain_table(f"{found.scenario.title}, seed {found.seed}")
    for heading in ("policy", "", "predicted", "measured", "distance", "%"):
        table.add_column(heading, justify="left" if heading in ("policy", "") else "right")
    for compared in found.compared:
        _add(table, compared)
    print_table(table)
    for each in found.compared:
        if each.silent:
            members = "member was" if each.silent == 1 else "members were"
            echo_wrapped(
                f"{each.policy}: {each.silent:,} {members} silent for too long, and replaced"
            )
    if found.left_out:
        echo_wrapped(f"Left out, for they can't be predicted yet: {', '.join(found.left_out)}")
    costs = (
        f"{name.removesuffix('_s').replace('_', ' ')} {format_duration(value_s)}"
        for name, value_s in vars(found.calibration).items()
    )
    echo_wrapped(f"Calibrated: {', '.join(costs)} (gather: a million rows)")


def _add(table: "Table", compared: "Compared") -> None:
    """The rows of one policy: seconds by cause, then counts."""
    from cprsim.basics.units import format_duration

    name = compared.policy
    for cause, predicted, measured in compared.seconds():
        off_s = predicted - measured
        times = [format_duration(each) for each in (predicted, measured, off_s)]
        times[2] = f"{'+' * (off_s > 0)}{times[2]}"
        cells = (*times, _off(off_s, measured, 0))
        table.add_row(name, cause, *cells)
        name = ""
    for what, (predicted, measured) in compared.counts().items():
        off = round(predicted - measured, _DIGITS)
        told = f"{off:+.2g}" if off else "0"
        cells = (f"{predicted:.5g}", f"{measured:.5g}", told, _off(off, measured, 1))
        table.add_row("", _WHAT.get(what, what.replace("_", " ")), *cells)
    table.add_section()


def _off(distance: float, measured: float, digits: int) -> str:
    """A distance in percent of what was measured; nothing of nothing."""
    if not measured:
        return ""
    share = round(100 * distance / measured, digits)
    return f"{share:+,.{digits}f}" if share else "0"
