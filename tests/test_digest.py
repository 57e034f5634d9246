"""Oracles: moments by hand, NumPy's quantiles, and the same runs with their rows kept."""

import subprocess
import sys
from functools import reduce
from operator import add

import numpy as np
import pytest
from scipy import stats

import cprsim
from cprsim.basics.files import write_all
from cprsim.basics.manifest import with_manifest
from cprsim.cli.command import _main
from cprsim.errors import UsageError
from cprsim.runs import runner
from cprsim.runs.digest import Digest, Moments
from cprsim.runs.measures import COMPARED, Basis
from cprsim.sim.engine import COLUMNS

_JOB = {
    "job": {"useful_time": "56 h"},
    "model": {"embedding": "2 GB"},
    "cluster": {"trainers": 8, "parameter_servers": 8},
    "costs": {"save": "5 min", "load": "2 min", "reschedule": "3 min"},
    "failures": {"distribution": "gamma", "shape": 0.6, "mean": "40 h"},
    "policies": {
        "full": {"system": "full", "interval": "2 h"},
        "partial": {"system": "partial", "interval": "2 h"},
        "cpr": {"system": "cpr-vanilla", "target_pls": 0.1},
    },
    "prices": {"trainer": "2 USD/h", "read": "1 USD/GB", "energy": "1 kW"},
}


def test_moments_of_many_parts_far_from_zero_do_not_cancel():
    values = 1e9 + np.random.default_rng(0).normal(size=10_000)

    found = reduce(add, map(Moments.from_values, np.split(values, 100)))

    # Values have an error of 1e-7 beside their 1; the sum of their squares would be off by 1e6.
    assert found.mean == pytest.approx(1e9 + (values - 1e9).mean(), abs=1e-6)
    assert found.squares == pytest.approx((values - 1e9).var() * 10_000, rel=1e-6)


@pytest.fixture(scope="module")
def both():
    """The same run with rows and with a digest, which is of two blocks."""
    scenario = cprsim.Scenario(**_JOB)
    rows = cprsim.run(scenario, replications=17_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cprsim.runs.runner.MOST_ROWS", 50_000)
        return rows, cprsim.run(scenario, replications=17_000)


def test_a_digest_has_the_summary_of_the_rows(both):
    rows, digest = both
    numbers = [c for c in rows.summary if c not in ("system", "recovery")]

    assert isinstance(digest.kept, Digest)
    assert list(digest.summary.columns) == list(rows.summary.columns)
    found, exact = (each.summary[numbers].to_numpy(float) for each in (digest, rows))
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-15)
    assert digest.document().keys() == rows.document().keys()
    assert digest.count == rows.count == 17_000


def test_a_digest_has_the_paired_differences_and_a_typical_replication(both):
    rows, digest = both

    names = ["cpr", "full", "partial"]
    for measure in COMPARED:
        means = digest.kept.evidence(dict.fromkeys(names, 0.0), measure, True).differences(
            0, [1, 2], 0.05
        )
        values = [rows.of(name)[measure].to_numpy() for name in names]
        for i, other in enumerate(values[1:]):
            test = stats.ttest_rel(other, values[0])
            assert means.mean[i] == pytest.approx((other - values[0]).mean(), rel=1e-9)
            assert (means.low[i], means.high[i]) == pytest.approx(
                tuple(test.confidence_interval()), rel=1e-9
            )
    failures = rows.of("cpr")["failures"].mean()
    assert means.met.tolist() == [pytest.approx(min(17_000, 17_000 * failures), abs=1)] * 2
    overheads = rows.of("full")["overhead"].to_numpy()
    assert digest.kept.median("full") == rows.kept.median("full")
    assert overheads[rows.kept.median("full")] == pytest.approx(np.median(overheads), rel=1e-2)


def test_the_rows_of_a_digest_are_refused_with_a_way_out(both):
    _, digest = both

    for rows in (lambda: digest.replications, lambda: digest.of("full")):
        with pytest.raises(UsageError) as error:
            rows()
        assert str(error.value) == (
            "replications: of 51,000 rows none is kept, the most are 1,000,000; the summary has "
            "their means and percentiles, and a run with fewer replications or policies has rows"
        )


def test_percentiles_are_those_of_the_replications_that_are_kept():
    values = np.random.default_rng(3).gamma(2.0, 1e3, (40, 1, len(COLUMNS)))
    bases = [Basis(1e4, 9, 0, 0.0, 1e3, 1e6)]
    first, later = (
        Digest.from_values(["a"], each, COLUMNS, bases, keep=keep)
        for each, keep in ((values[:30], True), (values[30:], False))
    )
    found = (first + later).statistics("a")
    wall = values[:, 0, COLUMNS.index("wall")]

    assert found["wall_s"] == pytest.approx(wall.mean())
    assert found["wall_s_p95"] == pytest.approx(np.quantile(wall[:30], 0.95))


_MANY = """
import resource, cprsim, cprsim.runs.runner
from tests.test_digest import _JOB
cprsim.runs.runner.MOST_ROWS = 1
if __name__ == "__main__":
    found = cprsim.run(cprsim.Scenario(**_JOB), ["partial"], {replications}, workers={workers})
    print(found.summary.to_json(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def _many(replications: int, workers: int = 1) -> list[str]:
    code = _MANY.format(replications=replications, workers=workers)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.rsplit(maxsplit=1)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_replications_nor_do_workers_change_a_digit():
    (few, few_kb), (many, many_kb) = _many(20_000), _many(200_000)
    shared, _ = _many(20_000, workers=2)

    assert shared == few
    assert many != few
    # 180,000 rows more would take 26 MB in 18 columns of eight bytes, and to make them as much.
    assert int(many_kb) - int(few_kb) < 15_000


@pytest.mark.slow
def test_out_leaves_the_rows_away_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "MOST_ROWS", 1)
    (tmp_path / "job.toml").write_text(cprsim.Scenario(**_JOB).to_toml())
    write_all(tmp_path / "out", with_manifest({"results.csv": b"of another run"}, {}))

    assert _main(["run", "job.toml", "--replications", "200", "--out", "out"]) == 0
    told = capsys.readouterr()

    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == [
        "breakdown.png",
        "manifest.json",
        "report.html",
        "scenario.toml",
    ]
    assert told.err == (
        "cprsim: wrote 4 files into out: scenario.toml, manifest.json, breakdown.png, report.html\n"
        "cprsim: out/results.csv isn't there: of 600 rows none is kept, the most are 1,000,000\n"
    )
    assert "200 replications" in told.out


def test_a_run_without_end_is_refused():
    with pytest.raises(UsageError) as error:
        cprsim.run(cprsim.Scenario(**_JOB), replications=10**12)

    # By hand: 10^12 times 0.5 us are 5.79 days.
    assert str(error.value) == (
        "replications 1,000,000,000,000: would take 5.79 d a policy where it is fastest; the most "
        "are 1,000,000,000, which give a mean to a 16,000th of the spread"
    )
