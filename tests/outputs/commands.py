"""Commands that write, with what they write and read."""

from collections.abc import Sequence
from pathlib import Path

from cprsim.cli import cluster, replay, trained
from cprsim.report import answer_page
from cprsim.report import outputs as run_outputs
from cprsim.trainer.studies import outputs as study_outputs

#: Commands that write into a folder, and the names of the files that they write there.
FOLDERS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "run": (["run", "job.toml", "--replications", "2"], run_outputs.NAMES),
    "advise": (["advise", "job.toml", "--system", "full"], answer_page.NAMES),
    "train": (["train", "train-quick"], trained._TRAINED),
    "validate": (["validate", "train-quick"], trained._VALIDATED),
    "study": (["study", "study.toml"], study_outputs.NAMES),
    "replay": (["replay", "events.log"], replay.NAMES),
    "cluster": (["cluster", "cluster.toml"], cluster.NAMES),
}
#: Commands that write a file: the option, names for it, and what to call its format.
PICTURES = {"x.png": "PNG picture", "x.svg": "SVG picture", "x.PDF": "PDF picture"}
FILES: dict[str, tuple[list[str], dict[str, str]]] = {
    "timeline": (
        ["timeline", "job.toml", "--policy", "full", "--out"],
        PICTURES | {"x.json.gz": "trace", "x.prom": "file of metrics"},
    ),
    "figure": (["figure", "ecrm-recovery", "--out"], PICTURES),
    "fit": (["fit", "log.csv", "--plot"], {"x.png": "PNG picture"}),
    "rows": (["rows", "criteo-kaggle", "--policy", "cpr-mfu", "--plot"], {"x.png": "PNG picture"}),
    "map": (["sweep", "sweep", "--map"], {"x.png": "PNG picture"}),
    "csv": (
        ["export", "sweep", "--format", "csv", "--out"],
        {"t.csv": "CSV table", "t": "CSV table"},
    ),
    "parquet": (
        ["export", "sweep", "--format", "parquet", "--out"],
        {"t.parquet": "Parquet table"},
    ),
    "prometheus": (["export", "run", "--format", "prometheus", "--out"], {"m": "file of metrics"}),
    "opentelemetry": (
        ["export", "run", "--format", "opentelemetry", "--out"],
        {"m.json": "file of metrics"},
    ),
}  # fmt: skip
MINE = b"# my own\n"
#: Of a job: two starts, each with saves.
EVENTS = [
    {"event_type": kind, "timestamp": 1_700_000_000 + at_s, "step": step}
    for at_s, kind, step in (
        *((0, "job_started", 0), (60, "checkpoint_loaded", 0), (160, "checkpoint_saved", 50)),
        *((260, "checkpoint_saved", 100), (300, "job_failed", 100), (400, "job_started", 100)),
        *((460, "checkpoint_loaded", 100), (560, "checkpoint_saved", 150)),
        *((660, "checkpoint_saved", 200), (670, "job_ended", 200)),
    )
]
#: Of the job of `GOOD`.
CLUSTER = '[cluster]\nnodes = 99\n[[jobs]]\nname = "a"\nscenario = "job.toml"\npolicy = "full"\n'


def contents(folder: Path) -> dict[str, bytes | str]:
    """Return all files and links below a folder; a link as where it leads."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    return {
        name: str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for name, path in found.items()
        if path.is_symlink() or path.is_file()
    }
