"""Write docs/accuracy.md and its like from studies, and keep their runs and slopes in scenarios/.

Run `python -m tools.pages.accuracy NAME FOLDER` with the name of the data and the folder of
`cprsim study`, or `make study DATA=NAME`. The tables follow from the runs that are kept,
scenarios/train-NAME.csv; a test holds the pages to them.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from cprsim.basics.files import write_all
from cprsim.figures import save_bytes
from cprsim.gallery import accuracy
from cprsim.studies import findings
from cprsim.studies.findings import Thresholds
from cprsim.studies.outputs import accuracy_block
from cprsim.studies.paired import enough
from tools.pages import accuracy_tables as tables
from tools.pages.accuracy_compared import Study, section
from tools.pages.accuracy_sources import MOVIELENS, PLANTED, SOURCES, Source
from tools.paths import FIGURES
from tools.validation.learning import section as learning

#: What stands behind this in a scenario is made by this program.
MARK = "# What the study found; `cprsim run` takes it from here.\n"
_PICTURES = (accuracy.PLS, accuracy.POLICIES)

_INTRO = """\
# What failures do to accuracy

How much accuracy is lost with the samples that partial recovery loses? `cprsim study` measures it:
it trains a scenario for real, many times over, on parameter servers that are really killed.

- `make study` trains on [300,000 samples](../scenarios/train-study.toml) of a planted teacher; this
  page has what came out.
- `make study DATA=movielens` trains on [ratings by people](../scenarios/train-movielens.toml),
  MovieLens-100K; beside the planted samples here, in full in
  [accuracy-movielens.md](accuracy-movielens.md).
- `make study DATA=criteo FROM=train.txt.gz` trains on
  [any file in Criteo's form](../scenarios/train-criteo.toml), of yours; how many of its lines it
  takes is said by `ARGS="--set job.samples=40_000 --set trainer.test_samples=10_000"`.

The first two take less than an hour each on two cores. All go on where they were stopped, and say
before they start how many seeds each comparison takes. Without `FROM`, the place of the data,
MovieLens-100K is taken from the package recbole; its licence lets nobody pass the ratings on, so
that only what came out is kept here. No file of Criteo's was at hand that is large enough to learn
from: that its form can be studied is tested on a small made-up one, of which there is no page.
Start from one of these scenarios with samples of your own (`data` in [trainer.md](trainer.md)):
another model on other data has another slope.

Runs are compared seed by seed. A seed decides the samples and their order (of the planted ones the
teacher as well), the weights the model starts with, and at which steps what fails; policies of one
seed meet the same. Failures are pinned to steps, so no result depends on how busy the machine is.
The drop of a run is the AUC of its seed without failures, less its own.

{compared}
## Planted samples

What follows is of made-up samples. A teacher is planted, rows are as popular as in production, and
the model sees each sample once.
"""
_INTRO_ELSEWHERE = """\
# What failures do to accuracy: {label}

How it was measured and tested, what each table says, and what comes out on planted samples beside
it: [accuracy.md](accuracy.md). `make study DATA={name}` trains anew what was trained,
[scenarios/train-{name}.toml](../scenarios/train-{name}.toml).
"""
_SAID = {
    "Accuracy against lost samples": """\
Means over the seeds, ± half of their 95 % interval (Student's t). *By the line*: what the slope of
the system gives at that PLS. Lines go through the origin, since nothing is lost where no samples
are, and are fitted to points with a PLS of at most {up_to:g}.

Where the line bends, one slope for all is right in no range: where it flattens, it understates
what little PLS costs. So slopes are fitted by range as well: a line from the origin that is whole
but may bend at the starts of the ranges, seed by seed, of all points. Whether it bends is tested on
the slope of the first range less that of the last, paired by seed (p by exact sign flips, adjusted
for the number of systems). Ranges that have no point, or that the points of a seed can't tell
apart, are joined.

""",
    "Policies at the same failures": """\
Mean differences of AUC, paired by seed. p is that of the exact sign-flip test: if two policies were
alike, each seed's difference might as well have the other sign, and p is the share of all 2ⁿ
choices of signs whose mean is at least as far from 0. It assumes no distribution, which n
differences could hardly show to hold; Student's t, which the intervals rest on, does. All pairs are
compared, so p is adjusted for their number by Holm's method: that any difference called significant
is none has a chance of at most 5 %.

That no difference is found doesn't make two policies equal. They are called equal where both of two
one-sided t-tests (TOST), adjusted in the same way, show that they differ by less than {within:g} of
AUC, *p, equal* being the larger of the two. Where neither a difference nor equality is shown, the
verdict is *undecided*.

""",
    "Several servers at once": """\
What a unit of PLS costs, in AUC, by how many of the servers fail at once; differences of slopes,
paired by seed. PLS counts samples, whichever servers lose them, and can only foretell accuracy if
it doesn't matter how many fail at once. Equal is within {within:g} of AUC for each unit of PLS.

""",
    "What foretells the drop": """\
Three measures of what was lost are held against the drops, over points that lose samples: PLS;
`updates_lost`, counted row by row; and `change_lost`, PLS times the share of all movement of rows
that a unit of it loses, by the row model of `cprsim rows` under Adagrad. That last one is an
estimate to first order, not a count. *Variance*: the share that one line through the origin, the
same for all policies, explains; below 0 the mean explains more. *Ranks*: Spearman's correlation.
Intervals are by bootstrap over the seeds, and a measure is called best only where it is better than
every other in 97.5 % of the samples. They say how sure the seeds are, not what another set of
policies would give: four are few.

These runs save every quarter of the job, and `learning_lost` is newer than they are: the next
section has it beside these.

""",
    "In `cprsim run`": """\
A scenario with these slopes has a `predicted_auc_drop` for each policy, in the table, the report
and the JSON of `run`, always beside their `source`: the slope of its system times the mean of PLS
or of the learning lost ([semantics.md](semantics.md), 24), the larger: where shards lose little at
a time these are the same to first order, and where they lose much PLS understates the drop. A slope
that was measured per learning lost (`auc_drop_per_learning_lost`, `learning_lost_up_to`) applies to
that alone. The interval takes in that of both, to first order. Nothing is
predicted beyond `pls_up_to`, the largest mean PLS that a line was fitted to, nor for a system
without a slope; a policy that loses nothing has no drop. `cprsim study` writes the block into
`accuracy.toml`, ready to paste:

""",
}


def page(source: Source) -> str:
    """The whole page of the runs that are kept."""
    runs, about = source.read(), source.about()
    reading = thresholds(about)
    found = _sections(source, runs, reading, about["source"])
    if source == PLANTED:
        both = [Study(each.label, each.read()) for each in (PLANTED, MOVIELENS)]
        text = _INTRO.format(compared=section(*both, reading))
        said = {
            heading: each.format(up_to=reading.linear_up_to, within=reading.equal_within)
            for heading, each in _SAID.items()
        }
    else:
        text, said = _INTRO_ELSEWHERE.format(label=source.label, name=source.name), {}
    for heading, shown in found.items():
        text += f"\n## {heading}\n\n{said.get(heading, '')}{shown.strip()}\n"
    return f"{text}\n## How it was made\n\n{_made(runs, about)}\n"


def thresholds(about: Mapping[str, Any]) -> Thresholds:
    """How a study was read, by what is kept of it."""
    return Thresholds(**{each: about[each] for each in Thresholds.__annotations__ if each in about})


def _sections(
    source: Source, runs: pd.DataFrame, reading: Thresholds, origin: str
) -> dict[str, str]:
    """What was found, by heading."""
    up_to, within = reading.linear_up_to, reading.equal_within
    count = runs["seed"].nunique()
    seeds = {
        what: f"Of {enough(what, *rest, count)}.\n\n" for what, *rest in findings.comparisons(runs)
    }
    pls, policies = (
        f"![{each.explains}](figures/{source.picture(each.name)})\n\n" for each in _PICTURES
    )
    points, slopes = tables.points(runs, up_to), tables.slopes(runs, up_to)
    ranges = tables.ranges(findings.bends(runs, reading))
    compared = tables.differences(findings.policy_differences(runs, within))
    shares = findings.share_differences(runs, up_to, within)
    block = accuracy_block(findings.slopes(runs, up_to), origin)
    found = {
        "Accuracy against lost samples": f"{pls}{points}\n{slopes}\n"
        f"{seeds['bends of lines, at most']}{ranges}",
        "Policies at the same failures": f"{seeds['differences between policies']}{policies}"
        f"{compared}\n{_full(runs)}",
        "Several servers at once": f"{seeds.get('differences by servers hit')}"
        f"{tables.differences(shares)}",
        "What foretells the drop": f"{source.caveat}\n\n{tables.contests(findings.contests(runs))}",
        "What lost learning is worth": learning.section(),
        "In `cprsim run`": f"```toml\n{block}```",
    }
    if source != PLANTED:
        del found["What lost learning is worth"]
    if not shares:
        del found["Several servers at once"]
    return found


def _full(runs: pd.DataFrame) -> str:
    """How full recovery compares with no failures, hash by hash; empty where it isn't there."""
    hashes = runs[runs["failures"] == 0].set_index("seed")["predictions_sha256"]
    full = runs[runs["system"] == "full"]
    if full.empty:
        return ""
    same = int((full["seed"].map(hashes) == full["predictions_sha256"]).sum())
    return (
        f"Full recovery trains everything again that was lost: in {same} of {len(full)} runs its "
        "predictions\nare those of the run without failures, bit for bit."
    )


def _made(runs: pd.DataFrame, about: dict[str, Any]) -> str:
    lines = [
        f"{runs['seed'].nunique()} seeds, {len(runs)} runs; source: {about['source']}.",
        *(_versions(each) for each in about["made_with"]),
    ]
    return "\n".join(f"- {line}" for line in lines)


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
        source.picture(each.name): save_bytes(each.figure(source.runs), "svg") for each in _PICTURES
    }
    write_all(FIGURES, drawn)
    for each in SOURCES.values():
        write_all(each.page.parent, {each.page.name: page(each).encode()})


if __name__ == "__main__":
    write(SOURCES[sys.argv[1]], Path(sys.argv[2]))
