"""`cprsim train`, `validate` and `study`: real training, once, against predictions, often."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cprsim.cli import paths
from cprsim.cli.common import ProgressBar, echo, json_bytes, print_table, resumable
from cprsim.cli.options import (
    FORCE,
    JSON,
    OVERRIDES,
    POLICIES,
    TRAINED,
    argument,
    flag,
    option,
    options,
    output,
)
from cprsim.cli.output import OutputFolder

if TYPE_CHECKING:
    from cprsim.trainer.validation.predicted import Predicted
    from cprsim.trainer.validation.validated import Validated

_TRAINED = ("train.json", "scenario.toml", "manifest.json")
_PREDICTIONS, _RESULT = "predictions.json", "validate.json"
_PICTURE = "predicted-measured.png"
_VALIDATED = (_PREDICTIONS, _RESULT, "scenario.toml", "failures.csv", _PICTURE, "manifest.json")


def _ready() -> None:
    """Have torch imported in another process; raise `UsageError` where it is not installed."""
    from cprsim.trainer import check_torch

    check_torch()
    from cprsim.trainer.lab import forking

    forking.context()


@options(
    config=TRAINED,
    policy=option("The policy; the first one by default.", metavar="NAME"),
    seed=option("Of samples, model and failures.", kind=int, default=0),
    overrides=OVERRIDES,
    out=output(f"Folder for {_TRAINED[0]} and scenario.toml."),
    force=FORCE,
    as_json=JSON,
)
def train(asked: Any) -> None:
    """Train a scenario for real: its policy on processes that are really killed."""
    from cprsim.basics.manifest import versions, with_manifest
    from cprsim.runs.runner import check_whole

    _ready()
    from cprsim.trainer.config import opened
    from cprsim.trainer.training import train as train_for_real

    check_whole("seed", asked.seed, 0)
    with opened(asked.config, asked.overrides or ()) as (scenario, section):
        first = next(iter(scenario.policies))
        (name,) = scenario.select(first if asked.policy is None else asked.policy)
        folder = asked.folder(_TRAINED)
        with asked.progress("training", "steps") as progress:
            trained = train_for_real(scenario, section, name, asked.seed, progress.update)
    if folder is not None:
        result = json_bytes(trained.document())
        files = {_TRAINED[0]: result, "scenario.toml": scenario.to_toml().encode()}
        folder.write(with_manifest(files, {**versions(), "seed": trained.seed}))
    from cprsim.trainer.display import trained_table

    asked.print(trained, trained_table, lambda _: ())


@options(
    config=TRAINED,
    policy=POLICIES,
    seed=option("Of samples, model and failures.", kind=int, default=0),
    repeats=option(
        "How often each policy is trained; noise is known from 2 on.", kind=int, default=1
    ),
    overrides=OVERRIDES,
    out=output(f"Folder for {', '.join(_VALIDATED)}."),
    force=FORCE,
    as_json=JSON,
)
def validate(asked: Any) -> None:
    """Compare predicted with measured: calibrate, simulate, train for real with failures."""
    from cprsim.basics.manifest import versions, with_manifest
    from cprsim.runs.runner import check_whole

    _ready()
    from cprsim.trainer.config import opened
    from cprsim.trainer.validation.validated import validate as predict_and_train

    check_whole("seed", asked.seed, 0)
    check_whole("repeats", asked.repeats, 1)

    def write_down(predicted: "Predicted") -> None:
        """Before anything is trained; what came of earlier predictions goes."""
        if folder is not None:
            written = with_manifest({_PREDICTIONS: predicted.content()}, about)
            folder.write(dict.fromkeys(_VALIDATED) | written, silent=True)

    with opened(asked.config, asked.overrides or ()) as (scenario, section):
        folder = asked.folder(_VALIDATED)
        about = {**versions(), "seed": asked.seed}
        with asked.progress("training", "steps") as progress:
            how = (asked.seed, progress.update, asked.repeats, write_down)
            found = predict_and_train(scenario, section, asked.policy, *how)
    if folder is not None:
        _check(folder.folder / _PREDICTIONS, found.predicted)
        written = with_manifest(_files(found), about)
        del written[_PREDICTIONS]
        folder.write(written)
    from cprsim.trainer.display import validation_lines, validation_table

    asked.print(found, validation_table, validation_lines)


def _check(path: Path, predicted: "Predicted") -> None:
    """Raise `RunError` unless a file still is the one written before training."""
    from hashlib import sha256

    from cprsim.errors import RunError

    there = sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"
    if there != predicted.sha256:
        raise RunError(
            f"{path}: was changed since training began, so nothing is compared with it: its "
            f"SHA-256 is {there}, and was {predicted.sha256}; leave the folder alone meanwhile"
        )


def _files(found: "Validated") -> dict[str, bytes]:
    from cprsim.figures import save_bytes

    picture = {_PICTURE: save_bytes(found.figure(), "png")}
    result = {_PREDICTIONS: found.predicted.content(), _RESULT: json_bytes(found.document())}
    return {**result, **found.files(), **picture}


@options(
    config=argument("A scenario with blocks [trainer] and [study].", "CONFIG", paths.scenario_file),
    out=output("Folder of the results; a study there is continued.", required=True),
    force=FORCE,
    workers=option("Runs at a time; they change no digit.", kind=int, default=2),
    overrides=OVERRIDES,
    so_far=flag("Train nothing: show the runs that are done.", "--so-far"),
)
def study(asked: Any) -> None:
    """Measure what failures do to accuracy: many paired runs of the real trainer."""
    from cprsim.runs.runner import check_workers
    from cprsim.scenario.mapping import load_mapping
    from cprsim.trainer import check_torch

    check_torch()
    check_workers(asked.workers)
    from cprsim.studies import outputs
    from cprsim.studies.change import change_per_pls
    from cprsim.studies.design import notes, runs, study_section
    from cprsim.studies.display import lines, tables
    from cprsim.studies.findings import with_drops
    from cprsim.studies.play import play
    from cprsim.studies.store import RunStore
    from cprsim.trainer.config import ready
    from cprsim.trainer.lab.forking import check_sockets

    mapping = load_mapping(asked.config, asked.overrides or ())
    block = study_section(mapping.get("study"))
    with ready(mapping) as (scenario, section):
        planned = runs(scenario, section, block)
        folder = OutputFolder(asked.out, outputs.NAMES, force=asked.force)
        store = RunStore(asked.out / "runs")
        store.check(planned)
        if not asked.so_far:
            check_sockets()
        told = [] if asked.so_far else notes(planned)
        for note in (*told, *store.notes(planned, asked.so_far)):
            echo(f"cprsim: {note}", err=True)
        if not asked.so_far:
            with resumable(asked.out), ProgressBar("training", "runs", silent=False) as progress:
                play(planned, store, asked.workers, progress.update)
        done = store.done(planned)
        table = outputs.runs_table(done, change_per_pls(scenario, section))
        about = (scenario.title or asked.config.name, block.reading, outputs.made_with(done))
        folder.write(outputs.contents(table, len(planned), *about))
        found = with_drops(table, str(asked.out))
    for each in tables(found, block.reading):
        print_table(each)
    for line in lines(found):
        echo(line)
