"""`[accuracy]`: what `run` predicts from a slope that somebody measured, and what it won't say."""

import json
import math
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import cprsim
from cprsim.job.accuracy import Accuracy
from cprsim.scenario import Scenario, load_scenario
from tools.pages import accuracy
from tools.pages.accuracy_sources import SOURCES

KAGGLE = Path(__file__).parents[1] / "scenarios" / "criteo-kaggle.toml"
BLOCK = {
    "source": "a model of ours",
    "pls_up_to": 0.5,
    "systems": {"cpr-vanilla": {"auc_drop_per_pls": 0.02, "ci95": [0.016, 0.024]}},
}
ACCURACY = Accuracy.model_validate(BLOCK)


def kaggle(**block: object) -> Scenario:
    mapping = load_scenario(KAGGLE).mapping()
    return Scenario(**mapping, accuracy=BLOCK | block)


def test_a_drop_is_slope_times_pls_by_hand():
    drop = ACCURACY.auc_drop("cpr-vanilla", (0.3, 0.08), (0.28, 0.07))

    # The PLS is off by 0.08 / 0.3, the slope by 0.004 / 0.02: 0.02 x 0.08 and 0.3 x 0.004.
    assert drop.mean == pytest.approx(0.006)
    assert drop.half == pytest.approx(math.hypot(0.0016, 0.0012))
    assert ACCURACY.auc_drop("full", (0.0, 0.0), (0.0, 0.0)).half == 0


def test_its_interval_is_that_of_a_product_of_two_estimates():
    rng = np.random.default_rng(0)
    slopes, shares = (
        rng.normal(mean, half / 1.96, 200_000) for mean, half in ((0.02, 0.004), (0.3, 0.03))
    )

    drop = ACCURACY.auc_drop("cpr-vanilla", (0.3, 0.03), (0.28, 0.02))

    # To first order: the product of the two relative errors, 0.1 x 0.05, is left out, 0.1 %.
    assert drop.half == pytest.approx(1.96 * (slopes * shares).std(), rel=0.01)


LEARNING = {
    "source": "a model of ours",
    "learning_lost_up_to": 0.5,
    "systems": {"partial": {"auc_drop_per_learning_lost": 0.016, "ci95": [0.014, 0.018]}},
}
BEYOND = "learning lost 0.51 is beyond 0.5, the largest measured"


@pytest.mark.parametrize(
    ("block", "system", "lost", "mean", "note"),  # of samples, and of learning
    [
        (BLOCK, "cpr-vanilla", (0.1, 0.09), 0.002, ""),  # as measured: second losses count twice
        (BLOCK, "cpr-vanilla", (0.1, 0.2), 0.004, ""),  # shards that lose much lose more
        (LEARNING, "partial", (0.1, 0.2), 0.0032, ""),
        (LEARNING, "partial", (0.6, 0.2), 0.0032, ""),
        (BLOCK, "full", (0.0, 0.0), 0.0, ""),  # whatever the slope
        (BLOCK, "cpr-mfu", (0.1, 0.09), None, "no slope was measured for cpr-mfu"),
        (BLOCK, "cpr-vanilla", (0.51, 0.4), None, "PLS 0.51 is beyond 0.5, the largest measured"),
        (BLOCK, "cpr-vanilla", (0.4, 0.51), None, BEYOND),
        (LEARNING, "partial", (0.4, 0.51), None, BEYOND),
    ],
)
def test_a_slope_applies_to_the_learning_lost_where_it_was_measured(
    block, system, lost, mean, note
):
    pls, learning = ((each, 0.0) for each in lost)
    told = Accuracy.model_validate(block).auc_drop(system, pls, learning).document()

    assert (told.pop("ci95") == [None, None]) == (mean is None)
    assert told == {
        "mean": mean if mean is None else pytest.approx(mean),
        "source": "a model of ours",
        "note": note,
    }


@pytest.mark.slow
def test_a_job_that_never_saves_loses_what_the_logarithm_says():
    """The example of a job of 4 d on 4 servers that fail every 5 d."""
    never = Scenario(
        job={"useful_time": "4 d"},
        cluster={"trainers": 1, "parameter_servers": 4},
        costs=dict.fromkeys(("save", "load", "reschedule"), "1 min"),
        failures={"distribution": "exponential", "mean": "5 d"},
        accuracy=LEARNING,
        policies={"it": {"system": "partial", "interval": "never"}},
    )
    result = cprsim.run(never, replications=20_000)
    assert result.auc_drops["it"].mean == pytest.approx(0.0030, abs=0.0003)
    assert 0.016 * result.summary.loc["it", "pls"] == pytest.approx(0.0016, abs=0.0001)
    assert 0.016 * result.summary.loc["it", "learning_lost_p95"] == pytest.approx(0.0129, rel=0.05)


def test_run_predicts_for_each_policy_with_the_source():
    result = cprsim.run(kaggle(), replications=20)
    document = result.document()["policies"]

    for name, policy in document.items():
        predicted = policy["predicted_auc_drop"]
        assert predicted["source"] == "a model of ours"
        if policy["system"] == "cpr-vanilla":
            lost = max(policy[each]["mean"] for each in ("pls", "learning_lost"))
            assert predicted["mean"] == pytest.approx(0.02 * lost)
            low, high = predicted["ci95"]
            assert low < predicted["mean"] < high
        elif policy["pls"]["mean"] == 0:
            assert predicted["mean"] == 0
        else:
            assert predicted["mean"] is None, name
    assert cprsim.run(kaggle(), ["cpr"], 1).document()["policies"]["cpr"]["predicted_auc_drop"][
        "ci95"
    ] == [None, None]


def test_without_the_block_nothing_is_said(called):
    printed = called("run", str(KAGGLE), "--replications", "5", "--json").out
    assert "auc" not in printed
    assert json.loads(printed)["policies"]
    assert "AUC" not in called("run", str(KAGGLE), "--replications", "5").out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("up_to", "table", "advice"),
    [
        (0.5, "cpr 0.00", "Predicted drop of AUC, in proportion to learning lost"),
        (
            1e-6,
            "cpr not predicted a model of ours;",
            "What lost updates do to accuracy isn't known: cpr.",
        ),
    ],
)
def test_the_table_and_the_report_name_the_source(tmp_path, called, up_to, table, advice):
    path, out = tmp_path / "with.toml", tmp_path / "out"
    path.write_text(kaggle(pls_up_to=up_to).to_toml())
    chosen = ["--policy=cpr", "--policy=full", "--replications=5", f"--out={out}"]
    printed = " ".join(called("run", str(path), *chosen).out.split())
    page = unescape((out / "report.html").read_text())

    assert (
        "Predicted drop of AUC, in proportion to learning lost policy AUC drop measured with"
        in printed
    )
    assert table in printed
    assert "full 0.00000 a model of ours" in printed
    assert "Predicted drop of AUC" in page
    assert ">a model of ours" in page
    assert advice in page
    assert load_scenario(out / "scenario.toml").accuracy == kaggle(pls_up_to=up_to).accuracy


# --- docs/accuracy.md -----------------------------------------------------------------------------


EACH = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


HINT = "docs/accuracy.md is out of date; run `make study` and commit it"


@pytest.mark.slow
def test_the_page_and_its_tables_are_made_of_the_kept_runs():
    texts = {accuracy.PAGE.name: accuracy.page(), **accuracy.beside_page()}
    for name, text in texts.items():
        assert (accuracy.PAGE.parent / name).read_text(encoding="utf-8") == text, HINT


@EACH
def test_the_scenario_has_the_slopes_of_its_study(source):
    block = source.scenario.read_text(encoding="utf-8").partition(accuracy.MARK)[2]
    assert block == accuracy.block(source), HINT
    found = load_scenario(source.scenario).accuracy
    assert {"cpr-vanilla", "cpr-mfu", "cpr-ssu", "cpr-scar"} == {*found.systems}
