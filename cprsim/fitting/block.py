"""The `[failures]` block of a scenario that a fit makes: `cprsim fit --toml`."""

import textwrap
from typing import Any

from cprsim import units
from cprsim.distributions import Distribution
from cprsim.fitting.fit import LogFit

_MOST_DURATIONS = 5000  # that anybody would paste into a scenario
_DIGITS = 6  # far below what any log tells
_WIDTH = 96


def block(fitted: LogFit) -> str:
    """A `[failures]` table for a scenario file, with comments that say where it comes from.

    The best law if it is adequate. Else the log itself, to be replayed; or the durations, where
    there is no log of nodes to replay; or, where some of these are censored, still the best law.
    """
    import tomli_w  # noqa: PLC0415  (only those who write need it)

    table = _keys(fitted)
    if fitted.bursts is not None and table.get("per") == "node":
        law = fitted.bursts.law
        table["bursts"] = law.mapping() | {"mean": _rounded(law.mean_s)}
    lines = [*_comments(fitted), tomli_w.dumps({"failures": table})]
    return "\n".join(lines)


def _keys(fitted: LogFit) -> dict[str, Any]:
    sample = fitted.view.sample
    if fitted.verdict.adequate:
        return _law(fitted.best.law) | {"per": fitted.view.per}
    if fitted.source.reader != "intervals" and fitted.source.path:
        return _replay(fitted)
    if not sample.censored and sample.n <= _MOST_DURATIONS:
        durations = [_rounded(each) for each in sample.durations_s.tolist()]
        return {"distribution": "empirical", "durations": durations, "per": fitted.view.per}
    return _law(fitted.best.law) | {"per": fitted.view.per}


def _law(law: Distribution) -> dict[str, Any]:
    rounded = {
        key: float(f"{getattr(law, key):.{_DIGITS}g}")
        for key in ("shape", "cv")
        if getattr(law, key)
    }
    return {"distribution": law.distribution, "mean": _rounded(law.expected_s), **rounded}


def _replay(fitted: LogFit) -> dict[str, Any]:
    source = fitted.source
    window = None if source.window is None else "{!r}:{!r}".format(*source.window)
    coalesce = (
        None if source.coalesce_s is None else units.format_exact(source.coalesce_s, units.SECONDS)
    )
    keys = {
        "trace": source.path,
        "reader": source.reader,
        "system": source.system,
        "window": window,
        "coalesce": coalesce,
    }
    return {key: value for key, value in keys.items() if value is not None}


def _rounded(seconds: float) -> str:
    """A duration in hours or seconds, to as many digits as make sense."""
    hours = seconds / units.SECONDS["h"]
    return f"{hours:.{_DIGITS}g} h" if hours >= 1 else f"{seconds:.{_DIGITS}g} s"


def _comments(fitted: LogFit) -> list[str]:
    sample = fitted.view.sample
    what = {
        "gaps": "times between failures of the whole system",
        "job": f"times between failures of a job on {fitted.view.nodes} of its nodes",
        "uptime": "uptimes of its nodes",
    }[fitted.look]
    censored = f", {sample.censored} of them censored" if sample.censored else ""
    texts = [f"{fitted.source}: {sample.n} {what}{censored}.", *fitted.notes]
    return [f"# {line}" for text in texts for line in textwrap.wrap(text, _WIDTH)]
