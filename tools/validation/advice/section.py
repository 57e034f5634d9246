"""The section of docs/validation.md that holds what `advise` picks against brute force.

`python -m tools.validation.advice.section` puts it in its place on the page, from the outcomes that
`tools.validation.advice.regret` wrote.
"""

from collections.abc import Iterator
from typing import Any, Final

import pandas as pd
from scipy.stats import binomtest

from tools.paths import DOCS
from tools.validation.advice.brute import FEWEST, MOST
from tools.validation.advice.jobs import JOBS
from tools.validation.advice.regret import SURE, read
from tools.validation.choices_section import HEADING as NEXT

HEADING: Final = "## What `advise` picks"
#: What is aimed at: percent of the useful time in the mean, and percent of certificates.
MOST_REGRET, MOST_WRONG = 0.05, 5.0
_WORST: Final = 5

_TEXT = f"""\
{HEADING}

`advise` searches the settings of every system and says which is best. Here it is asked about jobs
of a Latin hypercube (`tools/validation/advice/jobs.py`): 1 to 20 days, an MTBF of 2 to 200 h under
three laws, 4 to 64 servers and 8 to 128 trainers, 50 GB to 5 TB, stores of 1 to 20 GB/s, with
severities, rows, limits and objectives in parts of them; half of the jobs say the memory of their
servers, 1.2 to 8 times what the model takes. Costs of systems are derived or assumed but for those
that a job gives. Where a question says no limit, its first answer is judged, which loses nothing.
Beside it stands brute force
(`brute.py`): every system that can be asked, at every value of its choices and on a grid of
intervals (down to 3e-4 of the job, or a thousandth of the MTBF),
and no search. Whoever does worse on few timelines is left out; the last few, the pick
and what is tied with it meet {FEWEST:,} to {MOST:,} timelines that nothing was chosen by. Of CPR's
policies that choose rows only a coarse grid is tried, as their plans take long.

*Regret* is what the pick takes more than the best that keeps to the bounds, in points: percent of
the useful time. It should be {MOST_REGRET:g} at most in the mean. A certificate is *wrong* where
the pick breaks a bound, or a candidate of the answer that keeps to all is better beyond {SURE:g}
standard errors, and by more than `within` where the verdict is "tied". No more than
{MOST_WRONG:g} % of them should be.

"""


def section(found: pd.DataFrame) -> str:
    """The section, of outcomes that were written."""
    return _TEXT + _summary(found) + _worst(found)


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
    return _table(("", ""), rows.items()) + "\n"


def _worst(found: pd.DataFrame) -> str:
    """The jobs with the most regret."""
    head = f"The {_WORST} jobs with the most regret; what is to be least in percent:\n\n"
    heads = "job", "least of", "bound", "verdict", "picked", "best by brute force", "regret, points"
    return head + _table(heads, _worst_rows(found))


def _worst_rows(found: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    for _, each in found.sort_values("regret", ascending=False).head(_WORST).iterrows():
        yield (
            str(each["number"]),
            each["objective"],
            each["bound"],
            each["verdict"],
            f"`{each['picked']}`: {each['picked_at']:.4f}",
            f"`{each['best']}`: {each['best_at']:.4f}",
            f"{each['regret']:.4f} ± {each['regret_se']:.4f}",
        )


def _table(heads: tuple[str, ...], rows: Any) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def write() -> None:
    """Put the section in its place on the page."""
    page = DOCS / "validation.md"
    text = page.read_text(encoding="utf-8")
    following = text.index(NEXT) if NEXT in text else len(text)
    start = text.index(HEADING) if HEADING in text else following
    page.write_text(text[:start] + section(read()) + "\n" + text[following:], encoding="utf-8")


if __name__ == "__main__":
    write()
