"""The `[failures]` block of a scenario that a fit makes: its law, or the log itself."""

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cprsim.basics import units
from cprsim.failures.logs.options import written
from cprsim.failures.logs.readers import READERS
from cprsim.fitting.strikes import RepairOf, failure_keys
from cprsim.survival.kaplan_meier import KaplanMeier

if TYPE_CHECKING:
    from cprsim.fitting.log_fit import LogFit

_MOST_DURATIONS = 1000  # that anybody would paste into a scenario
_DIGITS = 6  # far below the precision of any log
_WIDTH = 96
_REPAIRED = "Nodes are back after their repair. Leave repair out where others take over sooner."


def block(fitted: "LogFit", has_repairs: bool = True) -> str:
    """A `[failures]` table for a scenario file, with comments that say where it comes from.

    The best law if it is adequate. Else the log itself, to be replayed; or the durations, where
    there is no log of nodes to replay, as the Kaplan-Meier curve has them if some are censored.
    `has_repairs`: whether each failure waits for the repair of the log, and not for
    `costs.reschedule`; a replay has no key for that, and gets it as a comment.
    """
    import tomli_w  # noqa: PLC0415  (only those who write need it)

    path, keys = fitted.source.path, log_keys(fitted)
    if fitted.verdict.adequate:
        is_named = bool(path) and fitted.source.reader != "intervals"
        keys = law_keys(fitted) | ({"log": path} | fitted.source.keys() if is_named else {})
    lines = [*_comments(fitted)]
    if has_repairs and "trace" not in keys:
        causes = _per(fitted, fitted.repair_of)
        if any("repair" in each for each in causes.get("causes", ())):
            keys = {key: each for key, each in keys.items() if key != "severity"} | causes
            lines.append(f"# {_REPAIRED}")
    causes = keys.pop("causes", ())
    tables = {key: each for key, each in keys.items() if isinstance(each, dict)}
    values = {key: each for key, each in keys.items() if key not in tables}
    lines.append(tomli_w.dumps({"failures": values}).rstrip())
    if causes:
        lines += ["causes = [", *(f"    {_inline(each)}," for each in causes), "]"]
    if tables:
        lines += ["", tomli_w.dumps({"failures": tables}).rstrip()]
    if has_repairs and "trace" in keys and fitted.repairs is not None:
        lines += ["", fitted.repairs.block()]
    if fitted.restarts is not None:
        lines += ["", fitted.restarts.block("restart")]
    return "\n".join(lines)


def law_keys(fitted: "LogFit") -> dict[str, Any]:
    """`[failures]` by the law of the fit, adequate or not."""
    law, frail = fitted.law, fitted.wanted_frailty
    spread = {
        key: float(f"{getattr(law, key):.{_DIGITS}g}")
        for key in ("shape", "cv")
        if getattr(law, key)
    }
    keys = {"distribution": law.distribution, "mean": _rounded(fitted.mean_s), **spread}
    return keys | _per(fitted) | ({} if frail is None else {"frailty": frail.key})


def log_keys(fitted: "LogFit") -> dict[str, Any]:
    """`[failures]` by what the log has: its failures, or its durations where that can't be."""
    # A log of the job's nodes is replayed unchanged, so not to a job on some of them, nor
    # without some of them.
    source = fitted.source
    is_file = bool(source.path) and source.reader != "intervals"
    if not is_file or not READERS[source.reader].counts_nodes or not fitted.at_once:
        return gap_keys(fitted)
    of_the_job = READERS[source.reader].of_the_job
    if of_the_job and (fitted.look == "job" or source.exclude_worst > 0):
        return gap_keys(fitted)
    # The whole path, since the scenario may lie elsewhere.
    keys = {"trace": str(Path(source.path).resolve())} | source.keys()
    if source.window is None and of_the_job:
        # A replay has the clock of the log, which may be a calendar: start with its first failure.
        keys["window"] = written((0.0, 1.0))
    return keys | ({"exclude_worst": source.exclude_worst} if source.exclude_worst else {})


def gap_keys(fitted: "LogFit") -> dict[str, Any]:
    """`[failures]` that draws from the durations of the log.

    From those of the Kaplan-Meier curve where they are many, or some not whole.
    """
    sample = fitted.view.sample
    lasted = sample.durations_s
    if sample.censored or sample.late or sample.n > _MOST_DURATIONS:
        lasted = KaplanMeier.from_sample(sample).typical(_MOST_DURATIONS)
    durations = [_rounded(each) for each in lasted.tolist()]
    return {"distribution": "empirical", "durations": durations} | _per(fitted)


def _per(fitted: "LogFit", repair_of: RepairOf | None = None) -> dict[str, Any]:
    """Whose failures they are, and what they hit; the nodes of a log are of all ages."""
    lives = fitted.view.per == "node"
    told: dict[str, Any] = {
        "per": fitted.view.per,
        "ages": "stationary" if lives else None,
        **failure_keys(fitted.strikes, fitted.kinds, repair_of, lives),
    }
    if lives and fitted.bursts is not None:
        law = fitted.bursts.law
        told["bursts"] = law.mapping() | {"mean": _rounded(law.mean_s)}
    return {key: each for key, each in told.items() if each}


def _inline(value: object) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_inline(each)}' for key, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _rounded(seconds: float) -> str:
    """A duration in hours or seconds, to as many digits as make sense."""
    hours = seconds / units.SECONDS["h"]
    return f"{hours:.{_DIGITS}g} h" if hours >= 1 else f"{seconds:.{_DIGITS}g} s"


def _comments(fitted: "LogFit") -> list[str]:
    sample = fitted.view.sample
    what = {
        "gaps": "times between failures of the whole system",
        "job": f"times between failures of a job on {fitted.view.nodes} of its nodes",
        "uptime": "uptimes of its nodes",
    }[fitted.look]
    censored = f", {sample.censored} of them censored" if sample.censored else ""
    texts = [f"{fitted.source}: {sample.n} {what}{censored}."]
    if fitted.look == "gaps" and fitted.node_failures is not None:
        texts.append(
            f"They are failures of all {len(fitted.node_failures.counts):,} nodes: a job on fewer "
            "fails more rarely, by the law that --for FILE finds."
        )
    texts += fitted.notes
    return [f"# {line}" for text in texts for line in textwrap.wrap(text, _WIDTH)]
