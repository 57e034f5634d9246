"""Tables of real training for a terminal: of one run, and of runs compared with predictions."""

from collections.abc import Iterator

from rich.table import Table

from cprsim.basics.terminal import Fitting, plain_table
from cprsim.basics.units import counted, format_duration, percent
from cprsim.contract.ledger import CAUSE_LABELS, told_causes
from cprsim.trainer.training import Trained
from cprsim.trainer.validation.validated import Validation

#: Results of a run other than its seconds: headings, and fields of `Trained`, shares in percent.
_SHARES = {
    "samples lost (PLS), %": "pls",
    "updates lost, %": "updates_lost",
    "learning lost, %": "learning_lost",
    "dense updates lost, %": "dense_lost",
}


def trained_table(trained: Trained) -> Table:
    """Seconds by cause, what was lost, and how good the model is."""
    seconds = trained.seconds
    shown = ("train", *told_causes(lambda cause: seconds[cause]))
    words = {"train": "training"} | CAUSE_LABELS
    rows = {words[cause]: format_duration(seconds[cause]) for cause in shown}
    rows["failures"] = f"{trained.failures:,}"
    rows |= {heading: percent(getattr(trained, name)) for heading, name in _SHARES.items()}
    rows |= {"AUC": f"{trained.auc:.5f}", "log loss": f"{trained.log_loss:.5f}"}
    title = f"Trained with {trained.policy}, seed {trained.seed}: {counted(trained.steps, 'step')}"
    return plain_table(title, [("", [*rows]), ("measured", [*rows.values()])])


def validation_table(found: Validation) -> Fitting:
    """Predicted and measured, cause by cause and count by count, a block a policy.

    The noise of repeats has a column where there are any.
    """
    headings = ["policy", "", "predicted", "measured", "off by", "%", "noise"]
    rows = []
    for compared in found.compared:
        names = [compared.policy]
        for row in compared.seconds():
            cells = (format_duration(row.predicted), format_duration(row.measured), row.signed)
            name = names.pop() if names else ""
            rows.append((name, row.label, *cells, row.percent(), format_duration(row.noise)))
        for row in compared.counts():
            cells = (f"{row.predicted:.5g}", f"{row.measured:.5g}", f"{row.off:+.2g}")
            rows.append(("", row.label, *cells, row.percent(1), f"{row.noise:.2g}"))
    columns = [*zip(headings, zip(*rows, strict=True), strict=True)]
    if not any(row.noise for compared in found.compared for row in compared.seconds()):
        columns.pop()
    title = f"{found.predicted.scenario.title}, seed {found.predicted.seed}"
    return Fitting(plain_table(title, columns, names=2, close=True), kept=2)


def validation_lines(found: Validation) -> Iterator[str]:
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
        costs = [
            f"{what.removesuffix('_s').replace('_', ' ')} {format_duration(took_s)}"
            for what, took_s in vars(calibration).items()
            if what != "rows" and took_s
        ]
        yield f"Calibrated for {name}: {', '.join(costs)}"
    yield (
        f"Load {load.before:.1f} before, {load.during:.1f} at most meanwhile, on {load.cores} "
        f"cores. Predictions, made before training: SHA-256 {predicted.sha256}"
    )
