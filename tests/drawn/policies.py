"""Random policies: for each system a table of its keys that fits the job."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from hypothesis import strategies as st

from tests.drawn.numbers import YES, JobSize, duration, from_zero

#: The keys of a table but `system`.
Keys = dict[str, Any]
#: Systems that have to know how rows are accessed.
PRIORITY: Final = ("cpr-scar", "cpr-mfu", "cpr-ssu")

#: Tables of keys.
_Tables = st.SearchStrategy[Keys]

_INTERVALS: Final = st.sampled_from(["optimal", "exact", "given", "default"])
_TARGET_PLS: Final[st.SearchStrategy[Any]] = st.floats(0.02, 1.0)
_TARGETS: Final[_Tables] = st.fixed_dictionaries(
    {}, optional={"target_pls": _TARGET_PLS, "pls_interval": st.sampled_from(["mean", "E6"])}
)
_PORTIONS: Final[_Tables] = st.fixed_dictionaries(
    {},
    optional={
        "fraction": st.floats(0.1, 1.0),
        "slowdown": from_zero(0.2),
        "merge_after": st.integers(1, 20),
        "writes": st.floats(0.05, 1.0),
        "select": from_zero(20.0).map(lambda size: f"{size!r} s"),
    },
)
_AFTER_VOID: Final[_Tables] = st.sampled_from(
    [{}, {}, {"after_void": "retry"}, {"after_void": "skip"}]
)
_SUBSAMPLES: Final[_Tables] = st.fixed_dictionaries({}, optional={"subsample": st.integers(1, 4)})
_IN_FLIGHT: Final[_Tables] = st.fixed_dictionaries({}, optional={"in_flight": st.integers(1, 3)})
_COPIES: Final[_Tables] = st.fixed_dictionaries(
    {},
    optional={
        "copies": st.integers(1, 3),
        "slowdown": from_zero(0.5),
        "aggregation": st.integers(1, 4),
        "degraded": from_zero(0.2),
    },
)
_NO_SNAPSHOT: Final[_Tables] = st.sampled_from([None, "0 s", "0 ms"]).map(
    lambda text: {"snapshot": text} if text else {}
)
_SMALL: Final = from_zero(0.2)
_RATES: Final = st.floats(1e9, 1e12).map(lambda rate: f"{rate!r} B/s")
_CODES: Final[_Tables] = st.fixed_dictionaries(
    {},
    optional={
        "parity": st.integers(0, 3),
        "two_phase_commit": YES,
        "nn_replication": YES,
        "degraded": _SMALL,
    },
)
_DIFFERENCES: Final[_Tables] = st.fixed_dictionaries(
    {"modified": st.floats(0.01, 1.0)},
    optional={
        "variant": st.sampled_from(["one-shot", "consecutive", "intermittent"]),
        "bits": st.integers(1, 32),
        "tracking": _SMALL,
        "growth": from_zero(1.0),
    },
)
_ON_NOTICE: Final[_Tables] = st.sampled_from(
    [{}, {}, {}, {}, {"on_notice": "save"}, {"on_notice": "drain"}]
)
#: Systems that have answers to notices, whatever their keys.
ANSWERING: Final = frozenset(
    {"full", "partial", "cpr-vanilla", "async", "check-n-run", "accepted-loss", "autopilot"}
    | {"delta", "elastic", "twin-groups"}
)
_BEHIND: Final[_Tables] = st.fixed_dictionaries({}, optional={"behind": st.integers(0, 2)})
_EXPERTS: Final[_Tables] = st.fixed_dictionaries(
    {"experts": st.integers(4, 9), "per_save": st.integers(1, 4)},
    optional={"expert_share": from_zero(1.0), "dynamic": YES, "plt_limit": st.floats(0.001, 0.1)},
)
_TIERS: Final = st.sampled_from(["l", "p", "r", "lr", "pr", "lp", "lpr"])
_DIFFERENTIAL: Final[_Tables] = st.fixed_dictionaries(
    {}, optional={"differential": st.floats(0.05, 1.0), "base_every": st.integers(1, 4)}
)


def policy(draw: st.DrawFn, system: str, job: JobSize) -> Keys:
    """A table of that system."""
    keys = {"system": system} | _KEYS[system](draw, job) | draw(_AFTER_VOID)
    return keys | draw(_ON_NOTICE) if system in ANSWERING else keys


def _rule(draw: st.DrawFn, job: JobSize, rule: str, stretch: float = 1.0) -> Keys:
    """`interval`, if any."""
    if rule == "default":
        return {}
    return {"interval": job.interval(draw, stretch) if rule == "given" else rule}


def _seconds(draw: st.DrawFn, job: JobSize) -> str:
    """Little beside the time between failures."""
    return duration(draw, job.mtbf_s / 2000, job.mtbf_s / 300)


def _blocking(draw: st.DrawFn, job: JobSize) -> Keys:
    return _rule(draw, job, draw(_INTERVALS))


def _cpr(draw: st.DrawFn, job: JobSize) -> Keys:
    return draw(_TARGETS) | _rule(draw, job, "given" if draw(YES) else "default")


def _priority(draw: st.DrawFn, job: JobSize) -> Keys:
    return draw(_PORTIONS) | _cpr(draw, job)


def _ssu(draw: st.DrawFn, job: JobSize) -> Keys:
    return draw(_SUBSAMPLES) | _priority(draw, job)


def _async(draw: st.DrawFn, job: JobSize) -> Keys:
    keys, rule = draw(_IN_FLIGHT), draw(_INTERVALS)
    if rule == "given" and draw(YES):  # copy-on-write, which has no optimal interval
        keys |= draw(_NO_SNAPSHOT)
    else:
        keys["snapshot"] = _seconds(draw, job)
    if draw(YES):
        keys["staging"] = "pinned" if draw(YES) else "pageable"
        if job.has_model:
            keys["host_memory"] = "1e6 PB"
        # A step that is shorter than the snapshot: what it hides has an optimal interval still.
        keys["iteration"] = f"{job.mtbf_s / 1e6!r} s"
        keys["max_overhead"] = 0.01 + draw(_SMALL)
    return keys | _rule(draw, job, rule)


def _replication(draw: st.DrawFn, job: JobSize) -> Keys:
    keys, rule = draw(_COPIES), draw(_INTERVALS)
    keys["copies"] = min(keys.get("copies", 2), job.servers)
    # With its links full, training takes that many times as long.
    stretch = keys["copies"] * (1 + keys.get("slowdown", 0.0))
    if keys["copies"] == 2 and draw(YES):
        del keys["copies"]
    if keys.get("aggregation", 1) > job.trainers:
        keys.pop("aggregation", None)
    if draw(YES):
        keys["takeover"] = _seconds(draw, job)
    # Without checkpoints the job starts over whenever all copies of a shard are gone.
    ends = job.sure_to_end or job.useful_s * stretch < job.mtbf_s / 2
    if (rule == "default" and not ends) or (rule != "default" and stretch > 2):
        rule = "given"
    return keys | _rule(draw, job, rule, stretch)


def _ecrm(draw: st.DrawFn, job: JobSize) -> Keys:
    keys = draw(_CODES)
    keys["parity"] = min(keys.get("parity", 2), job.servers - 1)
    keys["resume"] = _seconds(draw, job)
    measured = {
        "coding": keys["parity"] > 0,
        "commit": keys["parity"] > 0 and keys.get("two_phase_commit", True),
        "replication": keys.get("nn_replication", True),
    }
    keys |= {name: draw(_SMALL) for name, goes in measured.items() if goes and draw(YES)}
    if job.has_model and draw(YES):
        keys |= {"rebuild_fixed": _seconds(draw, job)}
        keys |= {"rebuild_read": draw(_RATES), "rebuild_write": draw(_RATES)}
    return keys | _rule(draw, job, "given", stretch=4.0)


def _check_n_run(draw: st.DrawFn, job: JobSize) -> Keys:
    keys = draw(_DIFFERENCES)
    return keys | {"snapshot": _seconds(draw, job)} | _rule(draw, job, "given")


def _delta(draw: st.DrawFn, job: JobSize) -> Keys:
    keys = {key: value for key, value in _check_n_run(draw, job).items() if key != "variant"}
    return keys | {"merge": f"{job.mtbf_s * draw(st.floats(0.05, 2.0))!r} s"}


def _in_memory(draw: st.DrawFn, job: JobSize) -> Keys:
    keys = draw(_BEHIND)
    # Copies of each step may fill the cards, so that training takes longer; not for ever.
    keys["iteration"] = f"{job.mtbf_s / 20!r} s"
    if draw(YES):
        keys["stall"] = f"{job.mtbf_s / 1000!r} s"
    if draw(YES):
        keys["retrieval"] = _seconds(draw, job)
    return keys | _rule(draw, job, "given", stretch=4.0)


def _peer_memory(draw: st.DrawFn, job: JobSize) -> Keys:
    return _in_memory(draw, job) | {"copies": 1 + int(draw(YES) and job.servers > 1)}


def _hot_swap(draw: st.DrawFn, job: JobSize) -> Keys:
    # A large snapshot each step may fill a card, and the job would get nowhere.
    keys = _in_memory(draw, job) | {"takeover": _seconds(draw, job), "snapshot": "10 kB"}
    return keys | {"spares": min(draw(st.integers(0, 3)), job.servers + job.trainers)}


def _tiered(draw: st.DrawFn, job: JobSize) -> Keys:
    names, interval_s = draw(_TIERS), 0.4 * job.mtbf_s
    if not job.sure_to_end:  # without the store the job may start over again and again
        names = names.replace("r", "") + "r"
    keys: Keys = {}
    for letter, name in (("r", "remote"), ("p", "peer"), ("l", "local")):
        if letter not in names or (letter == "p" and job.servers < 2):
            continue
        place = draw(_DIFFERENTIAL) | {"interval": f"{interval_s!r} s"}
        if "base_every" in place and "differential" not in place:
            del place["base_every"]
        if letter != "r":
            place |= {"save": _seconds(draw, job), "load": _seconds(draw, job)}
        if draw(YES):
            place |= {"blocking": False, "snapshot": _seconds(draw, job)}
        keys[name] = place
        interval_s /= 4
    return keys or {"remote": {"interval": f"{interval_s!r} s"}}


def _partial_experts(draw: st.DrawFn, job: JobSize) -> Keys:
    keys = draw(_EXPERTS)
    if draw(YES):
        keys |= {"blocking": True}
    else:
        keys["snapshot"] = _seconds(draw, job)
    if draw(YES):
        keys |= {"snapshot_experts": keys["per_save"], "snapshot_load": _seconds(draw, job)}
    return keys | _rule(draw, job, "given")


def _accepted_loss(draw: st.DrawFn, job: JobSize) -> Keys:
    keys: Keys = {"snapshot": _seconds(draw, job)} if draw(YES) else {}
    return keys | _rule(draw, job, "given")


def _autopilot(draw: st.DrawFn, job: JobSize) -> Keys:
    keys: Keys = {"prior": duration(draw, job.mtbf_s / 10, job.mtbf_s * 10)}
    if draw(YES):
        keys["weight"] = draw(st.floats(0.1, 20.0))
    return keys | ({"target_pls": draw(_TARGET_PLS)} if draw(YES) else {})


def _elastic(draw: st.DrawFn, job: JobSize) -> Keys:
    keys = draw(_FEWER)
    keys["least"] = min(keys.get("least", 1), job.servers)
    return keys | {"reshard": _seconds(draw, job)} | _blocking(draw, job)


def _twin_groups(draw: st.DrawFn, job: JobSize) -> Keys:
    groups = draw(st.sampled_from([n for n in range(2, 9) if job.servers % n == 0]))
    keys = {"groups": groups, "sync": _seconds(draw, job), "every": f"{job.mtbf_s / 10!r} s"}
    return keys | _rule(draw, job, "given")


_FEWER: Final[_Tables] = st.fixed_dictionaries(
    {"bound": from_zero(1.0)}, optional={"least": st.integers(1, 4)}
)
_KEYS: Final[Mapping[str, Callable[[st.DrawFn, JobSize], Keys]]] = {
    "full": _blocking,
    "partial": _blocking,
    "cpr-vanilla": _cpr,
    "cpr-scar": _priority,
    "cpr-mfu": _priority,
    "cpr-ssu": _ssu,
    "async": _async,
    "replication": _replication,
    "ecrm": _ecrm,
    "check-n-run": _check_n_run,
    "delta": _delta,
    "peer-memory": _peer_memory,
    "hot-swap": _hot_swap,
    "tiered": _tiered,
    "partial-experts": _partial_experts,
    "accepted-loss": _accepted_loss,
    "autopilot": _autopilot,
    "elastic": _elastic,
    "twin-groups": _twin_groups,
}
#: The systems that policies are drawn of.
SYSTEMS: Final = tuple(_KEYS)
