"""Write docs/predicted.md: real runs, predicted and measured on this machine.

Run `python -m tools.pages.predicted` on a quiet machine (6 to 13 minutes a repeat). Each
configuration of scenarios/train-quick.toml is calibrated on its servers and tables, all of them in
turns and several times, then all are predicted, and then trained, again in turns. Predictions are
written into build/predicted/ before anything is trained, and the page has their hashes.
"""

import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import pandas as pd

from cprsim.basics.files import write_all
from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.figures import save_bytes
from cprsim.report.gallery.registry import picture
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping, scenario_tables
from cprsim.trainer.lab import forking
from cprsim.trainer.section import trainer_section
from cprsim.trainer.validation.compared import (
    CAUSE_S,
    CAUSE_SHARE,
    SUM_SHARE,
    Compared,
    Comparison,
)
from cprsim.trainer.validation.predicted import OVERHEAD
from cprsim.trainer.validation.validated import Validation
from tools.paths import DOCS, FIGURES, ROOT, SCENARIOS
from tools.tables import csv_text, markdown

PAGE = "predicted.md"
#: CSV file of every quantity that was compared; the page links it.
ALL = "predicted.csv"
#: Every configuration, and the hash of its predictions.
HASHES = "predicted-configurations.csv"
PICTURE = "predicted-measured.svg"
CONFIG = SCENARIOS / "train-quick.toml"
#: What the picture is drawn of.
TABLE = "train-quick-predicted.csv"
_WRITTEN = ROOT / "build" / "predicted"
#: Rehearsals and runs of each configuration.
_REPEATS = 5
UPDATES = "updates_lost"
_EXACT = ("pls", "failures", "lost_steps")


class Configuration(NamedTuple):
    """Policies of the scenario, with values set as by `--set`."""

    policies: Sequence[str]
    overrides: Sequence[str] = ()
    seed: int = 0

    @property
    def all_overrides(self) -> list[str]:
        """Overrides of all configurations, then its own."""
        return [*BASE, *self.overrides]


def _tables(*rows: int, dim: int) -> str:
    """Tables of so many rows each."""
    each = (f'{{ rows = {one}, dim = {dim}, skew = "dlrm-production" }}' for one in rows)
    return f"model.tables=[{', '.join(each)}]"


def of_interval(interval: str, *policies: str) -> list[str]:
    """Overrides that give policies an interval."""
    return [f'policies.{policy}.interval="{interval}"' for policy in policies]


def _servers(count: int, hit: int = 1) -> list[str]:
    of_hits = [f"failures.hits={{parameter_servers={hit}}}"] if hit > 1 else []
    return [f"cluster.parameter_servers={count}", *of_hits]


#: Of each, so that a sum has more spans than noise: of `CONFIG`, twice as long, with 12 failures.
BASE = ("job.samples=200_000", 'job.useful_time="4 s"', "failures.exactly=12")


#: The trainer alone, one server or two at once, on a law; `exactly` has failures of one size.
_BURSTS = """failures={ distribution = "exponential", per = "node", mean = "1 h", \
while_waiting = false, bursts = { mean = "0.6 s", rack = 3, sizes = { 1 = 1, 2 = 1 } } }"""
_MFU, _SSU = "policies.cpr-mfu", "policies.cpr-ssu"
#: Policies whose saves are of chosen rows.
_CHOOSING = ("cpr-mfu", "cpr-ssu", "cpr-scar")
CONFIGURATIONS = {
    "base": Configuration(("full", "partial", "cpr-vanilla", "cpr-mfu", "cpr-ssu", "cpr-scar")),
    "half the interval": Configuration(
        ("full", "cpr-mfu"), of_interval("0.1 s", "full", "cpr-mfu")
    ),
    "a save every other step": Configuration(("full",), of_interval("0.02 s", "full"), 4),
    "2.5 times the interval": Configuration(
        ("full", "partial", "cpr-ssu"), of_interval("0.5 s", "full", "partial", "cpr-ssu"), 5
    ),
    "a 32nd of the rows": Configuration(("cpr-mfu",), [f"{_MFU}.fraction=0.03125"], 4),
    "a quarter of the rows": Configuration(
        ("cpr-mfu", "cpr-ssu"), [f"{_MFU}.fraction=0.25", f"{_SSU}.fraction=0.25"], 3
    ),
    "half of the rows": Configuration(("cpr-mfu",), [f"{_MFU}.fraction=0.5"], 6),
    "SSU of every batch": Configuration(("cpr-ssu",), [f"{_SSU}.subsample=1"], 7),
    "SSU of every fourth batch": Configuration(("cpr-ssu",), [f"{_SSU}.subsample=4"], 2),
    "one tracked table": Configuration(("cpr-mfu", "cpr-ssu"), ["model.tracked_tables=1"], 1),
    "two tracked tables": Configuration(("cpr-mfu", "cpr-ssu"), ["model.tracked_tables=2"], 1),
    "larger tables": Configuration(
        ("full", "cpr-mfu"), [_tables(100_000, 50_000, 10_000, 1_000, dim=16)], 8
    ),
    "wider rows": Configuration(("partial", "cpr-ssu"), [_tables(20_000, 5_000, 500, dim=64)], 9),
    "smaller batches": Configuration(("full", "cpr-mfu"), ["trainer.batch=256"], 10),
    "larger batches": Configuration(("partial", "cpr-mfu"), ["trainer.batch=1024"], 11),
    "twice as long": Configuration(
        ("full", "cpr-mfu"), ["job.samples=400_000", 'job.useful_time="8 s"'], 12
    ),
    "4 failures": Configuration(("full", "partial", "cpr-mfu"), ["failures.exactly=4"], 1),
    "24 failures": Configuration(("full", "cpr-ssu"), ["failures.exactly=24"], 13),
    "no failures": Configuration(("full", "cpr-mfu"), ["failures.exactly=0"], 14),
    "both servers at once": Configuration(("full", "partial", "cpr-mfu"), _servers(2, 2), 2),
    "background saves": Configuration(("async",), of_interval("0.15 s", "async"), 16),
    "3 servers": Configuration(("full", "partial", "cpr-mfu"), _servers(3), 2),
    "2 of 3 servers at once": Configuration(("full", "cpr-mfu"), _servers(3, 2), 15),
    "5 servers": Configuration(("full", "cpr-ssu"), _servers(5), 2),
    "3 of 5 servers at once": Configuration(("full", "partial"), _servers(5, 3), 2),
    "the trainer fails, too": Configuration(
        ("full", "partial", "cpr-mfu"),
        ["failures.hits={ weights = { parameter_servers = 1, trainers = 1 } }"],
        21,
    ),
    "bursts on 3 servers": Configuration(
        ("full", "partial", "cpr-mfu"), [*_servers(3), _BURSTS], 22
    ),
}

_INTRO = """\
# Predicted against measured

`python -m tools.pages.predicted` trains {runs} times for real on one machine, kills members, and
compares the measured seconds with simulated ones. `cprsim validate CONFIG --repeats 5` does it for
any scenario with a block `[trainer]` ([trainer.md](trainer.md)). The figures below are of one
machine and one day: {cores} cores, the load up to {before:.1f} before a configuration and
{during:.1f} during one.

- **Inputs**: the scenario, the steps at which failures strike, and the destinations of the first
  samples' updates. All configurations have {base} set, unless they set failures themselves.
- **Calibrated** in a short run of each policy, with other kills: medians of what steps, saves,
  loads and restarts took.
- **Predicted**: everything else, written down before anything was trained;
  [predicted-configurations.csv](predicted-configurations.csv) has the hashes of those files.

A cause is within bounds if it is off by up to {cause_share:.0f} % or {cause_ms:.0f} ms, the sum
(*overhead*) by up to {sum_share:.0f} %, updates lost by up to 5 %; PLS, failures and lost steps
have to agree exactly. All configurations are rehearsed {repeats} times and trained {repeats} times,
in turns; each cause counts with its median. *Noise* is how far the sums of single runs are apart.

![Predicted seconds against measured ones](figures/predicted-measured.svg)

{within} of {all} causes are within bounds, and {sums} of {configurations} sums: {choosing} of
policies that choose rows, {others} of others. So are {updates} of {lossy} counts of updates lost;
of PLS, failures and lost steps {exact} of {counted} agree. Of two runs of the same, the sums are
within {sum_share:.0f} % of each other in {agreeing} of {pairs} pairs.

{biases}

SCAR saves the rows that moved most, and SSU's lists evict at random, so what one run loses is
partly chance: [counted.md](counted.md). Sums and counts out of bounds are, of all comparisons in
[predicted.csv](predicted.csv):

{beyond}"""
_HEADS = ("configuration", "policy", "what", "predicted", "measured", "noise", "distance")


class Found(NamedTuple):
    """One quantity of one policy in one configuration."""

    configuration: str
    policy: str
    row: Comparison


def rows_of(name: str, found: Validation) -> list[Found]:
    """Return the comparisons of a configuration: seconds of overhead, then counts above 0."""
    return [
        Found(name, each.policy, row)
        for each in found.compared
        for row in (*each.seconds(), *each.counts())
        if row.what != "train" and (row.predicted or row.measured)
    ]


def all_rows(found: Mapping[str, Validation]) -> list[Found]:
    """Return the comparisons of all configurations."""
    return [row for name, each in found.items() for row in rows_of(name, each)]


def seconds(found: Mapping[str, Validation]) -> pd.DataFrame:
    """Return each cause of overhead, and their sum, of which the picture is drawn."""
    return pd.DataFrame(
        [
            (name, policy, row.what, row.predicted, row.measured)
            for one, each in found.items()
            for name, policy, row in rows_of(one, each)
            if row.what in (*OVERHEAD_CAUSES, OVERHEAD)
        ],
        columns=["configuration", "policy", "cause", "predicted", "measured"],
    )


def beyond(rows: Sequence[Found]) -> str:
    """Return a table of the sums and counts that are not within their bounds."""
    shown = (each for each in rows if each.row.what not in OVERHEAD_CAUSES)
    return markdown(_HEADS, (_cells(each) for each in shown if not each.row.within))


def _cells(found: Found) -> tuple[str, ...]:
    row = found.row
    if row.what in (*OVERHEAD_CAUSES, OVERHEAD):
        values = [f"{1e3 * each:,.0f} ms" for each in (row.predicted, row.measured, row.noise)]
        values.append(f"{1e3 * row.off:+,.0f} ms")
    else:
        values = [f"{each:.4g}" for each in (row.predicted, row.measured, row.noise)]
        values.append(f"{row.off:+.2g}" if row.off else "0")
    if row.measured and row.off:
        values[-1] += f" ({row.percent(1)} %)"
    return found.configuration, found.policy, row.what, *values


def biases(compared: pd.DataFrame) -> str:
    """Return a sentence on how far each cause is off, in the median of all configurations."""
    causes = compared[compared["what"].isin(OVERHEAD_CAUSES) & (compared["measured"] > CAUSE_S)]
    off = (causes["predicted"] / causes["measured"] - 1).groupby(causes["what"]).median()
    each = ", ".join(f"{cause} {100 * share:+.0f} %" for cause, share in off.items())
    return (
        "In the median of all configurations a cause is off by: "
        f"{each}. So a cause that is far off there is off in most of them: the short rehearsal, "
        "which the costs come from, differs in it from a run."
    )


def everything(rows: Sequence[Found]) -> pd.DataFrame:
    """All that was compared: times in seconds, everything else as it is counted."""
    return pd.DataFrame(
        [
            (name, policy, row.what, row.predicted, row.measured, row.noise, row.within)
            for name, policy, row in rows
        ],
        columns=[*_HEADS[:-1], "within"],
    )


def page(found: Mapping[str, Validation]) -> str:
    """The whole page."""
    rows = all_rows(found)

    def met(whats: Sequence[str]) -> tuple[int, int]:
        chosen = [each.row for each in rows if each.row.what in whats]
        return sum(row.within for row in chosen), len(chosen)

    (within, every), (sums, configurations) = met(OVERHEAD_CAUSES), met([OVERHEAD])
    (updates, lossy), (exact, counted) = met([UPDATES]), met(_EXACT)
    compared = [each for one in found.values() for each in one.compared]
    return _INTRO.format(
        runs=sum(len(each.runs) for each in compared),
        repeats=max(len(each.runs) for each in compared),
        cores=max(each.load.cores for each in found.values()),
        before=max(each.load.before for each in found.values()),
        during=max(each.load.during for each in found.values()),
        sum_share=100 * SUM_SHARE,
        cause_share=100 * CAUSE_SHARE,
        cause_ms=1e3 * CAUSE_S,
        within=within,
        all=every,
        sums=sums,
        choosing=_within(rows, chooses=True),
        others=_within(rows, chooses=False),
        configurations=configurations,
        updates=updates,
        lossy=lossy,
        exact=exact,
        counted=counted,
        base=", ".join(f"`{override}`" for override in BASE),
        agreeing=agreeing(compared)[0],
        pairs=agreeing(compared)[1],
        biases="\n".join(textwrap.wrap(biases(everything(rows)), 100)),
        beyond=beyond(rows),
    )


def _within(rows: Sequence[Found], *, chooses: bool) -> str:
    """Count sums within bounds, of policies that choose rows or of others."""
    of = [
        each.row.within
        for each in rows
        if each.row.what == OVERHEAD and (each.policy in _CHOOSING) == chooses
    ]
    return f"{sum(of)} of {len(of)}"


def agreeing(compared: Iterable[Compared]) -> tuple[int, int]:
    """Pairs of runs of the same whose sums are as near as a prediction's is to be; all pairs."""
    found = [
        abs(one_s - other_s) <= SUM_SHARE * min(one_s, other_s)
        for each in compared
        for one_s, other_s in combinations(each.sums(), 2)
    ]
    return sum(found), len(found)


def _hashes(found: Mapping[str, Validation]) -> str:
    """Return the table of configurations, with the hash of what was predicted of each."""
    rows = [
        (name, " ".join(asked.overrides), str(asked.seed), each.predicted.sha256)
        for name, each in found.items()
        for asked in [CONFIGURATIONS[name]]
    ]
    heads = ("configuration", "overrides", "seed", "SHA-256 of the predictions")
    return csv_text([heads, *rows])


def measured(names: Sequence[str], repeats: int) -> dict[str, Validation]:
    """Configurations, all rehearsed in turns, then all predicted, and then trained in turns."""
    asked = {name: _asked(name, repeats) for name in names}
    for number in range(repeats):
        sys.stderr.write(f"rehearsal {number + 1} of {repeats}\n")
        for each in asked.values():
            each.rehearse()
    for name, each in asked.items():
        told = each.predicted
        file = f"{name.replace(' ', '-').replace(',', '')}.json"
        write_all(_WRITTEN, {file: told.content()})
        sys.stderr.write(f"{name}: predictions {told.sha256}\n")
    for number in range(repeats):
        sys.stderr.write(f"run {number + 1} of {repeats}\n")
        for each in asked.values():
            each.train()
    for name, each in asked.items():
        for policy, verdict in each.verdicts().items():
            sys.stderr.write(f"{name}, {policy}: {verdict}\n")
    return asked


def _asked(name: str, repeats: int) -> Validation:
    """Return the validation of a configuration, of which nothing is done yet."""
    asked = CONFIGURATIONS[name]
    mapping = load_mapping(CONFIG, asked.all_overrides)
    scenario, section = Scenario(**scenario_tables(mapping)), trainer_section(mapping["trainer"])
    return Validation(scenario, section, asked.policies, asked.seed, repeats=repeats)


def main() -> None:
    """Measure, and write the table, its picture and the page."""
    forking.context()
    found = measured(list(CONFIGURATIONS), _REPEATS)
    shown = seconds(found).to_csv(index=False, float_format="%.6g")
    write_all(SCENARIOS, {TABLE: shown.encode()})
    drawn = picture("predicted-measured").figure(SCENARIOS / TABLE)
    write_all(FIGURES, {PICTURE: save_bytes(drawn, "svg")})
    compared = everything(all_rows(found)).to_csv(index=False, float_format="%.6g")
    texts = {PAGE: page(found), ALL: compared, HASHES: _hashes(found)}
    write_all(DOCS, {name: text.encode() for name, text in texts.items()})


if __name__ == "__main__":
    main()
