"""What a study found, of tables whose answers are known."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cprsim.errors import UsageError
from cprsim.trainer.studies import findings
from cprsim.trainer.studies.outputs import TABLES, accuracy_block, contents
from cprsim.trainer.studies.paired import compare_all
from cprsim.trainer.studies.slope import fit_slopes
from tests.studies.made_up import SLOPES, run, study


def test_a_slope_is_the_mean_of_least_squares_by_seed() -> None:
    rng = np.random.default_rng(0)
    pls = rng.uniform(0.1, 1, (7, 3))
    drops = 0.01 * pls + rng.normal(0, 0.001, pls.shape)

    (found,) = fit_slopes(pls, drops)

    slopes = [np.linalg.lstsq(x[:, None], y)[0][0] for x, y in zip(pls, drops, strict=True)]
    assert found.auc_drop_per_pls == pytest.approx(np.mean(slopes))
    # Student's t for 6 degrees of freedom, 97.5 %: 2.447 in any table.
    half = 2.4469 * np.std(slopes, ddof=1) / 7**0.5
    assert (found.low, found.high) == pytest.approx(
        (np.mean(slopes) - half, np.mean(slopes) + half), rel=1e-4
    )
    assert found.up_to == pytest.approx(pls.mean(axis=0).max())


@pytest.mark.parametrize(
    ("pls", "said"),
    [
        (np.ones((1, 3)), "a slope takes two seeds at least"),
        (np.array([[1.0], [0.0]]), "a slope takes lost samples, in every seed"),
    ],
)
def test_what_has_no_slope(pls: np.ndarray, said: str) -> None:
    with pytest.raises(UsageError) as error:
        fit_slopes(pls, pls)

    assert str(error.value) == said


def test_drops_and_slopes_are_those_the_table_was_made_with() -> None:
    runs = findings.with_drops(study(), "it")

    found = findings.slopes(runs)

    assert {name: each.auc_drop_per_pls for name, each in found.items()} == pytest.approx(
        {name: slope for name, slope in SLOPES.items() if slope}
    )
    of_vanilla = runs[(runs["policy"] == "cpr-vanilla") & (runs["servers_hit"] == 1)]
    np.testing.assert_allclose(of_vanilla["auc_drop"], 0.02 * of_vanilla["pls"], atol=1e-12)


def test_points_are_means_over_the_seeds() -> None:
    points = findings.points(findings.with_drops(study(), "it"))

    assert len(points) == 8  # three policies at two numbers of failures, and two shares
    point = points[(points["policy"] == "cpr-mfu") & (points["failures"] == 8)].iloc[0]
    pls = 0.25 * (1 + 0.1 * np.arange(6) / 6)
    assert point["pls"] == pytest.approx(pls.mean())
    assert point["auc_drop"] == pytest.approx(0.005 * pls.mean())
    assert point["seeds"] == 6
    # Student's t for 5 degrees of freedom: 2.5706.
    assert point["pls_high"] - point["pls"] == pytest.approx(
        2.5706 * pls.std(ddof=1) / 6**0.5, rel=1e-4
    )


def test_policies_are_compared_where_most_of_them_lost_most_the_best_first() -> None:
    runs = findings.with_drops(study(seeds=8, noise=1e-4), "it")

    found = compare_all(findings.compared_aucs(runs))

    assert set(findings.compared_at(runs)["failures"]) == {32}
    assert [(each.first, each.second) for each in found] == [
        ("full", "cpr-mfu"),
        ("full", "cpr-vanilla"),
        ("cpr-mfu", "cpr-vanilla"),
    ]
    assert all(each.is_significant and each.mean > 0 for each in found)
    assert {each.p for each in found} == {2.0**-7}
    assert [each.adjusted_p for each in found] == pytest.approx([3 * 2.0**-7] * 3)


def test_slopes_by_how_many_servers_fail_at_once() -> None:
    found = findings.share_differences(findings.with_drops(study(), "it"))

    means = {(each.first, each.second): each.mean for each in found}
    assert means == pytest.approx(
        {
            ("4 of 4", "2 of 4"): 0.0,
            ("4 of 4", "1 of 4"): 0.03 - 0.02,
            ("2 of 4", "1 of 4"): 0.03 - 0.02,
        },
        abs=1e-12,
    )
    one = study()[lambda table: table["servers_hit"] == 1]
    assert findings.share_differences(findings.with_drops(one, "it")) == []


def test_a_seed_that_lacks_a_run_does_not_count() -> None:
    table = study(seeds=3)
    runs = findings.with_drops(table.drop(index=table.index[-1]), "it")

    assert set(runs["seed"]) == {0, 1}


def test_what_is_no_study(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    for table, said in (
        (
            study(seeds=1),
            "1 seeds have all their runs and one without failures; two are needed at least",
        ),
        (
            study().query("failures > 0"),
            "0 seeds have all their runs and one without failures; two are needed at least",
        ),
        (study().drop(columns="pls"), "no column 'pls'; give the runs.csv of `cprsim study`"),
    ):
        table.to_csv(path, index=False)
        with pytest.raises(UsageError) as error:
            findings.read_runs(path)
        assert str(error.value) == f"{path}: {said}"
    with pytest.raises(UsageError, match=r"none\.csv: no such file"):
        findings.read_runs(tmp_path / "none.csv")


def test_the_block_can_be_pasted() -> None:
    import tomllib

    from cprsim.job.accuracy import Accuracy

    found = findings.slopes(findings.with_drops(study(noise=1e-3), "it"))

    block = tomllib.loads(accuracy_block(found, 'a "made-up" study'))["accuracy"]

    accuracy = Accuracy.model_validate(block)
    assert accuracy.source == 'a "made-up" study'
    assert accuracy.pls_up_to == 1.04  # 1 + 0.1 x 2.5 / 6 = 1.0417, rounded down
    for system, slope in found.items():
        assert accuracy.systems[system].auc_drop_per_pls == pytest.approx(
            slope.auc_drop_per_pls, rel=1e-3
        )
        assert accuracy.systems[system].ci95 == pytest.approx((slope.low, slope.high), rel=1e-3)


@pytest.mark.parametrize(("policy", "pls"), [("full", 0.0), ("partial", 2.0)])
def test_a_study_without_a_slope_has_its_runs_and_tables(policy: str, pls: float) -> None:
    """Nothing is lost, or more at each point than a line goes through."""
    lost = {0: (0.0, 0.0), 8: (pls, 0.01 * pls)}
    done = [
        run(seed, policy, failures, *lost[failures]) | {"versions": {}}
        for seed in (0, 1)
        for failures in lost
    ]
    runs = findings.with_drops(pd.DataFrame(done), "it")

    assert findings.slopes(runs) == {}
    assert contents(done, len(done), "it").keys() == {"runs.csv", "manifest.json"}
    assert all(isinstance(table(runs), pd.DataFrame) for table in TABLES.values())
