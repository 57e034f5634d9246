"""The section of docs/validation.md that compares picks of `advise` with brute force.

Its numbers are those of the outcomes that `tools.validation.advice.regret` wrote.
"""

from typing import Final

import pandas as pd
from scipy.stats import binomtest

from tools.tables import markdown
from tools.validation.advice.brute import FEWEST, MOST
from tools.validation.advice.jobs import JOBS
from tools.validation.advice.regret import SURE

HEADING: Final = "## What `advise` picks"
#: What is aimed at: percent of the useful time in the mean, and percent of certificates.
MOST_REGRET, MOST_WRONG = 0.05, 5.0

_TEXT = f"""\
{HEADING}

`advise` answers for jobs of a Latin hypercube: 1 to 20 days, an MTBF of 2 to 200 h under three
laws, 4 to 64 servers, 8 to 128 trainers, 50 GB to 5 TB, stores of 1 to 20 GB/s, some with
severities, rows, limits, other objectives and limited memory. It is compared with brute force:
every system, every value of its choices and a grid of intervals (coarse for CPR's policies that
choose rows). The last few candidates meet {FEWEST:,} to {MOST:,} fresh timelines.

*Regret* is how much more the pick takes than the best within the bounds, in points: percent of the
useful time (the aim is a mean up to {MOST_REGRET:g}). A certificate is *wrong* where the pick
breaks a bound, or a candidate of the answer within all bounds is better by more than {SURE:g}
standard errors (and by more than `within`, if the verdict is "tied"); the aim is up to
{MOST_WRONG:g} % of them. `tools/validation/advice/regret.csv` has all jobs.

"""


def section(found: pd.DataFrame) -> str:
    """The section, of outcomes that were written."""
    return _TEXT + _summary(found)


def summary(found: pd.DataFrame) -> dict[str, float]:
    """Regrets in points, and how many certificates there are, and are wrong."""
    claims = found[found["verdict"].isin(("best", "tied"))]
    regret = found["regret"]
    return {
        "asked": len(found),
        "mean": regret.mean(),
        "clipped": regret.clip(lower=0.0).mean(),
        "p95": regret.quantile(0.95),
        "most": regret.max(),
        "claims": len(claims),
        "wrong": int((claims["wrong"] != "").sum()),
        "broken": int(found["broken"].sum()),
        "median_s": found["seconds"].median(),
        "most_s": found["seconds"].max(),
    }


def _summary(found: pd.DataFrame) -> str:
    told = summary(found)
    interval = binomtest(int(told["wrong"]), int(told["claims"])).proportion_ci()
    verdicts = found["verdict"].value_counts()
    rows = {
        "jobs": f"{told['asked']:.0f} of {JOBS}",
        "regret, points: mean": f"{told['mean']:.4f}",
        "the same, where the pick is the better one as 0": f"{told['clipped']:.4f}",
        "95th percentile": f"{told['p95']:.4f}",
        "most": f"{told['most']:.4f}",
        "verdicts": ", ".join(f"{count} {name}" for name, count in verdicts.items()),
        "wrong certificates": (
            f"{told['wrong']:.0f} of {told['claims']:.0f}, that is "
            f"{100 * told['wrong'] / told['claims']:.1f} % (95 % interval of Clopper and Pearson "
            f"{100 * interval.low:.1f} to {100 * interval.high:.1f})"
        ),
        "picks that break a bound": f"{told['broken']:.0f}",
    }
    return markdown(("", ""), rows.items())
