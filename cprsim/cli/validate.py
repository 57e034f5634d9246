"""The command `cprsim validate`."""

from pathlib import Path
from typing import TYPE_CHECKING

from cprsim.cli.common import (
    ProgressBar,
    echo_wrapped,
    json_bytes,
    print_json,
    print_table,
    ready_to_train,
)
from cprsim.cli.options import FORCE, JSON, OVERRIDES, POLICIES, TRAINED, option, options, output
from cprsim.cli.output import OutputFolder

if TYPE_CHECKING:
    from rich.table import Table

    from cprsim.trainer.validation.compared import Compared
    from cprsim.trainer.validation.predicted import Predicted
    from cprsim.trainer.validation.validated import Validated

_PREDICTIONS, _RESULT = "predictions.json", "validate.json"
_PICTURE = "predicted-measured.png"
_FILES = (_PREDICTIONS, _RESULT, "scenario.toml", "failures.csv", _PICTURE, "manifest.json")


@options(
    config=TRAINED,
    policy=POLICIES,
    seed=option("Of samples, model and failures.", kind=int, default=0),
    repeats=option(
        "How often each policy is trained; noise is told from 2 on.", kind=int, default=1
    ),
    overrides=OVERRIDES,
    out=output(f"Folder for {', '.join(_FILES)}."),
    force=FORCE,
    as_json=JSON,
)
def validate(
    *,
    config: Path,
    policy: list[str] | None,
    seed: int,
    repeats: int,
    overrides: list[str] | None,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Predicted beside measured: calibrate, simulate, and train for real, failures and all."""
    from cprsim.basics.manifest import versions, with_manifest
    from cprsim.runs.runner import check_whole

    ready_to_train()
    from cprsim.trainer.config import opened
    from cprsim.trainer.validation.validated import validate as predict_and_train

    check_whole("seed", seed, 0)
    check_whole("repeats", repeats, 1)

    def write_down(predicted: "Predicted") -> None:
        """Before anything is trained; what came of earlier predictions goes."""
        if folder is not None:
            written = with_manifest({_PREDICTIONS: predicted.content()}, about)
            folder.write(dict.fromkeys(_FILES) | written, silent=True)

    with opened(config, overrides or ()) as (scenario, section):
        folder = None if out is None else OutputFolder(out, _FILES, force=force)
        about = {**versions(), "seed": seed}
        with ProgressBar("training", "steps", silent=as_json) as progress:
            found = predict_and_train(
                scenario, section, policy, seed, progress.update, repeats, write_down
            )
    if folder is not None:
        _check(folder.folder / _PREDICTIONS, found.predicted)
        files = {_PREDICTIONS: found.predicted.content(), **_contents(found)}
        written = with_manifest(files, about)
        del written[_PREDICTIONS]
        folder.write(written, silent=as_json)
    if as_json:
        print_json(found.document())
    else:
        _show(found)


def _check(path: Path, predicted: "Predicted") -> None:
    """Raise `RunError` unless a file still is what was written down before training."""
    from hashlib import sha256

    from cprsim.errors import RunError

    there = sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"
    if there != predicted.sha256:
        raise RunError(
            f"{path}: was changed since training began, so nothing is compared with it: its "
            f"SHA-256 is {there}, and was {predicted.sha256}; leave the folder alone meanwhile"
        )


def _contents(found: "Validated") -> dict[str, bytes]:
    from cprsim.figures import save_bytes

    picture = {_PICTURE: save_bytes(found.figure(), "png")}
    return {_RESULT: json_bytes(found.document()), **found.files(), **picture}


def _show(found: "Validated") -> None:
    from cprsim.basics.terminal import plain_table
    from cprsim.basics.units import format_duration

    predicted, load = found.predicted, found.load
    again = max(len(each.runs) for each in found.compared) > 1
    table = plain_table(f"{predicted.scenario.title}, seed {predicted.seed}")
    for heading in ("policy", "", "predicted", "measured", "distance", "%", *["noise"] * again):
        table.add_column(heading, justify="left" if heading in ("policy", "") else "right")
    for compared in found.compared:
        _add(table, compared, again)
    print_table(table)
    for name, verdict in found.verdicts().items():
        echo_wrapped(f"{name}: {verdict}")
    for each in found.compared:
        if each.silent:
            members = "member was" if each.silent == 1 else "members were"
            echo_wrapped(
                f"{each.policy}: {each.silent:,} {members} silent for too long, and replaced"
            )
    if found.left_out:
        echo_wrapped(f"Left out, for they can't be predicted yet: {', '.join(found.left_out)}")
    for name, calibration in predicted.calibrations.items():
        told = calibration.told().items()
        costs = (f"{what} {format_duration(took_s)}" for what, took_s in told)
        echo_wrapped(f"Calibrated for {name}: {', '.join(costs)}")
    echo_wrapped(
        f"Load {load.before:.1f} before, {load.during:.1f} at most meanwhile, on {load.cores} "
        f"cores. Predictions, made before training: SHA-256 {predicted.sha256}"
    )


def _add(table: "Table", compared: "Compared", again: bool) -> None:
    """The rows of one policy: seconds by cause, then counts."""
    from cprsim.basics.units import format_duration

    name = compared.policy
    for row in compared.seconds():
        times = [format_duration(each) for each in (row.predicted, row.measured, row.off)]
        times[2] = f"{'+' * (row.off > 0)}{times[2]}"
        noise = [format_duration(row.noise)] * again
        table.add_row(name, row.label, *times, row.percent(), *noise)
        name = ""
    for row in compared.counts():
        told = f"{row.off:+.2g}" if row.off else "0"
        cells = (f"{row.predicted:.5g}", f"{row.measured:.5g}", told, row.percent(1))
        noise = [f"{row.noise:.2g}" if row.noise else "0"] * again
        table.add_row("", row.label, *cells, *noise)
    table.add_section()
