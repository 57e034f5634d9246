"""Incremental checkpoints: a baseline, and then the rows modified since.

Eisenman et al., "Check-N-Run" (NSDI'22, arXiv 2010.08679): with intermittent baselines, a new one
is taken whenever that is predicted to pay.
"""


def rebaseline_pays(count: int, total: float, last: float) -> bool:
    """Whether Check-N-Run's predictor takes a new baseline in place of the next difference.

    Parameters
    ----------
    count : int
        Differences saved since the baseline, >= 1.
    total, last : float
        Sizes of all of them and of the last, over the baseline's, >= 0.

    Notes
    -----
    `1 + total <= (count + 1) last`: what the baseline and its differences wrote, against as many
    saves of the size that they have grown to. In this form, the last difference included on the
    left, it was read in a re-implementation by IncrCP's authors (PVLDB 18(4), 2025), with the
    baseline as the first entry of its history. Differences that don't grow never make it pay,
    unless they are as large as a baseline.
    """
    return 1 + total <= (count + 1) * last
