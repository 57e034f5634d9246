"""Intervals that follow what a run has seen: how often it fails, and what its saves take."""


def mtbf_seen_s(prior_s: float, weight: float, failures: float, watched_s: float) -> float:
    """Inverse of the mean hazard that is believed in after so many failures in so much time, s.

    The hazard has the gamma law of `weight` failures in `weight * prior_s` to begin with, the
    conjugate one of exponential failures (A. Gelman et al., "Bayesian Data Analysis", 2013, ch.
    2.6), and so that of `weight + failures` in all the time later.
    """
    return (weight * prior_s + watched_s) / (weight + failures)


def save_seen_s(prior_s: float, saves: float, saving_s: float) -> float:
    """Mean of so many saves that took so much together, and of one that took what was believed."""
    return (prior_s + saving_s) / (1 + saves)


def partial_costs_less(save_s: float, full_s: float, mtbfs: float, spared_s: float) -> bool:
    """(E7) of CPR: whether partial recovery, with saves every so many MTBFs, costs less than full.

    In the time of an MTBF, (E2) has `save / mtbfs` for saves. (E1) has `sqrt(2 save MTBF)` for
    saves and lost computation at Young's interval, which is the same number, `full_s`. `spared_s`
    is what one recovery takes less.
    """
    return save_s / mtbfs - spared_s < full_s
