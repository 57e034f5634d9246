"""Write docs/accuracy.md from studies, and keep their runs and slopes in scenarios/.

Run `python -m tools.pages.accuracy NAME FOLDER` with the name of the data and the folder of
`cprsim study`, or `make study DATA=NAME`. The tables follow from the runs that are kept,
scenarios/train-NAME.csv; a test holds the page to them.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cprsim.basics.files import write_all
from cprsim.figures import save_bytes
from cprsim.report.gallery.registry import picture
from cprsim.trainer.studies import findings, outputs
from cprsim.trainer.studies.paired import EQUAL_WITHIN, enough
from tools.pages.accuracy_compared import Study, best, section
from tools.pages.accuracy_sources import PLANTED, SOURCES, Source
from tools.paths import DOCS, FIGURES
from tools.tables import csv_text
from tools.validation.learning import section as learning

PAGE = DOCS / "accuracy.md"
#: This program writes all that follows this line in a scenario.
MARK = "# What the study found; `cprsim run` takes it from here.\n"
_PICTURES = ("pls-accuracy", "policy-accuracy")

_PAGE = """\
# What failures do to accuracy

`cprsim study` measures how much accuracy partial recovery loses: it trains a scenario many times
over, on parameter servers that are really killed.

- `make study`: [300,000 samples](../scenarios/train-study.toml) of a planted teacher. Rows are as
  popular as in production, and the model sees each sample once.
- `make study DATA=movielens`: [ratings by people](../scenarios/train-movielens.toml),
  MovieLens-100K, from the package recbole; its licence forbids passing the ratings on.
- `make study DATA=criteo FROM=train.txt.gz`:
  [any file in Criteo's form](../scenarios/train-criteo.toml);
  `ARGS="--set job.samples=40_000 --set trainer.test_samples=10_000"` says how many lines it takes.
  This was tested on a small made-up file only.

The first two take less than an hour each on two cores; run the same command again to resume.
Another model on other data has another slope: measure yours with your own samples (`data` in
[trainer.md](trainer.md)). The runs below were trained before servers ran the hooks, when failures
struck before the saves of their step.

Runs are compared seed by seed: a seed decides the samples, the initial weights, and at which steps
which servers fail. The drop of a run is the AUC of its seed without failures, less its own. All
tables are CSV files: [points](accuracy-points.csv), [slopes by range of PLS](accuracy-slopes.csv),
[differences](accuracy-differences.csv), [predictors of the drop](accuracy-predictors.csv).

{compared}
## Accuracy against lost samples

{pls}
Lines go through the origin and are fitted to points with a PLS of up to {up_to:g}; ± is half of the
95 % interval (Student's t). Where a line bends, no single slope is right, so slopes are fitted by
range as well. {bends} ({enough_bends}).

## Policies at the same failures

{policies}
p is of the exact sign-flip test over seeds, adjusted by Holm's method for the pairs compared
({enough_policies}). Policies are called equal where two one-sided t-tests (TOST) show that they
differ by less than {within:g} of AUC, and *undecided* where neither is shown. {full}

How many servers fail at once must not matter for PLS to predict accuracy: {servers}.

## Predictors of the drop

`updates_lost` is counted row by row; `change_lost` is PLS times the share of all movement of rows
that a unit of it loses, by the row model of `cprsim rows` under Adagrad. Its form was chosen with
the planted runs, so only MovieLens-100K tests it. Measures are compared by the share of the
variance that one line through the origin explains, and by Spearman's correlation of ranks; the best
is better than every other in 97.5 % of bootstrap samples over the seeds. Four policies are few.

{best}
## What lost learning is worth

{learning}

## In `cprsim run`

A scenario with these slopes has a `predicted_auc_drop` for each policy, in the table, the report
and the JSON of `run`: the slope of its system times the mean of PLS or of the learning lost
([semantics.md](semantics.md), 24), whichever is larger. A slope per learning lost
(`auc_drop_per_learning_lost`, `learning_lost_up_to`) applies to that only. The interval includes
both uncertainties, to first order. Nothing is predicted beyond `pls_up_to`, nor for a system
without a slope. `cprsim study` writes the block into `accuracy.toml`, ready to paste. That of the
planted samples (scenarios/train-movielens.toml has that of MovieLens-100K):

```toml
{block}```

## Versions

{made}
"""
#: CSV files of the page, each with what makes its table of runs; the first column names the data.
_TABLES = {
    DOCS / "accuracy-points.csv": outputs.points,
    DOCS / "accuracy-slopes.csv": outputs.slopes,
    DOCS / "accuracy-differences.csv": outputs.differences,
    DOCS / "accuracy-predictors.csv": outputs.predictors,
}


def page() -> str:
    """Return the whole page of the runs that are kept."""
    runs, about = PLANTED.read(), PLANTED.about()
    studies = [Study(each.label, each.read()) for each in SOURCES.values()]
    count = runs["seed"].nunique()
    seeds = {what: f"of {enough(what, *rest, count)}" for what, *rest in findings.comparisons(runs)}
    return _PAGE.format(
        compared=section(*studies),
        up_to=findings.LINEAR_UP_TO,
        within=EQUAL_WITHIN,
        pls=_pictures(_PICTURES[0]),
        policies=_pictures(_PICTURES[1]),
        bends=_bends(studies),
        enough_bends=seeds["bends of lines, at most"],
        enough_policies=seeds["differences between policies"],
        full=_full(studies),
        servers=_servers(studies),
        best=best(studies),
        learning=learning.section().strip(),
        block=block(PLANTED),
        made=_made(about, studies),
    )


def block(source: Source) -> str:
    """Return the block of a scenario with the slopes of a study."""
    return outputs.accuracy_block(findings.slopes(source.read()), source.about()["source"])


def beside_page() -> dict[str, str]:
    """Return the text of each CSV file of the page, by its name."""
    texts = {}
    for path, made in _TABLES.items():
        tables = [(source.label, made(source.read())) for source in SOURCES.values()]
        lines = [("data", *tables[0][1].columns)]
        for label, table in tables:
            lines += [(label, *map(str, row)) for row in table.itertuples(index=False)]
        texts[path.name] = csv_text(lines)
    return {**texts, learning.COSTS.name: csv_text(learning.costs())}


def _pictures(name: str) -> str:
    return "".join(
        f"![{source.label}](figures/{source.picture(name)})\n" for source in SOURCES.values()
    )


def _bends(studies: Sequence[Study]) -> str:
    """Return which lines are shown to bend, in a sentence."""
    said = []
    for study in studies:
        found = findings.bends(study.runs)
        bent = [f"`{system}`" for system, bend in found.items() if bend.applies.startswith("that")]
        said.append(f"on {study.label} {', '.join(bent) or 'none'} of {len(found)}")
    return f"Lines that are shown to bend: {'; '.join(said)}"


def _servers(studies: Sequence[Study]) -> str:
    """Return what is shown of the slopes by servers hit."""
    said = []
    for study in studies:
        found = findings.share_differences(study.runs)
        counts = Counter(each.verdict for each in found)
        listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        said.append(f"{listed} of {len(found)} differences of slopes on {study.label}")
    return "; ".join(said)


def _full(studies: Sequence[Study]) -> str:
    """Return how full recovery compares with no failures, hash by hash."""
    same = total = 0
    for study in studies:
        runs = study.runs
        hashes = runs[runs["failures"] == 0].set_index("seed")["predictions_sha256"]
        full = runs[runs["system"] == "full"]
        same += int((full["seed"].map(hashes) == full["predictions_sha256"]).sum())
        total += len(full)
    return (
        f"In {same} of {total} runs predictions under full recovery are those without failures,\n"
        "bit for bit."
    )


def _made(about: dict[str, Any], studies: Sequence[Study]) -> str:
    runs = ", ".join(
        f"{study.runs['seed'].nunique()} seeds, {len(study.runs)} runs on {study.label}"
        for study in studies
    )
    return "\n".join(f"- {line}" for line in (f"{runs}.", *map(_versions, about["made_with"])))


def _versions(made_with: dict[str, Any]) -> str:
    known = {
        "cprsim": made_with["cprsim"],
        "Python": made_with["python"],
        "torch": made_with["torch"],
        "numpy": made_with["libraries"]["numpy"],
    }
    return ", ".join(f"{name} {version}" for name, version in known.items()) + "."


def write(source: Source, folder: Path) -> None:
    """Keep what is in the folder of a study, and make of it the pages and their pictures."""
    text = source.scenario.read_text(encoding="utf-8").partition(MARK)[0].rstrip("\n")
    block = (folder / "accuracy.toml").read_text(encoding="utf-8")
    kept = {
        source.runs.name: (folder / "runs.csv").read_bytes(),
        source.runs.with_suffix(".json").name: (folder / "manifest.json").read_bytes(),
        source.scenario.name: f"{text}\n\n{MARK}{block}".encode(),
    }
    write_all(source.runs.parent, kept)
    drawn = {
        source.picture(name): save_bytes(picture(name).figure(source.runs), "svg")
        for name in _PICTURES
    }
    write_all(FIGURES, drawn)
    texts = {PAGE.name: page(), **beside_page()}
    write_all(DOCS, {name: text.encode() for name, text in texts.items()})


if __name__ == "__main__":
    write(SOURCES[sys.argv[1]], Path(sys.argv[2]))
