"""The portion of lost samples (PLS) of a whole job under partial recovery, and its inverse.

Maeng et al., "Understanding and Improving Failure Tolerant Training for Deep Learning
Recommendation with Partial Recovery", MLSys'21; equation numbers are those of the project's notes.
A failure takes from a server what it was trained since the last save: the *age* of that save. The
mean age over the wall clock of the job, for each useful second, gives the PLS. CPR's (E5) and (E6)
take half an interval for it, which leaves out what falls into a save, and the end of the job.

`interval_s`: work between two saves, s, > 0; infinite for none. `save_s`: time that one save stops
the training, s, >= 0. `mtbf_s`: mean time between failures of the whole job, s, > 0. `servers`:
embedding parameter servers, >= 1. `servers_hit`: mean number of servers that one failure takes
down, 0 to `servers`. `useful_time_s`: work of the whole run, s, > 0, which ends with its work and
not with a save; infinite for the long run. `target_pls`: portion of lost samples to aim at (0.1 is
10 %), > 0.
"""

import math

from cprsim.formulas.checks import check_duration, check_positive, hit_fraction
from cprsim.formulas.makespan import segment_count


def expected_pls(interval_s: float, mtbf_s: float, servers: int, servers_hit: float = 1.0) -> float:
    """Expected portion of lost samples over a run of any length under partial recovery.

    `k tau / (2 M N)`: CPR equation E5, times k. First order: exact only for free saves, see
    `mean_pls`. A sample lost twice by the same server counts twice.
    """
    check_positive(interval_s=interval_s, mtbf_s=mtbf_s)
    fraction = hit_fraction(servers, servers_hit)
    # No server hit means no loss, however stale its save is; inf * 0 would say NaN.
    return 0.0 if fraction == 0 or math.isinf(mtbf_s) else interval_s / 2 / mtbf_s * fraction


def pls_interval_s(
    target_pls: float, mtbf_s: float, servers: int, servers_hit: float = 1.0
) -> float:
    """CPR's interval, s: the rarest saving that keeps the expected PLS at its target.

    `2 PLS N M / k`, first order: CPR (MLSys'21) equation E6, the inverse of E5. The paper as
    recalled has k = 1; with k servers down at once every one of them adds its share. Infinite
    without failures or where no failure hits a server.
    """
    check_positive(target_pls=target_pls, mtbf_s=mtbf_s)
    fraction = hit_fraction(servers, servers_hit)
    return math.inf if fraction == 0 else 2 * target_pls * mtbf_s / fraction


def mean_age_s(interval_s: float, save_s: float, useful_time_s: float = math.inf) -> float:
    """Age of the last save, integrated over a job's wall clock, per useful second.

    While a save lasts the age is the interval. `(n tau**2/2 + r**2/2 + n save tau)/T` with `n`
    saves, and `r` of work after the last; in the long run `tau/2 + save`. Exact. Infinite where
    neither saves nor the job end it.
    """
    check_positive(interval_s=interval_s, useful_time_s=useful_time_s)
    check_duration(save_s=save_s)
    if interval_s >= useful_time_s:
        return useful_time_s / 2
    if math.isinf(useful_time_s):
        return interval_s / 2 + save_s
    saves = segment_count(useful_time_s, interval_s) - 1
    rest_s = useful_time_s - saves * interval_s
    trained = saves * interval_s**2 / 2 + rest_s**2 / 2
    return (trained + saves * save_s * interval_s) / useful_time_s


def mean_pls(
    interval_s: float,
    save_s: float,
    mtbf_s: float,
    servers: int,
    servers_hit: float = 1.0,
    useful_time_s: float = math.inf,
) -> float:
    """Expected portion of lost samples; infinite in the long run without saves.

    `(k/N) age/M`: exact where failures come at one per MTBF of wall clock and none strikes a
    recovery, and a save outlives a failure.
    """
    fraction = hit_fraction(servers, servers_hit)
    check_positive(mtbf_s=mtbf_s)
    age_s = mean_age_s(interval_s, save_s, useful_time_s)
    return 0.0 if math.isinf(mtbf_s) or fraction == 0 else age_s / mtbf_s * fraction


def least_pls(save_s: float, mtbf_s: float, servers: int, servers_hit: float = 1.0) -> float:
    """Return `mean_pls` as saves follow ever more closely: a failure in one loses `save_s`."""
    check_duration(save_s=save_s)
    check_positive(mtbf_s=mtbf_s)
    return save_s / mtbf_s * hit_fraction(servers, servers_hit)


def mean_pls_interval_s(
    target_pls: float,
    save_s: float,
    mtbf_s: float,
    servers: int,
    servers_hit: float = 1.0,
    useful_time_s: float = math.inf,
) -> float:
    """The rarest saving at which `mean_pls` is the target, s.

    0 where no interval meets the target (see `least_pls`). Where even a job that never saves meets
    it, the interval of (E6), which is no shorter than the job then.

    With `n` saves `mean_age_s` is a parabola, rising in tau, and a shorter interval with one save
    more can be as old again. Of all `n` whose parabola meets the target, the least.
    """
    check_positive(target_pls=target_pls, mtbf_s=mtbf_s)
    check_duration(save_s=save_s)
    fraction = hit_fraction(servers, servers_hit)
    if math.isinf(mtbf_s) or fraction == 0:
        return math.inf
    age_s, total_s = target_pls * mtbf_s / fraction, useful_time_s
    if age_s >= total_s / 2:
        return 2 * age_s
    if age_s <= save_s:
        return 0.0
    if math.isinf(total_s):
        return 2 * (age_s - save_s)
    saves = max(math.ceil((total_s / 2 - age_s) / (age_s - save_s)), 1)
    square, linear = saves * (saves + 1) / 2, saves * (save_s - total_s)
    rest = total_s**2 / 2 - age_s * total_s
    return (-linear + math.sqrt(max(linear**2 - 4 * square * rest, 0.0))) / (2 * square)
