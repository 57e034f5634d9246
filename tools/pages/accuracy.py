"""Write docs/accuracy.md from what a study found, and keep its runs and its slopes in scenarios/.

Run `python -m tools.pages.accuracy FOLDER` with the folder of `cprsim study`, or `make study`. The
tables follow from the runs in scenarios/train-study.csv; a test holds the page to them.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from cprsim.basics.files import write_all
from cprsim.figures import save_bytes
from cprsim.gallery import accuracy
from cprsim.studies import findings
from cprsim.studies.findings import Bend, Thresholds
from cprsim.studies.outputs import accuracy_block
from cprsim.studies.paired import PairedDifference, enough
from cprsim.studies.predictors import Contest, told
from tools.paths import DOCS, FIGURES, SCENARIOS

PAGE = DOCS / "accuracy.md"
SCENARIO = SCENARIOS / "train-study.toml"
RUNS = SCENARIO.with_suffix(".csv")
#: What stands behind this in the scenario is made by this program.
MARK = "# What the study found; `cprsim run` takes it from here.\n"

_INTRO = """\
# What failures do to accuracy

How much accuracy is lost with the samples that partial recovery loses? `cprsim study` measures it:
it trains [scenarios/train-study.toml](../scenarios/train-study.toml) for real, many times over, on
parameter servers that are really killed. `make study` does that anew, which takes less than an hour
on two cores, and writes this page; it goes on where it was stopped.

**These are made-up samples.** A teacher is planted, rows are as popular as in production, and the
model sees each sample once. Another model on other data has another slope. What holds of any is how
it is measured: start from that scenario with samples of your own (`data` in
[trainer.md](trainer.md)).

Runs are compared seed by seed. A seed decides the teacher, the samples and their order, the weights
the model starts with, and at which steps what fails; policies of one seed meet the same. Failures
are pinned to steps, so no result depends on how busy the machine is. The drop of a run is the AUC
of its seed without failures, less its own.
"""
_PLS = """\
## Accuracy against lost samples

Means over the seeds, ± half of their 95 % interval (Student's t). *By the line*: what the slope of
the system gives at that PLS. Lines go through the origin, since nothing is lost where no samples
are, and are fitted to points with a PLS of at most {up_to:g}.

![{pls}](figures/pls-accuracy.svg)

{points}
{slopes}
Where the line bends, one slope for all is right in no range: where it flattens, it understates
what little PLS costs. So slopes are fitted by range as well: a line from the origin that is whole
but may bend at the starts of the ranges, seed by seed, of all points. Whether it bends is tested on
the slope of the first range less that of the last, paired by seed (p by exact sign flips, adjusted
for the number of systems). Ranges that have no point, or that the points of a seed can't tell
apart, are joined.

{ranges}
"""
_POLICIES = """\
## Policies at the same failures

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

{seeds}

![{policies}](figures/policy-accuracy.svg)

{differences}
{full}
"""
_SHARE = """\
## Several servers at once

What a unit of PLS costs, in AUC, by how many of the servers fail at once; differences of slopes,
paired by seed. PLS counts samples, whichever servers lose them, and can only foretell accuracy if
it doesn't matter how many fail at once. Equal is within {within:g} of AUC for each unit of PLS.
{seeds}

{differences}
"""
_PREDICTORS = """\
## What foretells the drop

Three measures of what was lost are held against the drops, over points that lose samples: PLS;
`updates_lost`, counted row by row; and `change_lost`, PLS times the share of all movement of rows
that a unit of it loses, by the row model of `cprsim rows` under Adagrad. That last one is an
estimate to first order, not a count. *Variance*: the share that one line through the origin, the
same for all policies, explains; below 0 the mean explains more. *Ranks*: Spearman's correlation.
Intervals are by bootstrap over the seeds, and a measure is called best only where it is better than
every other in 97.5 % of the samples. They say how sure the seeds are, not what another set of
policies would give: four are few.

Which form `change_lost` takes was chosen with the runs of the planted samples at hand. Lost updates
times the model's movement of one would do as well by its name, and gets the order of the policies
wrong there. So that it does well on these runs is no test of it; other data are.

{contests}
"""
_PREDICTED = """\
## In `cprsim run`

A scenario with these slopes has a `predicted_auc_drop` for each policy, in the table, the report
and the JSON of `run`, always beside their `source`: the mean PLS of the policy times the slope of
its system. The interval takes in that of both, to first order. It is linear, and nothing is
predicted beyond `pls_up_to`, the largest mean PLS that a line was fitted to, nor for a system
without a slope; a policy that loses no samples loses nothing. `cprsim study` writes the block into
`accuracy.toml`, ready to paste:

```toml
{block}```

## How it was made

{made}
"""


def page(runs: pd.DataFrame, about: dict[str, Any]) -> str:
    """The whole page; `runs` as `findings.with_drops` has them, `about` as in manifest.json."""
    reading = Thresholds(
        **{each: about[each] for each in Thresholds.__annotations__ if each in about}
    )
    up_to, within = reading.linear_up_to, reading.equal_within
    count = runs["seed"].nunique()
    seeds = [f"Of {enough(*each, count)}." for each in findings.comparisons(runs)]
    parts = [
        _INTRO,
        _PLS.format(
            up_to=up_to,
            pls=accuracy.PLS.explains,
            points=_points(runs, up_to),
            slopes=_slopes(runs, up_to),
            ranges=_ranges(findings.bends(runs, reading)),
        ),
        _POLICIES.format(
            policies=accuracy.POLICIES.explains,
            within=within,
            seeds=seeds[0],
            differences=_differences(findings.policy_differences(runs, within)),
            full=_full(runs),
        ),
    ]
    shares = findings.share_differences(runs, up_to, within)
    if shares:
        table = _differences(shares)
        parts.append(_SHARE.format(within=within, seeds=seeds[1], differences=table))
    parts.append(_PREDICTORS.format(contests=_contests(findings.contests(runs))))
    block = accuracy_block(findings.slopes(runs, up_to), about["source"])
    parts.append(_PREDICTED.format(block=block, made=_made(runs, about)))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _points(runs: pd.DataFrame, up_to: float) -> str:
    slopes = findings.slopes(runs, up_to)
    rows = []
    for row in findings.points(runs).to_dict("records"):
        slope = slopes.get(row["system"])
        rows.append(
            (
                row["policy"],
                row["failures"],
                f"{row['servers_hit']} of {row['servers']}",
                f"{row['pls']:.3f}",
                f"{row['updates_lost']:.3f}",
                f"{row['auc_drop']:.5f} ± {row['auc_drop'] - row['auc_drop_low']:.5f}",
                "" if slope is None else f"{slope.auc_drop_per_pls * row['pls']:.5f}",
            )
        )
    heads = ("policy", "failures", "servers hit", "PLS", "updates lost", "AUC drop", "by the line")
    return _table(heads, rows)


def _slopes(runs: pd.DataFrame, up_to: float) -> str:
    rows = [
        (
            system,
            f"{slope.auc_drop_per_pls:.5f}",
            f"{slope.low:.5f} to {slope.high:.5f}",
            slope.points,
            f"{slope.pls_up_to:.2f}",
        )
        for system, slope in findings.slopes(runs, up_to).items()
    ]
    heads = ("system", "AUC drop for each unit of PLS", "95 % interval", "points", "up to PLS")
    return _table(heads, rows)


def _ranges(found: Mapping[str, Bend]) -> str:
    rows = []
    for system, bend in found.items():
        tested = bend.difference
        for each in bend.ranges:
            first = each.above == 0
            rows.append(
                (
                    system,
                    each.name,
                    f"{each.auc_drop_per_pls:.5f}",
                    f"{each.low:.5f} to {each.high:.5f}",
                    "" if tested is None or not first else f"{tested.adjusted_p:.2g}",
                    bend.applies if first else "",
                )
            )
    heads = ("system", "PLS", "AUC drop for each further unit", "95 % interval", "p, bend")
    return _table((*heads, "which slope applies"), rows)


def _contests(found: Mapping[str, Contest]) -> str:
    heads = ("over", "points", "measure", "variance", "95 % interval", "ranks", "95 % interval")
    rows = [
        (
            name,
            contest.points,
            f"`{each.measure}`",
            f"{each.explained:.2f}",
            f"{each.explained_low:.2f} to {each.explained_high:.2f}",
            f"{each.ranked:.2f}",
            f"{each.ranked_low:.2f} to {each.ranked_high:.2f}",
        )
        for name, contest in found.items()
        for each in contest.predictors
    ]
    said = [f"- AUC drop over {name}: {told(contest)}.\n" for name, contest in found.items()]
    return f"{_table(heads, rows)}\n{''.join(said)}"


def _differences(found: Sequence[PairedDifference]) -> str:
    rows = [
        (
            each.first,
            each.second,
            f"{each.mean:+.5f} ± {each.mean - each.low:.5f}",
            f"{each.p:.2g}",
            f"{each.adjusted_p:.2g}",
            f"{each.equal_p:.2g}",
            each.verdict,
        )
        for each in found
    ]
    heads = ("of", "less that of", "difference", "p", "p, adjusted", "p, equal", "verdict")
    return _table(heads, rows)


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


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    cells = [heads, ["---"] * len(heads), *([str(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(each)} |\n" for each in cells)


def about_runs() -> dict[str, Any]:
    """What is kept beside the runs: their source and the versions they were made with."""
    found: dict[str, Any] = json.loads(RUNS.with_suffix(".json").read_text(encoding="utf-8"))
    return found


def write(folder: Path) -> None:
    """Keep what is in the folder of a study, and make of it the page and its pictures."""
    text = SCENARIO.read_text(encoding="utf-8").partition(MARK)[0].rstrip("\n")
    block = (folder / "accuracy.toml").read_text(encoding="utf-8")
    kept = {
        RUNS.name: (folder / "runs.csv").read_bytes(),
        RUNS.with_suffix(".json").name: (folder / "manifest.json").read_bytes(),
        SCENARIO.name: f"{text}\n\n{MARK}{block}".encode(),
    }
    write_all(RUNS.parent, kept)
    pictures = (accuracy.PLS, accuracy.POLICIES)
    drawn = {f"{each.name}.svg": save_bytes(each.figure(), "svg") for each in pictures}
    write_all(FIGURES, drawn)
    runs = findings.read_runs(RUNS)
    write_all(PAGE.parent, {PAGE.name: page(runs, about_runs()).encode()})


if __name__ == "__main__":
    write(Path(sys.argv[1]))
