"""What papers publish, by picture where there is one, and how to look at each again."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pandas as pd

from cprsim.basics.shipped import shipped
from cprsim.gallery import interval, runs, scaling, sensitivity, tradeoff
from cprsim.gallery.picture import PictureSource, Titled
from cprsim.gallery.points import at
from cprsim.gallery.registry import PICTURES
from cprsim.scenario import Scenario, load_scenario
from tools.reproduction import airesim, cpr, effective, goodput, ladder
from tools.reproduction.lines import Line, Measured
from tools.validation.systems import ecrm
from tools.validation.systems.row import Row

_FEW = 10  # replications with which a test looks again, where there are many points


class Section(NamedTuple):
    """Lines of a picture, from what it draws; and that again, of fewer replications.

    `found`: what is measured of that which has no picture.
    """

    text: str
    lines: Callable[[Any], list[Line]]
    again: Callable[[], Any]
    found: Callable[[], Any] = dict


def _kaggle(*policies: str) -> Scenario:
    """The scenario with these policies alone; all if none is named."""
    scenario = load_scenario(shipped("criteo-kaggle.toml"))
    if not policies:
        return scenario
    return at(scenario, {"policies": {name: scenario.policies[name] for name in policies}})


def _titled(table: pd.DataFrame) -> Titled:
    return Titled("", table)


def _of_ecrec(rows: list[Row]) -> list[Line]:
    sources = {
        "text": "ECRec, stated",
        "text, 7 to 13": "ECRec, stated: 7 to 13",
        "text, by ratio": "ECRec, derived from stated ratios",
        "figure 5": "ECRec figure 5, digitised",
        "figure 12": "ECRec figure 12, digitised",
        "arXiv 2104.01981": "ECRM abstract, stated",
    }
    return [
        Line(
            row.quantity,
            row.published,
            sources[row.source],
            row.role,
            Measured(row.computed),
            row.unit,
            row.note,
        )
        for row in rows
    ]


#: By the name of the picture; nothing is published for those that aren't here.
SECTIONS: Final[dict[str, Section]] = {
    "survival": Section(
        """CPR fitted the failures of 17,000 production jobs, which aren't public. What is known of
        them gives a gamma law, shipped as a preset. The picture's log shows the tool alone.""",
        cpr.survival,
        PICTURES["survival"].found,
    ),
    "mtbf-scaling": Section(
        """CPR reports that large jobs fail sooner, and compares these two models; its numbers
        aren't known here. On any log the fall is nearly 1 / nodes: it is slower only where failures
        coincide.""",
        lambda _: [],
        lambda: None,
    ),
    "policy-breakdown": Section(
        """The costs are solved from the overheads of full recovery and CPR: that those come back is
        a regression check. What partial recovery costs follows from the same two numbers by (E1) to
        (E6): 4.41 % of Kaggle, of which the paper's 4.4 % is remembered, and 4.35 % of Terabyte. So
        neither counts as a prediction. The paper's breakdown by
        cause at the 75th, 90th and 95th percentile is of its fleet, not of this job. Not
        reproducible here: AUC, since accuracy itself isn't modelled.""",
        cpr.breakdown,
        lambda: runs.breakdown(PictureSource(shipped("criteo-kaggle.toml")), 80),
    ),
    "production": Section(
        """18 servers, 50 h, 5 failures that take 4 servers each (poster). The costs are calibrated
        to full recovery alone, so what CPR costs is a prediction: it is dearer than reported, and
        [validation.md](validation.md) says which target PLS would do. Not reproducible here: the
        change of the log-loss, 0.0008 (poster).""",
        cpr.production,
        lambda: runs.production(PictureSource(shipped("production.toml")), 80),
    ),
    "ett-ladder": Section(
        f"""Published are a range of jobs (59 to 85 % before, 80 to 93 % after), and of the levers:
        MegaCache takes 40 % off compiling, publishing on other machines 30 min off a job,
        asynchronous saves 77 % off what training waits for saves, and recovery is
        {ladder.FASTER[0]:g} to {ladder.FASTER[1]:g} times faster; here {ladder.MEAN:g} times, the
        geometric mean of both, is taken for each of its parts but compiling. All of the job is
        assumed, since how its lost time is spread over causes isn't published; one number, the mean
        time between failures, is calibrated to where each job starts, and all else is the same in
        both. Where the levers end is a prediction. The rows below the first four say how far it
        moves with either end of the published range, and with other assumptions. Not published, and
        not in these numbers, are half the failures and partial recovery, the picture's last two.
        Left out are the scheduler that preempts jobs which have just saved, and levers whose size
        isn't known here.""",
        ladder.lines,
        ladder.again,
    ),
    "scaling": Section(
        """The paper's own numbers aren't known here, only that full recovery grows and CPR stays
        low. So the published ones are its equations, to first order, at the calibrated costs. With
        many servers full recovery costs more than they say: failures strike work that is done
        again, and saves.""",
        cpr.scaling,
        lambda: _titled(scaling.table(_kaggle(), _FEW)),
    ),
    "sensitivity": Section(
        """As for scaling. The numbers of failures (2, 20, 40) and the shares of servers (12.5, 25,
        50 %) are recalled with low confidence, and so is that CPR falls back to full recovery.""",
        cpr.sensitivity,
        lambda: _titled(sensitivity.table(_kaggle(), _FEW)),
    ),
    "interval": Section(
        """Not a picture of the papers: it shows that full recovery's interval is where simulated
        jobs cost least, and why CPR's is as long as its target allows.""",
        cpr.interval,
        lambda: _titled(interval.table(_kaggle(), 4 * _FEW)),
    ),
    "tradeoff": Section(
        """Not reproducible here: the correlation of PLS with the loss of accuracy, 0.8764
        (recalled, low). What can be shown is how much learning each policy loses.""",
        cpr.tradeoff,
        lambda: _titled(tradeoff.table(_kaggle("full", "cpr", "cpr-mfu"), 4 * _FEW)),
    ),
    "rows": Section(
        """The curves are a mean field over classes of rows, whose skew CPR doesn't publish. What is
        known of its trackers are sizes; the time that they take isn't known here.""",
        cpr.rows,
        PICTURES["rows"].found,
    ),
    "ecrm-overhead": Section(
        """ECRec is the peer-reviewed successor of ECRM (2021), of which only the headlines are
        known: up to 88 % less overhead, up to 10.3 times faster recovery. The 88 % come out as
        86.6 % at 880 GB, without the replication and the commit that ECRec added. That is
        arithmetic on ECRec's own ablation and time of a save, and isn't reproduced to the
        point.""",
        lambda _: _of_ecrec([*ecrm.normal_rows(), *ecrm.ablation_rows()]),
        lambda: None,
    ),
    "ecrm-recovery": Section(
        """A load of a checkpoint, and what is trained again: nothing at best, half an interval on
        average, a whole one at worst. Under ECRec training goes on after 30 s. All rows of
        checkpoints rest on four load times, one a model: each stands as one row, and the
        others, ratios included, as repeated.""",
        lambda _: _of_ecrec([*ecrm.recovery_rows(), *ecrm.ratio_rows()]),
        lambda: None,
    ),
}
#: What is published of what no picture shows, by the heading it stands under.
APART: Final[dict[str, Section]] = {
    "Effective training time": Section(
        f"""FT-HSDP (arXiv 2602.00277) trains on 100,000 GPUs, with a failure every
        {effective.GAP_MIN:g} min. The published pair is not reproduced. 44 % is 1 - 10/18: each
        failure stops training for a whole stall, one after the other. By the rule that nobody fails
        while nodes are waited for, gaps begin when a stall is over, and so there are fewer
        failures. With `failures.while_waiting` and `cluster.holds_nodes`, they strike at the same
        rate all the time; but machines for several are waited for at once, so stalls overlap. That
        comes nearer, no more. By either, FT-HSDP stays above 80 %: what else it
        loses isn't known here. The blog's best interval is Young's, and what it calls wasted is to
        first order, as in CPR's equations.""",
        effective.lines,
        lambda: effective.played(100),
        effective.played,
    ),
    "AIReSim": Section(
        """AIReSim (arXiv 2603.07041) simulates clusters at large, and its default job is shipped as
        scenarios/airesim.toml: 4,096 servers for 256 days, each failure a stop of 20 min. It has
        bad servers, which repairs cure: what these add to the failures follows from its rates and
        from the share of repairs that it reports to be cures, and so does the mean life that stands
        in the scenario. No constant is fitted to what it publishes. Left out are its host
        selections and preemptions, 7 h of the job in April. A change of its repairs, 20 September
        2026, by which the job took 9,832 h, was taken back a day later as a fault of its own; the
        report of 22 September is of the model as restored. ± is of 30 runs, as many as it has; its
        own is 12 h. It has no checkpoints, so nothing is said of them.""",
        airesim.lines,
        lambda: airesim.played(3),
        airesim.played,
    ),
    "Goodput by cause": Section(
        """12-gpu-goodput-mtbi simulates 128 GPU nodes whose failures have seven causes, each with
        its own detection, of which three leave the node. Its baseline is shipped as
        scenarios/causes.toml, its inputs are put in as they stand, and nothing is fitted. The
        bounds in the notes were set after a first look at the differences. Its goodput is of 20
        runs, known to some 0.5 points; and it has all machines ready at first, of a job of 28 days
        of the wall clock, where ours trains for 28 days, which matters where the job mostly waits
        for machines.""",
        goodput.lines,
        lambda: goodput.played(64),
        goodput.played,
    ),
}
