"""Policies of any system with any of their keys, where failures come all the time."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from hypothesis import strategies as st

Keys = dict[str, Any]

#: What is drawn below 1e-12 is 0: scenarios take no number as small as a float can be.
SHARES: Final = st.floats(0.0, 1.0).map(lambda share: share if share > 1e-12 else 0.0)
YES: Final = st.booleans()
#: Of the model whose rows are saved: 100,000 rows of 16 elements, four bytes each.
MODEL_BYTES: Final = 4.0 * 16 * 10**5


def seconds(value: float) -> str:
    """A duration as scenario files write it."""
    return f"{value!r} s"


def between(draw: st.DrawFn, least: float, most: float) -> float:
    return least + (most - least) * draw(SHARES)


def rate_of(bytes_per_s: float) -> str:
    return f"{bytes_per_s!r} B/s"


def servers_of(cluster: Keys) -> int:
    return int(cluster["parameter_servers"])


def nodes_of(cluster: Keys) -> int:
    return servers_of(cluster) + int(cluster["trainers"])


def policy_of(draw: st.DrawFn, system: str, tables: Keys) -> Keys:
    keys: Keys = {"system": system}
    if system not in ("tiered", "autopilot"):  # whose tiers have one each; which plans its own
        keys["interval"] = seconds(between(draw, 10.0, 130.0))
    after_void = draw(st.sampled_from([{}, {"after_void": "retry"}, {"after_void": "skip"}]))
    return keys | after_void | _KEYS[system](draw, tables)


def _nothing(draw: st.DrawFn, tables: Keys) -> Keys:
    return {}


def _autopilot(draw: st.DrawFn, tables: Keys) -> Keys:
    keys: Keys = {"prior": seconds(between(draw, 5.0, 2000.0)), "weight": 0.2 + 5 * draw(SHARES)}
    return keys | ({"target_pls": 0.003 + draw(SHARES) * 0.1} if draw(YES) else {})


def _cpr(draw: st.DrawFn, tables: Keys) -> Keys:
    rule = draw(st.sampled_from(["mean", "E6"]))
    return {"target_pls": 0.02 + draw(SHARES) * 0.5, "pls_interval": rule} if draw(YES) else {}


def _priority(draw: st.DrawFn, tables: Keys) -> Keys:
    # Portions that make up rounds exactly, and others that don't.
    keys = {"fraction": draw(st.sampled_from([1.0, 0.5, 0.4, 0.3, 0.125]))}
    if draw(YES):
        keys["merge_after"] = draw(st.integers(1, 6))
    if draw(YES):
        keys |= {"writes": 0.05 + 0.95 * draw(SHARES), "select": seconds(2 * draw(SHARES))}
    return keys | _slowdown(draw) | _cpr(draw, tables)


def _ssu(draw: st.DrawFn, tables: Keys) -> Keys:
    lists = {"subsample": draw(st.integers(1, 3)), "together": draw(st.integers(1, 4))}
    return _priority(draw, tables) | lists


def _async(draw: st.DrawFn, tables: Keys) -> Keys:
    keys: Keys = {"snapshot": seconds(3 * draw(SHARES)), "in_flight": draw(st.integers(1, 3))}
    step: Keys = {"iteration": seconds(between(draw, 0.5, 3.0))}
    if draw(YES):
        keys |= {"staging": "pinned", "host_memory": "1 TB"} | step
    if draw(YES):
        keys |= {"interval": "checkfreq", "max_overhead": 0.005 + 0.05 * draw(SHARES)} | step
    return keys


def _replication(draw: st.DrawFn, tables: Keys) -> Keys:
    cluster = tables["cluster"]
    keys: Keys = {"copies": draw(st.integers(1, min(3, servers_of(cluster))))}
    if draw(YES):
        keys["takeover"] = seconds(3 * draw(SHARES))
    if draw(YES):
        keys["degraded"] = 0.3 * draw(SHARES)
    if draw(YES):
        keys["aggregation"] = draw(st.integers(1, max(cluster["trainers"], 1)))
    return keys | _slowdown(draw)


def _ecrm(draw: st.DrawFn, tables: Keys) -> Keys:
    keys: Keys = {
        "parity": draw(st.integers(0, min(3, servers_of(tables["cluster"]) - 1))),
        "resume": seconds(5 * draw(SHARES)),
    }
    if draw(YES):
        keys["degraded"] = 0.3 * draw(SHARES)
    if draw(YES):
        keys |= {"two_phase_commit": draw(YES), "nn_replication": draw(YES)}
    if draw(YES):
        keys |= {name: 0.1 * draw(SHARES) for name in ("coding", "commit", "replication")}
    if draw(YES):
        rates = ("rebuild_read", "rebuild_write")
        keys |= {name: rate_of(MODEL_BYTES / between(draw, 1.0, 20.0)) for name in rates}
        keys["rebuild_fixed"] = seconds(10 * draw(SHARES))
    return keys


def _check_n_run(draw: st.DrawFn, tables: Keys) -> Keys:
    keys: Keys = {
        "snapshot": seconds(3 * draw(SHARES)),
        "variant": draw(st.sampled_from(["one-shot", "consecutive", "intermittent"])),
    }
    if draw(YES):
        keys |= {"modified": 0.05 + 0.9 * draw(SHARES), "growth": draw(SHARES)}
    if draw(YES):
        keys |= {"bits": draw(st.integers(2, 32)), "tracking": 0.1 * draw(SHARES)}
    return keys


def _delta(draw: st.DrawFn, tables: Keys) -> Keys:
    keys = {key: value for key, value in _check_n_run(draw, tables).items() if key != "variant"}
    return keys | {"merge": seconds(between(draw, 5.0, 200.0))}


def _in_memory(draw: st.DrawFn, tables: Keys) -> Keys:
    keys: Keys = {"iteration": seconds(between(draw, 5.0, 20.0)), "behind": draw(_COUNTS)}
    if draw(YES):
        keys["stall"] = seconds(0.5 * draw(SHARES))
    if draw(YES):
        keys["retrieval"] = seconds(10 * draw(SHARES))
    return keys


_COUNTS: Final = st.integers(0, 2)


def _peer_memory(draw: st.DrawFn, tables: Keys) -> Keys:
    return _in_memory(draw, tables) | {"copies": draw(st.integers(1, 2))}


def _hot_swap(draw: st.DrawFn, tables: Keys) -> Keys:
    keys = _in_memory(draw, tables) | {"takeover": seconds(8 * draw(SHARES))}
    if draw(YES):
        keys["snapshot"] = f"{MODEL_BYTES / 100 * draw(SHARES)!r} B"
    return keys | {"spares": min(draw(st.integers(0, 3)), nodes_of(tables["cluster"]))}


def _tiered(draw: st.DrawFn, tables: Keys) -> Keys:
    keys: Keys = {}
    apart_s = between(draw, 5.0, 25.0)
    for name in ("local", "peer", "remote"):
        if draw(YES) and draw(YES):
            continue
        keys[name] = {"interval": seconds(apart_s)} | _place(draw, name)
        apart_s *= draw(st.floats(1.0, 4.0))
    return keys or {"remote": {"interval": seconds(apart_s)}}


def _place(draw: st.DrawFn, name: str) -> Keys:
    place: Keys = {}
    if draw(YES):
        place |= {key: seconds(between(draw, 0.1, 5.0)) for key in ("save", "load")}
    elif name != "remote" or draw(YES):
        rate = rate_of(MODEL_BYTES / between(draw, 1.0, 20.0))
        place |= {"write": rate, "read": rate}
    if name == "peer" and draw(YES):
        place["copies"] = 2
    if draw(YES):
        place |= {"blocking": False, "snapshot": seconds(2 * draw(SHARES))}
    if draw(YES):
        place["differential"] = 0.1 + 0.8 * draw(SHARES)
        if draw(YES):
            place["base_every"] = draw(st.integers(1, 4))
    return place


def _experts(draw: st.DrawFn, tables: Keys) -> Keys:
    experts = draw(st.integers(1, 8))
    each = draw(st.integers(1, experts))
    keys: Keys = {"experts": experts, "per_save": each, "expert_share": draw(SHARES)}
    keys |= {"blocking": True} if draw(YES) else {"snapshot": seconds(3 * draw(SHARES))}
    if draw(YES):
        keys["snapshot_experts"] = draw(st.integers(each, experts))
        keys["snapshot_load"] = seconds(5 * draw(SHARES))
    if draw(YES):
        keys |= {"dynamic": True, "plt_limit": 0.001 + 0.05 * draw(SHARES)}
    return keys


def _accepted_loss(draw: st.DrawFn, tables: Keys) -> Keys:
    return {"snapshot": seconds(3 * draw(SHARES))}


def _elastic(draw: st.DrawFn, tables: Keys) -> Keys:
    keys: Keys = {"bound": draw(SHARES)}
    if draw(YES):
        keys["reshard"] = seconds(3 * draw(SHARES))
    if draw(YES):
        keys["least"] = draw(st.integers(1, servers_of(tables["cluster"])))
    return keys


def _twin_groups(draw: st.DrawFn, tables: Keys) -> Keys:
    servers = servers_of(tables["cluster"])
    groups = draw(st.sampled_from([n for n in range(2, servers + 1) if servers % n == 0]))
    every, sync = seconds(between(draw, 3.0, 30.0)), seconds(2 * draw(SHARES))
    return {"groups": groups, "every": every, "sync": sync}


def _slowdown(draw: st.DrawFn) -> Keys:
    return {"slowdown": 0.2 * draw(SHARES)} if draw(YES) else {}


_KEYS: Final[Mapping[str, Callable[[st.DrawFn, Keys], Keys]]] = {
    "full": _nothing,
    "autopilot": _autopilot,
    "partial": _nothing,
    "cpr-vanilla": _cpr,
    "cpr-mfu": _priority,
    "cpr-ssu": _ssu,
    "cpr-scar": _priority,
    "async": _async,
    "replication": _replication,
    "ecrm": _ecrm,
    "check-n-run": _check_n_run,
    "delta": _delta,
    "peer-memory": _peer_memory,
    "hot-swap": _hot_swap,
    "tiered": _tiered,
    "partial-experts": _experts,
    "accepted-loss": _accepted_loss,
    "elastic": _elastic,
    "twin-groups": _twin_groups,
}
