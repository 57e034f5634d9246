"""Tables of real training for a terminal: of one run, and of predictions beside it."""

from collections.abc import Iterator

from rich.table import Table

from cprsim.basics.terminal import plain_table
from cprsim.basics.units import counted, format_duration, percent
from cprsim.trainer.training import Trained
from cprsim.trainer.validation.compared import Compared
from cprsim.trainer.validation.validated import Validated


def trained_table(trained: Trained) -> Table:
    """Seconds by cause, what was lost, and how good the model is."""
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


def validation_table(found: Validated) -> Table:
    """Predicted and measured, cause by cause, a block a policy."""
    predicted = found.predicted
    again = max(len(each.runs) for each in found.compared) > 1
    table = plain_table(f"{predicted.scenario.title}, seed {predicted.seed}")
    for heading in ("policy", "", "predicted", "measured", "distance", "%", *["noise"] * again):
        table.add_column(heading, justify="left" if heading in ("policy", "") else "right")
    for compared in found.compared:
        _add(table, compared, again)
    return table


def validation_lines(found: Validated) -> Iterator[str]:
    """Yield what is said below the table."""
    for name, verdict in found.verdicts().items():
        yield f"{name}: {verdict}"
    for each in found.compared:
        if each.silent:
            members = "member was" if each.silent == 1 else "members were"
            yield f"{each.policy}: {each.silent:,} {members} silent for too long, and replaced"
    if found.left_out:
        yield f"Left out, for they can't be predicted yet: {', '.join(found.left_out)}"
    predicted, load = found.predicted, found.load
    for name, calibration in predicted.calibrations.items():
        told = calibration.told().items()
        costs = (f"{what} {format_duration(took_s)}" for what, took_s in told)
        yield f"Calibrated for {name}: {', '.join(costs)}"
    yield (
        f"Load {load.before:.1f} before, {load.during:.1f} at most meanwhile, on {load.cores} "
        f"cores. Predictions, made before training: SHA-256 {predicted.sha256}"
    )


def _add(table: Table, compared: Compared, again: bool) -> None:
    """Add the rows of one policy: seconds by cause, then counts."""
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
