"""The `[failures]` block of a scenario that a fit makes: `cprsim fit --toml`."""

import textwrap
from pathlib import Path
from typing import Any

from cprsim import units
from cprsim.distributions import Distribution
from cprsim.fitting.logfit import LogFit
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Sample

_MOST_DURATIONS = 1000  # that anybody would paste into a scenario
_DIGITS = 6  # far below what any log tells
_WIDTH = 96


def block(fitted: LogFit) -> str:
    """A `[failures]` table for a scenario file, with comments that say where it comes from.

    The best law if it is adequate. Else the log itself, to be replayed; or the durations, where
    there is no log of nodes to replay, as the Kaplan-Meier curve has them if some are censored.
    """
    import tomli_w  # noqa: PLC0415  (only those who write need it)

    table = _keys(fitted)
    if fitted.bursts is not None and table.get("per") == "node":
        law = fitted.bursts.law
        table["bursts"] = law.mapping() | {"mean": _rounded(law.mean_s)}
    lines = [*_comments(fitted), tomli_w.dumps({"failures": table}).rstrip()]
    return "\n".join(lines)


def _keys(fitted: LogFit) -> dict[str, Any]:
    per: dict[str, Any] = {"per": fitted.view.per}
    if fitted.view.per == "node":
        per |= {"ages": "stationary"}  # the nodes of a log are of all ages
    if fitted.verdict.adequate:
        return _law(fitted.best.law) | per
    # A CSV log is replayed as it stands, so not to a job on some of the nodes.
    reader = fitted.source.reader
    of_nodes = bool(fitted.source.path) and reader != "intervals"
    if of_nodes and (reader != "csv" or fitted.look != "job"):
        return _replay(fitted)
    return _empirical(fitted.view.sample) | per


def _empirical(sample: Sample) -> dict[str, Any]:
    """The durations themselves; those of the Kaplan-Meier curve where some are censored or many."""
    lasted = sample.durations_s
    if sample.censored or sample.n > _MOST_DURATIONS:
        lasted = KaplanMeier.of(sample).typical(_MOST_DURATIONS)
    return {"distribution": "empirical", "durations": [_rounded(each) for each in lasted.tolist()]}


def _law(law: Distribution) -> dict[str, Any]:
    rounded = {
        key: float(f"{getattr(law, key):.{_DIGITS}g}")
        for key in ("shape", "cv")
        if getattr(law, key)
    }
    return {"distribution": law.distribution, "mean": _rounded(law.expected_s), **rounded}


def _replay(fitted: LogFit) -> dict[str, Any]:
    source = fitted.source
    # A CSV log is replayed by its own clock, which may be that of a calendar: start with its first.
    shares = (0.0, 1.0) if source.window is None and source.reader == "csv" else source.window
    window = None if shares is None else "{!r}:{!r}".format(*shares)
    coalesce = (
        None if source.coalesce_s is None else units.format_exact(source.coalesce_s, units.SECONDS)
    )
    keys = {
        "trace": str(Path(source.path).resolve()),  # the scenario may lie elsewhere
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
