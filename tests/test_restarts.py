"""Restarts that a job needs; oracles: the Poisson law, and the replications themselves."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import cprsim
from cprsim.cli.command import _main
from cprsim.errors import UsageError
from cprsim.runs import runner
from cprsim.runs.digest import Digest
from cprsim.runs.restarts import restarts

#: Failures cost nothing and go on during recovery, so that they are Poisson, 8 in the mean.
PLAIN = {
    "job": {"useful_time": "80 h"},
    "cluster": {"parameter_servers": 4},
    "costs": {"save": "0 s", "load": "0 s"},
    "failures": {"distribution": "exponential", "mean": "10 h"},
    "policies": {"none lost": {"system": "replication", "slowdown": 0, "takeover": "0 s"}},
}


def plain() -> cprsim.Scenario:
    return cprsim.Scenario(**PLAIN)


def test_restarts_are_poisson_where_failures_cost_nothing() -> None:
    result = cprsim.run(plain(), replications=4000, seed=3, engine="batch")
    (found,) = restarts(result, 12).values()
    law = stats.poisson(8.0)

    assert (found.p50, found.p95, found.p99) == tuple(law.ppf([0.5, 0.95, 0.99]))
    error = np.sqrt(law.cdf(12) * law.sf(12) / 4000)
    assert found.within == pytest.approx(law.cdf(12), abs=3 * error)
    counted = (result.of("none lost")["failures"] <= 12).mean()
    assert found.within == counted
    assert found.low < found.within < found.high


def test_starts_that_never_get_to_a_save_worked_by_hand() -> None:
    """Failures each 50 min; a save of 6 min is due at 60 min of training, which a start keeps.

    The first start saves nothing, the next three do, and the fifth ends before its save is due.
    """
    tables = PLAIN | {
        "job": {"useful_time": "4 h"},
        "costs": {"save": "6 min", "load": "0 s"},
        "failures": {"distribution": "deterministic", "mean": "50 min", "ages": "new"},
        "policies": {"it": {"system": "partial", "interval": "60 min"}},
    }
    result = cprsim.run(cprsim.Scenario(**tables), replications=3)
    (found,) = restarts(result, 1).values()

    # Saves end at 66, 132, 198 min; failures are at 50, 100, 150, 200 and 250 min.
    assert (found.p50, found.no_save) == (5.0, 2.0)
    slow = tables | {"job": {"useful_time": "100 min"}}
    slow["policies"] = {"it": {"system": "partial", "interval": "95 min"}}
    (found,) = restarts(cprsim.run(cprsim.Scenario(**slow), replications=3), 1).values()
    # The save from 95 to 101 min is cut at 100 min, and ends after that.
    assert found.no_save == 2.0


def test_a_digest_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = cprsim.run(plain(), replications=3000, engine="batch")
    monkeypatch.setattr(runner, "MOST_ROWS", 1)
    digested = cprsim.run(plain(), replications=3000, engine="batch")

    assert isinstance(digested.kept, Digest)
    assert restarts(digested, 9) == restarts(kept, 9)


def test_no_number_below_0() -> None:
    result = cprsim.run(plain(), replications=2)
    with pytest.raises(UsageError, match="max_restarts -1 is out of range"):
        restarts(result, -1)


def test_the_command_says_whether_they_are_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plain.toml"
    path.write_text(plain().to_toml(), encoding="utf-8")
    asked = ["run", str(path), "--replications", "50", "--max-restarts", "100"]
    assert _main(asked) == 0
    assert "Restarts of the job, one a failure" in capsys.readouterr().out
    assert _main([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["policies"]["none lost"]["restarts"]
    assert told["within"]["mean"] == 1.0
    assert told["max_restarts"] == 100

    assert _main(["run", str(path), "--max-restarts", "-1"]) == 2
    assert "max_restarts -1 is out of range" in capsys.readouterr().err
    assert _main(["run", "production-fleet", "--max-restarts", "1"]) == 2
    assert "--max-restarts: asks of one job" in capsys.readouterr().err


def test_advise_takes_them_as_a_limit() -> None:
    """Of Poisson failures, 8 in the mean, 95 % of all runs need 13 at most."""
    enough, too_few = (
        cprsim.advise(plain(), systems=["replication"], max_restarts=most) for most in (14, 11)
    )
    assert enough.best is not None
    assert too_few.best is None
    assert any("over 11 restarts" in (each.why or "") for each in too_few.found)
    assert enough.document()["limits"]["max_restarts"] == 14
