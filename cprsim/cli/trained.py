"""`cprsim train`, `validate` and `study`: real training, once, against predictions, often."""

from textwrap import fill
from typing import TYPE_CHECKING, Any

from cprsim.cli import options as opt
from cprsim.cli import paths
from cprsim.cli.common import (
    ProgressBar,
    echo,
    echo_wrapped,
    print_table,
    resumable,
)
from cprsim.cli.output import OutputFolder

if TYPE_CHECKING:
    from cprsim.basics.terminal import Fitting
    from cprsim.trainer.validation.predicted import Predicted

_TRAINED = ("train.json", "scenario.toml", "manifest.json")
_PREDICTIONS, _RESULT = "predictions.json", "validate.json"
_VALIDATED = (_PREDICTIONS, _RESULT, "manifest.json")
#: Letters beyond which the words of a table are in several lines.
_LONG = 19


def _ready() -> None:
    """Have torch imported in another process; raise `UsageError` where it is not installed."""
    from cprsim.trainer import check_torch

    check_torch()
    from cprsim.trainer.lab import forking

    forking.context()


@opt.options(
    config=opt.TRAINED,
    policy=opt.option("The policy; the first one by default.", metavar="NAME"),
    seed=opt.option("Of samples, model and failures.", kind=int, default=0),
    overrides=opt.OVERRIDES,
    out=opt.output(f"Folder for {_TRAINED[0]} and scenario.toml."),
    force=opt.FORCE,
    as_json=opt.JSON,
)
def train(asked: Any) -> None:
    """Train a scenario for real: its policy on processes that are really killed."""
    from cprsim.basics.manifest import json_bytes, versions, with_manifest
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


@opt.options(
    config=opt.TRAINED,
    policy=opt.POLICIES,
    seed=opt.option("Of samples, model and failures.", kind=int, default=0),
    repeats=opt.option(
        "How often each policy is trained; noise is known from 2 on.", kind=int, default=1
    ),
    overrides=opt.OVERRIDES,
    out=opt.output(f"Folder for {', '.join(_VALIDATED)}."),
    force=opt.FORCE,
    as_json=opt.JSON,
)
def validate(asked: Any) -> None:
    """Compare predicted with measured: calibrate, simulate, train for real with failures."""
    from cprsim.basics.manifest import json_bytes, versions, with_manifest
    from cprsim.runs.runner import check_whole

    _ready()
    from cprsim.trainer.config import opened
    from cprsim.trainer.validation.validated import Validation

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
            how = (asked.policy, asked.seed, progress.update, asked.repeats)
            found = Validation(scenario, section, *how)
            found.run(write_down)
    if folder is not None:
        files = {_PREDICTIONS: found.predicted.content(), _RESULT: json_bytes(found.document())}
        written = with_manifest(files, about)
        del written[_PREDICTIONS]  # which is there
        folder.write(written)
    from cprsim.trainer.display import validation_lines, validation_table

    asked.print(found, validation_table, validation_lines)


@opt.options(
    config=opt.argument(
        "A scenario with blocks [trainer] and [study].", "CONFIG", paths.scenario_file
    ),
    out=opt.output("Folder of the results; a study there is continued.", required=True),
    force=opt.FORCE,
    workers=opt.option("Runs at a time; they change no digit.", kind=int, default=2),
    overrides=opt.OVERRIDES,
    so_far=opt.flag("Train nothing: show the runs that are done.", "--so-far"),
)
def study(asked: Any) -> None:
    """Measure what failures do to accuracy: many paired runs of the real trainer."""
    from cprsim.runs.runner import check_workers
    from cprsim.scenario.mapping import load_mapping
    from cprsim.trainer import check_torch

    check_torch()
    check_workers(asked.workers)
    from cprsim.trainer.config import ready
    from cprsim.trainer.lab.forking import check_sockets
    from cprsim.trainer.studies import outputs
    from cprsim.trainer.studies.design import notes, runs, study_section
    from cprsim.trainer.studies.findings import contests, with_drops
    from cprsim.trainer.studies.play import RunStore, play

    mapping = load_mapping(asked.config, asked.overrides or ())
    block = study_section(mapping.get("study"))
    with ready(mapping) as (scenario, section):
        planned = runs(scenario, section, block)
        folder = OutputFolder(asked.out, outputs.NAMES, force=asked.force)
        store = RunStore(asked.out / "runs")
        store.check(planned)
        if not asked.so_far:
            check_sockets()
        if not asked.so_far:
            for note in notes(planned):
                echo(f"cprsim: {note}", err=True)
            with resumable(asked.out), ProgressBar("training", "runs", silent=False) as progress:
                play(planned, store, asked.workers, progress.update)
        done = store.done(planned)
        title = scenario.title or asked.config.name
        folder.write(outputs.contents(done, len(planned), title))
    found = with_drops(outputs.runs_table(done), str(asked.out))
    for title, made in outputs.TABLES.items():
        if len(table := made(found)):
            print_table(_narrow(title, table.to_dict("list")))
    for name, contest in contests(found).items():
        echo_wrapped(f"AUC drop over {name}: {contest.best}.")


def _narrow(title: str, columns: dict[Any, list[Any]]) -> "Fitting":
    """Return a table for 80 columns; each part of it has the first three of its columns."""
    from cprsim.basics.terminal import Fitting, plain_table

    texts = {heading: [*map(str, cells)] for heading, cells in columns.items()}
    pairs = [(fill(each, 8, break_long_words=False), cells) for each, cells in texts.items()]
    table = plain_table(title, pairs, close=True)
    for column, cells in zip(table.columns, texts.values(), strict=True):
        if any(cell[:1].isalpha() for cell in cells):
            column.justify = "left"
        if max(map(len, cells)) > _LONG:
            column.min_width = _LONG
    return Fitting(table, kept=3)
