"""Copies and spares: the chance that enough of them are left."""

import math

from cprsim.formulas.checks import check_duration, check_positive


def group_survival(nodes: int, copies: int, failed: int) -> float:
    """Probability that no group of nodes that hold the same state is lost entirely.

    Parameters
    ----------
    nodes : int
        Nodes, in groups of `copies`, each of which holds the state of its whole group.
    copies : int
        Nodes in a group, >= 1; must divide `nodes`.
    failed : int
        Nodes that fail at once, any of them with the same chance, 0 to `nodes`.

    Returns
    -------
    float
        Probability, 0 to 1.

    Notes
    -----
    `1 - sum_{j>=1} (-1)^(j+1) C(N/m, j) C(N - jm, k - jm) / C(N, k)`, exact, by inclusion and
    exclusion over the groups lost.
    """
    _check_groups(nodes, copies, failed)
    if nodes % copies:
        raise ValueError(f"copies must divide nodes={nodes}, got {copies}")
    # Whole numbers up to the last step: the sum alternates, and floats would lose it.
    survived: int = sum(
        (-1) ** lost * math.comb(nodes // copies, lost) * _ways(nodes, copies, failed, lost)
        for lost in range(failed // copies + 1)
    )
    return survived / math.comb(nodes, failed)


def _check_groups(nodes: int, copies: int, failed: int) -> None:
    if not nodes >= 1:
        raise ValueError(f"nodes must be >= 1, got {nodes}")
    if not 1 <= copies <= nodes:
        raise ValueError(f"copies must be from 1 to nodes={nodes}, got {copies}")
    if not 0 <= failed <= nodes:
        raise ValueError(f"failed must be from 0 to nodes={nodes}, got {failed}")


def _ways(nodes: int, copies: int, failed: int, lost: int) -> int:
    """Sets of failed nodes that contain `lost` given groups."""
    rest = failed - lost * copies
    return math.comb(nodes - lost * copies, rest) if rest >= 0 else 0


def erlang_b(channels: int, load: float) -> float:
    """Erlang's loss formula: the share of time in which all channels are busy.

    Parameters
    ----------
    channels : int
        Channels, >= 0.
    load : float
        Arrivals in the mean time that a channel stays busy, >= 0.

    Returns
    -------
    float
        Probability, 0 to 1.

    Notes
    -----
    `B(0) = 1`, `B(c) = a B(c-1) / (c + a B(c-1))`: exact for Poisson arrivals, whatever the law
    of the busy times. An arrival that finds all channels busy is lost.
    """
    if not channels >= 0:
        raise ValueError(f"channels must be >= 0, got {channels}")
    check_duration(load=load)
    blocked = 1.0
    for busy in range(1, channels + 1):
        blocked = load * blocked / (busy + load * blocked)
    return blocked


def stalled_share(nodes: int, spares: int, node_mtbf_s: float, repair_s: float) -> float:
    """Share of time in which a job stands still because too many nodes are in repair.

    Parameters
    ----------
    nodes : int
        Nodes that the job runs on, N, >= 1.
    spares : int
        Further ones that wait, and don't fail while they do, K, >= 0.
    node_mtbf_s : float
        Mean time to failure of a running node, s, > 0.
    repair_s : float
        Mean time from a failure until the node is back, s, >= 0; each is repaired by itself.

    Returns
    -------
    float
        Share of the time, 0 to 1.

    Notes
    -----
    `erlang_b(K + 1, N repair / mtbf)`, as the job stalls when K + 1 nodes are down, and while it
    does nothing fails. Exact for exponential failures, whatever the law of the repairs.
    """
    if not nodes >= 1:
        raise ValueError(f"nodes must be >= 1, got {nodes}")
    if not spares >= 0:
        raise ValueError(f"spares must be >= 0, got {spares}")
    check_positive(node_mtbf_s=node_mtbf_s)
    check_duration(repair_s=repair_s)
    return erlang_b(spares + 1, nodes * repair_s / node_mtbf_s)


def share_waited(spares: float, away: float) -> float:
    """Mean wait for a machine, as a share of the delay until a lost one is replaced.

    Parameters
    ----------
    spares : float
        How many failures the pool bears before one has to wait; 0 for none.
    away : float
        Mean number of machines on their way to it, >= 0.

    Returns
    -------
    float
        Share, 0 to 1; 1 without spares.

    Notes
    -----
    Those on their way are as the guests of a service with room for all, so Poisson (Palm's
    theorem), and due at times uniform over the delay. With n of them the wait is for the
    (n - spares + 1)th of n, or for the own one. First order: nobody else waits.
    """
    check_duration(away=away)
    if spares <= 0:
        return 1.0
    share, likely = 0.0, math.exp(-away)
    for n in range(int(spares + 10 * (away + 5))):
        share += likely * max(n - spares + 1, 0.0) / (n + 1)
        likely *= away / (n + 1)
    return share
