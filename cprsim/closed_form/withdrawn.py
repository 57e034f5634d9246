"""What it costs where servers are withdrawn for a while: going on with fewer, or waiting.

Exact for a job without failures, all of whose saves but the last before a stop come as they would.
"""


def fewer_extra_s(
    window_s: float, degraded: float, move_s: float, reshard_s: float, fill_s: float
) -> float:
    """Time that a job takes longer which goes on with the servers that are left.

    Parameters
    ----------
    window_s : float
        For how long servers are withdrawn, s, >= 0.
    degraded : float
        Share of time by which a useful second takes longer meanwhile, >= 0: `bound k / (n - k)`
        with k of n servers withdrawn.
    move_s, reshard_s : float
        What training stops for: rows move to the others, and are placed anew, s, >= 0.
    fill_s : float
        Until the servers that are back have their rows again, s, >= 0.

    Returns
    -------
    float
        Wall time, s, where it trains from the end of the stop until they are filled.
    """
    stop_s = move_s + reshard_s
    slow_s = max(window_s - stop_s, 0.0) + fill_s
    return stop_s + degraded / (1 + degraded) * slow_s


def waiting_extra_s(
    window_s: float, save_s: float, shutdown_s: float, start_s: float, load_s: float
) -> float:
    """Time that a job takes longer which saves, ends, waits, starts and loads.

    Parameters
    ----------
    window_s : float
        For how long servers are withdrawn, s, >= 0.
    save_s, shutdown_s : float
        The last save and the end, which are over when they go, s, >= 0.
    start_s, load_s : float
        The start, scheduling included, and the load when they are back, s, >= 0.

    Returns
    -------
    float
        Wall time, s.
    """
    return window_s + save_s + shutdown_s + start_s + load_s


def break_even_s(
    degraded: float, move_s: float, reshard_s: float, fill_s: float, stop_s: float
) -> float:
    """The window from which on it takes less to go on with fewer servers than to wait.

    Parameters
    ----------
    degraded, move_s, reshard_s, fill_s : float
        As in `fewer_extra_s`.
    stop_s : float
        What waiting takes beside the window: save, shutdown, start and load, s, >= 0.

    Returns
    -------
    float
        Its length, s; 0 where waiting takes longer however short the window is.

    Notes
    -----
    Both are lines in the window's length from `move_s + reshard_s` on, where going on has slope
    `d / (1 + d)` and waiting 1; below that going on is constant.
    """
    pause_s = move_s + reshard_s
    least_s = pause_s + degraded / (1 + degraded) * fill_s - stop_s
    if least_s <= pause_s:
        return max(least_s, 0.0)
    return pause_s + degraded * fill_s - (1 + degraded) * stop_s
