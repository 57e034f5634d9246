"""Partial experts checkpointing: each save takes some experts of a mixture, in rotation.

Cai et al., "Partial Experts Checkpoint" and "MoC-System" (arXiv 2408.04307). A fault sends the
whole job back to its last save, but an expert that this save left out comes from an older one.
`experts`: experts of a layer, N, >= 1. `per_save`: how many of them a save takes, K, 1 to N: the
next K, round and round; K needn't divide N.
"""

from cprsim.formulas.checks import check_duration, check_positive


def checkpoint_share(expert_share: float, experts: int, per_save: int) -> float:
    """Size of a checkpoint that holds some of the experts, over that of a whole one, 0 to 1.

    `expert_share`: share of the experts in the whole checkpoint, with optimiser state, 0 to 1.

    `(P_ne + (K/N) P_e) / (P_ne + P_e)`: equation 6 of the paper. The paper reports 42.3 % for K = 1
    of 16 experts. That is a measurement which doesn't follow from the shares it prints, 14 % and 86
    %: by equation 6 they give 14 % + 86 %/16 = 19.4 %.
    """
    _check_rotation(experts, per_save)
    if not 0 <= expert_share <= 1:
        raise ValueError(f"expert_share must be from 0 to 1, got {expert_share}")
    return 1 - expert_share + expert_share * per_save / experts


def rotation_left_s(
    experts: int, per_save: int, period_s: float, saves: int | None = None
) -> list[float]:
    """Updates that no save holds just after the 1st, 2nd, ... save, averaged over the experts, s.

    `period_s`: work between two saves, s, > 0. `saves`: how many saves to return, >= 1; without it,
    as many as it takes to stay the same.

    After n saves since every expert was whole the j-th youngest of the experts, j = 0 to N - 1, was
    saved `floor(j/K)` saves ago, or is still as it was n periods ago: `I/N sum_j min(floor(j/K),
    n)`, exact. From save `ceil(N/K) - 1` on that is constant, `(N/K - 1) I/2` where K divides N.
    """
    _check_rotation(experts, per_save)
    check_positive(period_s=period_s)
    check_duration(period_s=period_s)
    if saves is None:
        saves = max(_steady(experts, per_save), 1)
    if not saves >= 1:
        raise ValueError(f"saves must be >= 1, got {saves}")
    return [_left_s(experts, per_save, period_s, done) for done in range(1, saves + 1)]


def _left_s(experts: int, per_save: int, period_s: float, saves: int) -> float:
    # The sum over the experts of min(j // K, n): K of each age up to the oldest, then the rest.
    ages, rest = divmod(experts, per_save)
    saves = min(saves, _steady(experts, per_save))
    below = min(ages, saves + 1)
    ages_sum = per_save * (below * (below - 1) // 2 + (ages - below) * saves)
    return period_s * (ages_sum + rest * min(ages, saves)) / experts


def _steady(experts: int, per_save: int) -> int:
    """Saves after which the oldest expert is as old as it gets."""
    return -(-experts // per_save) - 1


def _check_rotation(experts: int, per_save: int) -> None:
    if not experts >= 1:
        raise ValueError(f"experts must be >= 1, got {experts}")
    if not 1 <= per_save <= experts:
        raise ValueError(f"per_save must be from 1 to experts={experts}, got {per_save}")
