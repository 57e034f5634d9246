"""All pictures of the gallery, by name."""

from typing import Final

from cprsim.advice.row_loss import RowLosses, row_losses
from cprsim.basics.schema import nearest
from cprsim.errors import UsageError
from cprsim.gallery import ecrec, files, interval, ladder, runs, sweeps, tables
from cprsim.gallery.picture import Picture, Titled, of_scenario
from cprsim.runs.fleet_result import FleetResult
from cprsim.runs.result import Result

_SET_UP: Final = "in ECRec's cluster (PVLDB 2023)"
#: In the order in which they are listed.
_ALL: Final = (
    Picture(
        "survival",
        "gaps between failures of a log, and the laws fitted to them",
        "log",
        "failures.csv",
        files.survival,
        files.draw_survival,
    ),
    Picture(
        "mtbf-scaling",
        "MTBF of a job against its number of nodes, as a log has it and by two models",
        "log",
        "failures.csv",
        files.mtbf,
        "mtbf:mtbf_by_nodes",
        one_axes=True,
    ),
    Picture(
        "fleet-breakdown",
        "overhead by cause over the percentiles of a fleet's jobs, under its first policy",
        "scenario",
        "production-fleet.toml",
        runs.fleet,
        FleetResult.figure,
    ),
    Picture(
        "fleet-ranges",
        "what policies remove of a fleet's overhead and what they leave, over all fleets that fit "
        "what is known of it",
        "fits",
        "production-fleet-fits.csv",
        files.fleet_fits,
        "fleet_ranges:fleet_ranges",
    ),
    Picture(
        "policy-breakdown",
        "where the time goes under each policy, by cause, beside the updates that it loses and "
        "what training these again would take",
        "run",
        "criteo-kaggle.toml",
        runs.breakdown,
        Result.figure,
    ),
    Picture(
        "production",
        "full recovery against CPR, by cause",
        "run",
        "production.toml",
        runs.production,
        Result.figure,
    ),
    Picture(
        "failure-causes",
        "what failures of each cause cost: until they are noticed, in waiting, loads and lost "
        "training",
        "run",
        "causes.toml",
        runs.causes,
        "by_cause:failures_by_cause",
        one_axes=True,
    ),
    Picture(
        "ett-ladder",
        "what each lever of a scenario gives back of its time, by cause, one after the other and "
        "alone",
        "levers",
        "ett-ladder.toml",
        ladder.of_file,
        "ladder:ladder",
    ),
    Picture(
        "answer",
        "what each candidate of `advise` costs, by cause, beside what learning and machines it "
        "takes",
        "scenario",
        "quickstart.toml",
        runs.advice,
        lambda advice: advice.figure("answer"),
    ),
    Picture(
        "pareto",
        "time against learning lost, machine time or cost of each candidate of `advise`",
        "scenario",
        "quickstart.toml",
        runs.advice,
        lambda advice: advice.figure("pareto"),
    ),
    Picture(
        "robust",
        "what the policy that `advise` chooses loses where the job is another, and who is best "
        "there",
        "scenario",
        "quickstart.toml",
        runs.elsewhere,
        runs.draw_elsewhere,
        one_axes=True,
    ),
    Picture(
        "scaling",
        "overhead against the number of servers, if the MTBF falls with it in two ways",
        "scenario",
        "criteo-kaggle.toml",
        of_scenario(tables.scaling),
        "scaling:scaling",
    ),
    Picture(
        "sensitivity",
        "overhead against the number of failures, and against the share of servers that each takes",
        "scenario",
        "criteo-kaggle.toml",
        of_scenario(tables.sensitivity),
        "scaling:sensitivity",
    ),
    Picture(
        "interval",
        "overhead against the checkpoint interval, simulated on the closed form, the optimum "
        "marked",
        "scenario",
        "criteo-kaggle.toml",
        of_scenario(interval.table),
        "interval:interval",
        one_axes=True,
    ),
    Picture(
        "tradeoff",
        "overhead against PLS and updates lost, a curve a policy, and under each of a sweep's "
        "circumstances",
        "sweep",
        "criteo-kaggle.toml",
        sweeps.tradeoff,
        "tradeoff:tradeoff",
    ),
    Picture(
        "rows",
        "updates lost against the share of rows that a save takes, under several skews",
        "scenario",
        "criteo-kaggle.toml",
        lambda source: row_losses(source.scenario()),
        RowLosses.figure,
    ),
    Picture(
        "phase",
        "which policy costs least, by the MTBF and the bandwidth of the store",
        "sweep",
        "quickstart.toml",
        sweeps.phase,
        lambda figure: figure,
    ),
    Picture(
        "ecrm-overhead",
        "overhead of erasure coding and of checkpoints against model size, beside ECRec's figure 5",
        "nothing",
        "",
        lambda _: Titled(f"Overhead without failures, {_SET_UP}", ecrec.overhead_table()),
        "ecrm:ecrm_overhead",
        one_axes=True,
    ),
    Picture(
        "ecrm-recovery",
        "time to recover a server from parities and from checkpoints, beside ECRec's figure 12",
        "nothing",
        "",
        lambda _: Titled(f"Recovery from a failure, {_SET_UP}", ecrec.recovery_table()),
        "ecrm:ecrm_recovery",
    ),
    Picture(
        "pls-accuracy",
        "accuracy of real training against PLS, by policy and by how many servers fail at once",
        "study",
        "train-study.csv",
        files.study,
        files.draw_pls,
    ),
    Picture(
        "policy-accuracy",
        "accuracy of real training under each policy, seed by seed, at the same failures",
        "study",
        "train-study.csv",
        files.study,
        files.draw_policies,
        one_axes=True,
    ),
    Picture(
        "predicted-measured",
        "seconds predicted of real runs against those that they took, by cause",
        "validation",
        "train-quick-predicted.csv",
        files.seconds,
        "predicted:predicted_measured",
        one_axes=True,
    ),
)
PICTURES: Final[dict[str, Picture]] = {each.name: each for each in _ALL}


def picture(name: str) -> Picture:
    """Return the picture of that name; raise `UsageError` if there is none."""
    if name not in PICTURES:
        raise UsageError(f"figure {name!r}: there is none of that name; {nearest(name, PICTURES)}")
    return PICTURES[name]
