"""Sections of published numbers, by picture where there is one, and how to measure each again."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cprsim.basics.shipped import shipped
from cprsim.report.gallery import runs, tables
from cprsim.report.gallery.picture import PictureSource
from cprsim.report.gallery.registry import PICTURES
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
    return scenario.with_values({"policies": {name: scenario.policies[name] for name in policies}})


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
        """CPR's 17,000 production jobs aren't public. What is known of their failures gives a gamma
        law, shipped as a preset. The picture's log is made up.""",
        cpr.survival,
        PICTURES["survival"].found,
    ),
    "mtbf-scaling": Section(
        """CPR compares these two models; its numbers aren't known here.""",
        lambda _: [],
        lambda: None,
    ),
    "policy-breakdown": Section(
        """Costs are solved from the overheads of full recovery and CPR. Naive partial recovery
        follows from the same two numbers by (E1) to (E6), so it is no prediction; the paper's 4.4 %
        is recalled. Not reproducible here: AUC.""",
        cpr.breakdown,
        lambda: runs.breakdown(PictureSource(shipped("criteo-kaggle.toml")), 80),
    ),
    "production": Section(
        """18 servers, 50 h, 5 failures that take 4 servers each (poster). The costs are calibrated
        to full recovery alone. CPR costs more than reported; [validation.md](validation.md) says
        which target PLS would reach it. Not reproducible here: the change of the log-loss, 0.0008
        (poster).""",
        cpr.production,
        lambda: runs.production(PictureSource(shipped("production.toml")), 80),
    ),
    "ett-ladder": Section(
        f"""Published are a range of jobs (59 to 85 % before, 80 to 93 % after), and levers;
        recovery is published as {ladder.FASTER[0]:g} to {ladder.FASTER[1]:g} times faster, here
        {ladder.MEAN:g} times. [Where did my 40 % go?](how-to/where-did-my-time-go.md) has all
        inputs. The job is assumed, and its mean time between failures calibrated to where each job
        starts; where the levers end is a prediction, which other assumptions move by up to 5
        points.""",
        ladder.lines,
        ladder.again,
    ),
    "scaling": Section(
        """The paper's own numbers aren't known here, so the published ones are its equations, to
        first order, at the calibrated costs. With many servers full recovery costs more: failures
        also strike repeated work and saves.""",
        cpr.scaling,
        lambda: tables.scaling(_kaggle(), _FEW),
    ),
    "sensitivity": Section(
        """As for scaling. The numbers of failures (2, 20, 40), the shares of servers (12.5, 25, 50
        %), and that CPR falls back to full recovery are recalled with low confidence. The fallback
        is not reproduced: by (E7) partial recovery costs less at every point shown.""",
        cpr.sensitivity,
        lambda: tables.sensitivity(_kaggle(), _FEW),
    ),
    "interval": Section(
        """Not a picture of the papers: full recovery's interval is where simulated jobs cost least,
        and CPR's is as long as its target allows.""",
        cpr.interval,
        lambda: tables.interval(_kaggle(), 4 * _FEW),
    ),
    "tradeoff": Section(
        """Not reproducible here: the correlation of PLS with the loss of accuracy, 0.8764
        (recalled, low).""",
        cpr.tradeoff,
        lambda: tables.tradeoff(_kaggle("full", "cpr", "cpr-mfu"), 4 * _FEW),
    ),
    "rows": Section(
        """The curves are a mean field over classes of rows, whose skew CPR doesn't publish. Only
        the sizes of its trackers are published.""",
        cpr.rows,
        PICTURES["rows"].found,
    ),
    "ecrm-overhead": Section(
        """ECRec is the successor of ECRM (2021), of which only the headlines are known: up to 88 %
        less overhead, up to 10.3 times faster recovery. The 88 % come out as 86.6 % at 880 GB by
        arithmetic on ECRec's ablation and time of a save: not reproduced to the point.""",
        lambda _: _of_ecrec([*ecrm.normal_rows(), *ecrm.ablation_rows()]),
        lambda: None,
    ),
    "ecrm-recovery": Section(
        """A load of a checkpoint, and repeated training: none at best, half an interval on average,
        a whole one at worst. Under ECRec training resumes after 30 s. All rows of checkpoints rest
        on four load times, one a model.""",
        lambda _: _of_ecrec([*ecrm.recovery_rows(), *ecrm.ratio_rows()]),
        lambda: None,
    ),
}
#: Sections on published numbers without a picture, by their headings.
APART: Final[dict[str, Section]] = {
    "Effective training time": Section(
        f"""FT-HSDP trains on 100,000 GPUs, with a failure every {effective.GAP_MIN:g} min. The
        published pair is not reproduced. 44 % is 1 - 10/18: stalls one after the other. In the
        simulator gaps begin when a stall is over, or, with `failures.while_waiting` and
        `cluster.holds_nodes`, stalls overlap. Either way FT-HSDP stays above 80 %; its other losses
        aren't known here. The PyTorch blog's best interval is Young's.""",
        effective.lines,
        lambda: effective.played(100),
        effective.played,
    ),
    "AIReSim": Section(
        """AIReSim (arXiv 2603.07041) simulates clusters without checkpoints; its default job is
        shipped as scenarios/airesim.toml: 4,096 servers for 256 days, each failure a stop of 20
        min, and 15 % of the servers bad until a repair cures them. No constant is fitted. Left out
        are host selections and preemptions, 7 h of the job in April. *September* is its report of
        22 September 2026. ± is of 30 runs; its own is 12 h.""",
        airesim.lines,
        lambda: airesim.played(3),
        airesim.played,
    ),
    "Goodput by cause": Section(
        """12-gpu-goodput-mtbi simulates 128 GPU nodes whose failures have seven causes. Its
        baseline is shipped as scenarios/causes.toml; nothing is fitted. The bounds in the notes
        were set after a first look at the differences. Its goodput is known to some 0.5 points. Its
        job lasts 28 days of the wall clock, ours trains for 28 days, which matters where the job
        mostly waits for machines.""",
        goodput.lines,
        lambda: goodput.played(64),
        goodput.played,
    ),
}
